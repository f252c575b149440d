//! Values between Rust and datums, in both directions.

use pgrx::pg_sys::{self, Datum, Oid};
use uuid::Uuid;

use super::report::Report;
use super::text;

/// A value on its way to PostgreSQL, as an argument of a statement or a column of an answer.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// NULL of any type.
    Null,
    /// boolean
    Bool(bool),
    /// oid
    Oid(Oid),
    /// int
    Int(i32),
    /// bigint
    Bigint(i64),
    /// text
    Text(&'a str),
    /// uuid
    Uuid(Uuid),
    /// timestamptz
    Time(Time),
    /// interval
    Interval(Interval),
    /// bytea
    Bytes(&'a [u8]),
    /// text[]
    Texts(&'a [String]),
    /// uuid[]
    Uuids(&'a [Uuid]),
    /// jsonb that PostgreSQL made
    Jsonb(&'a Jsonb),
    /// jsonb from its text
    Json(&'a str),
    /// inet
    Address(&'a Address),
    /// An array of values of one type, NULLs among them
    Array(Element, Vec<Value<'a>>),
}

/// Type of an array's elements.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug)]
pub enum Element {
    /// boolean
    Bool,
    /// int
    Int,
    /// bigint
    Bigint,
    /// text
    Text,
    /// uuid
    Uuid,
    /// jsonb
    Jsonb,
    /// bytea
    Bytes,
}

impl Element {
    /// Type, length, by value, alignment: as pg_type describes them.
    fn layout(self) -> (Oid, i32, bool, u8) {
        match self {
            Element::Bool => (pg_sys::BOOLOID, 1, true, b'c'),
            Element::Int => (pg_sys::INT4OID, 4, true, b'i'),
            Element::Bigint => (pg_sys::INT8OID, 8, true, b'd'),
            Element::Text => (pg_sys::TEXTOID, -1, false, b'i'),
            Element::Uuid => (pg_sys::UUIDOID, 16, false, b'c'),
            Element::Jsonb => (pg_sys::JSONBOID, -1, false, b'i'),
            Element::Bytes => (pg_sys::BYTEAOID, -1, false, b'i'),
        }
    }
}

/// timestamptz: microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

/// interval, as PostgreSQL stores it; never looked into by Rust.
#[derive(Clone, Copy, Debug)]
pub struct Interval([u8; 16]);

/// A jsonb as PostgreSQL stores it, owned, never looked into by Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jsonb(Vec<u8>);

/// inet, as PostgreSQL stores it; never looked into by Rust.
#[derive(Clone, Debug)]
pub struct Address(Vec<u8>);

impl Address {
    /// That of the client; `None` for a local socket.
    pub fn of_client() -> Option<Address> {
        // SAFETY: inet_client_addr takes no argument and gives an inet, which is a plain varlena
        // that states its size, or NULL.
        unsafe {
            let datum = pgrx::direct_function_call_as_datum(pg_sys::inet_client_addr, &[])?;
            let plain = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
            let image = std::slice::from_raw_parts(plain.cast::<u8>(), pgrx::varsize(plain));
            Some(Address(image.to_vec()))
        }
    }
}

impl<'a> Value<'a> {
    /// NULL for `None`.
    pub fn optional<T>(value: Option<T>, wrap: impl FnOnce(T) -> Value<'a>) -> Value<'a> {
        value.map_or(Value::Null, wrap)
    }

    /// The datum in the current memory context, and whether it is NULL.
    pub fn to_datum(&self) -> (Datum, bool) {
        let datum = match self {
            Value::Null => return (Datum::from(0usize), true),
            Value::Bool(value) => Datum::from(*value),
            Value::Oid(value) => Datum::from(*value),
            Value::Int(value) => Datum::from(*value),
            Value::Bigint(value) => Datum::from(*value),
            Value::Time(value) => Datum::from(value.0),
            Value::Interval(value) => sixteen_bytes(&value.0),
            Value::Text(value) => text::with_server_bytes(value, varlena),
            Value::Bytes(value) => varlena(value),
            Value::Uuid(value) => uuid(value),
            Value::Texts(values) => {
                let values = values.iter().map(|value| Value::Text(value));
                array(Element::Text, values.map(|value| value.to_datum()))
            }
            Value::Uuids(values) => array(
                Element::Uuid,
                values.iter().map(|value| (uuid(value), false)),
            ),
            Value::Array(element, values) => {
                array(*element, values.iter().map(|value| value.to_datum()))
            }
            Value::Jsonb(value) => raw_varlena(&value.0),
            Value::Json(value) => json(value),
            Value::Address(value) => raw_varlena(&value.0),
        };
        (datum, false)
    }
}

fn varlena(bytes: &[u8]) -> Datum {
    // SAFETY: palloc gives room for header and bytes, or raises.
    unsafe {
        let size = bytes.len() + pg_sys::VARHDRSZ;
        let varlena = pg_sys::palloc(size).cast::<pg_sys::varlena>();
        pgrx::set_varsize_4b(varlena, size as i32);
        varlena
            .cast::<u8>()
            .add(pg_sys::VARHDRSZ)
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        Datum::from(varlena)
    }
}

fn raw_varlena(image: &[u8]) -> Datum {
    // SAFETY: `image` is a whole detoasted varlena, header included.
    unsafe {
        let copy = pg_sys::palloc(image.len()).cast::<u8>();
        copy.copy_from_nonoverlapping(image.as_ptr(), image.len());
        Datum::from(copy)
    }
}

fn uuid(value: &Uuid) -> Datum {
    sixteen_bytes(value.as_bytes())
}

/// The size of a uuid and of an interval, which are both passed by reference.
fn sixteen_bytes(value: &[u8; 16]) -> Datum {
    // SAFETY: palloc gives room for sixteen bytes, aligned for any type, or raises.
    unsafe {
        let copy = pg_sys::palloc(16).cast::<u8>();
        copy.copy_from_nonoverlapping(value.as_ptr(), 16);
        Datum::from(copy)
    }
}

fn array(element: Element, values: impl Iterator<Item = (Datum, bool)>) -> Datum {
    let (mut datums, mut nulls): (Vec<Datum>, Vec<bool>) = values.unzip();
    let (oid, length, by_value, align) = element.layout();
    let (mut count, mut first) = (datums.len() as i32, 1);
    // SAFETY: the datums are of the type that `layout` describes; an array of no elements has no
    // dimension.
    unsafe {
        Datum::from(pg_sys::construct_md_array(
            datums.as_mut_ptr(),
            nulls.as_mut_ptr(),
            i32::from(count > 0),
            &mut count,
            &mut first,
            oid,
            length as _,
            by_value,
            align as _,
        ))
    }
}

fn json(value: &str) -> Datum {
    let image = text::to_c_string(value);
    // SAFETY: jsonb_in takes one C string.
    unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(Datum::from(image))]) }
        .expect("jsonb_in gives a value")
}

/// The bytes of a varlena datum, detoasted, without header.
///
/// # Safety
/// `datum` is a varlena that lives as long as the current memory context.
unsafe fn varlena_bytes<'a>(datum: Datum) -> &'a [u8] {
    // SAFETY: promised by the caller.
    unsafe {
        let packed = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        std::slice::from_raw_parts(
            pgrx::vardata_any(packed).cast::<u8>(),
            pgrx::varsize_any_exhdr(packed),
        )
    }
}

/// # Safety
/// `datum` is a text.
pub unsafe fn read_text(datum: Datum) -> Result<String, Report> {
    // SAFETY: promised by the caller.
    text::from_server(unsafe { varlena_bytes(datum) })
}

/// # Safety
/// `datum` is a bytea.
pub unsafe fn read_bytes(datum: Datum) -> Vec<u8> {
    // SAFETY: promised by the caller.
    unsafe { varlena_bytes(datum) }.to_vec()
}

/// # Safety
/// `datum` is a uuid.
pub unsafe fn read_uuid(datum: Datum) -> Uuid {
    // SAFETY: promised by the caller.
    Uuid::from_bytes(unsafe { read_sixteen_bytes(datum) })
}

/// # Safety
/// `datum` is an interval.
pub unsafe fn read_interval(datum: Datum) -> Interval {
    // SAFETY: promised by the caller.
    Interval(unsafe { read_sixteen_bytes(datum) })
}

/// # Safety
/// `datum` is of a type of sixteen bytes, passed by reference.
unsafe fn read_sixteen_bytes(datum: Datum) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    // SAFETY: promised by the caller.
    unsafe {
        bytes
            .as_mut_ptr()
            .copy_from_nonoverlapping(datum.cast_mut_ptr::<u8>(), 16)
    };
    bytes
}

/// # Safety
/// `datum` is a jsonb.
pub unsafe fn read_jsonb(datum: Datum) -> Jsonb {
    // SAFETY: detoasting gives a plain varlena with a four-byte header that states its size.
    unsafe {
        let plain = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
        let image = std::slice::from_raw_parts(plain.cast::<u8>(), pgrx::varsize(plain));
        Jsonb(image.to_vec())
    }
}

/// # Safety
/// `datum` is a text[].
pub unsafe fn read_texts(datum: Datum) -> Result<Vec<Option<String>>, Report> {
    let mut elements: *mut Datum = std::ptr::null_mut();
    let mut nulls: *mut bool = std::ptr::null_mut();
    let mut count = 0;
    // SAFETY: the datum is a text[], whose elements are described so in pg_type; deconstruct_array
    // fills both arrays with `count` entries.
    unsafe {
        let array = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        pg_sys::deconstruct_array(
            array,
            pg_sys::TEXTOID,
            -1,
            false,
            b'i' as _,
            &mut elements,
            &mut nulls,
            &mut count,
        );
        (0..count as usize)
            .map(|i| {
                if *nulls.add(i) {
                    Ok(None)
                } else {
                    read_text(*elements.add(i)).map(Some)
                }
            })
            .collect()
    }
}

/// # Safety
/// `datum` is a uuid[].
pub unsafe fn read_uuids(datum: Datum) -> Vec<Option<Uuid>> {
    let mut elements: *mut Datum = std::ptr::null_mut();
    let mut nulls: *mut bool = std::ptr::null_mut();
    let mut count = 0;
    let (oid, length, by_value, align) = Element::Uuid.layout();
    // SAFETY: as for `read_texts`, of a uuid[].
    unsafe {
        let array = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        pg_sys::deconstruct_array(
            array,
            oid,
            length as _,
            by_value,
            align as _,
            &mut elements,
            &mut nulls,
            &mut count,
        );
        (0..count as usize)
            .map(|i| (!*nulls.add(i)).then(|| read_uuid(*elements.add(i))))
            .collect()
    }
}

impl Jsonb {
    /// A document from its whole varlena.
    pub(super) fn from_image(image: &[u8]) -> Jsonb {
        Jsonb(image.to_vec())
    }

    /// The binary image: equal for documents that differ only in key order and white space.
    pub fn image(&self) -> &[u8] {
        &self.0
    }

    /// As JSON text.
    pub fn to_json(&self) -> Result<String, Report> {
        let (datum, _) = Value::Jsonb(self).to_datum();
        // SAFETY: jsonb_out takes a jsonb and gives a C string.
        unsafe {
            let text = pgrx::direct_function_call_as_datum(pg_sys::jsonb_out, &[Some(datum)])
                .expect("jsonb_out gives a value");
            let text = std::ffi::CStr::from_ptr(text.cast_mut_ptr());
            text::from_server(text.to_bytes())
        }
    }
}

impl Time {
    /// Before every moment.
    pub const BEGINNING: Time = Time(i64::MIN);

    /// `-infinity`
    pub const BEFORE_ALL: Time = Time(i64::MIN);
    /// `infinity`
    pub const INFINITY: Time = Time(i64::MAX);

    /// The wall clock.
    pub fn now() -> Time {
        // SAFETY: reads the clock.
        Time(unsafe { pg_sys::GetCurrentTimestamp() })
    }

    /// A timestamptz from its text; PostgreSQL's own error for one that is none.
    pub fn parse(text: &str) -> Option<Time> {
        let arguments = [
            Some(Datum::from(text::to_c_string(text))),
            Some(Datum::from(Oid::INVALID)),
            Some(Datum::from(-1i32)),
        ];
        // SAFETY: timestamptz_in takes a C string, an oid and a modifier.
        unsafe { pgrx::direct_function_call_as_datum(pg_sys::timestamptz_in, &arguments) }
            .map(|datum| Time(datum.value() as i64))
    }

    /// Whether it is a moment, and not infinity.
    pub fn is_finite(&self) -> bool {
        self.0 != i64::MIN && self.0 != i64::MAX
    }

    /// This much later.
    pub fn after(self, delay: std::time::Duration) -> Time {
        Time(self.0.saturating_add(delay.as_micros() as i64))
    }
}

//! Objects of jsonb, made from their parts by PostgreSQL's own builder: neither is text parsed, nor
//! is the type of each argument looked up at each call.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::ptr;

use pgrx::pg_sys::{self, JsonbIteratorToken, jbvType};

use super::report::Report;
use super::text;
use super::value::{self, Jsonb, Value};

/// What a key of an object holds.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// null
    Null,
    /// A string.
    Text(&'a str),
    /// A whole number.
    Number(i64),
    /// A document.
    Document(&'a Jsonb),
}

impl<'a> Part<'a> {
    /// null for `None`.
    pub fn optional<T>(value: Option<T>, wrap: impl FnOnce(T) -> Part<'a>) -> Part<'a> {
        value.map_or(Part::Null, wrap)
    }
}

thread_local! {
    static SCRATCH: Cell<pg_sys::MemoryContext> = const { Cell::new(ptr::null_mut()) };
}

/// Memory of this backend that is empty between two objects.
fn scratch() -> pg_sys::MemoryContext {
    let known = SCRATCH.get();
    if !known.is_null() {
        return known;
    }
    // SAFETY: made once under TopMemoryContext, never deleted.
    let made = unsafe {
        pg_sys::AllocSetContextCreateInternal(
            pg_sys::TopMemoryContext,
            c"workflow jsonb".as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    };
    SCRATCH.set(made);
    made
}

/// The object with these keys, which must be ASCII and differ.
pub fn object(parts: &[(&'static str, Part<'_>)]) -> Jsonb {
    // SAFETY: everything the builder is given lives until the image has been copied: texts and
    // documents in the caller's memory or in the scratch context, which is emptied afterwards.
    unsafe {
        let scratch = scratch();
        // Left over if an error passed here before.
        pg_sys::MemoryContextReset(scratch);
        let previous = pg_sys::MemoryContextSwitchTo(scratch);
        let mut state = ptr::null_mut();
        let push = |state: &mut _, token, value| pg_sys::pushJsonbValue(state, token, value);
        push(
            &mut state,
            JsonbIteratorToken::WJB_BEGIN_OBJECT,
            ptr::null_mut(),
        );
        for (key, part) in parts {
            let mut name = string(key.as_bytes());
            push(&mut state, JsonbIteratorToken::WJB_KEY, &mut name);
            let mut value = leaf(part);
            push(&mut state, JsonbIteratorToken::WJB_VALUE, &mut value);
        }
        let object = push(
            &mut state,
            JsonbIteratorToken::WJB_END_OBJECT,
            ptr::null_mut(),
        );
        let image = pg_sys::JsonbValueToJsonb(object);
        let size = pgrx::varsize(image.cast());
        let image = Jsonb::from_image(std::slice::from_raw_parts(image.cast::<u8>(), size));
        pg_sys::MemoryContextSwitchTo(previous);
        pg_sys::MemoryContextReset(scratch);
        image
    }
}

/// The text of a key's value, as `->>` gives it; `None` if there is none.
pub fn field(document: &Jsonb, key: &str) -> Result<Option<String>, Report> {
    let arguments = [
        Some(Value::Jsonb(document).to_datum().0),
        Some(Value::Text(key).to_datum().0),
    ];
    // SAFETY: jsonb_object_field_text takes a jsonb and a text, and gives a text or NULL.
    unsafe {
        pgrx::direct_function_call_as_datum(pg_sys::jsonb_object_field_text, &arguments)
            .map(|datum| value::read_text(datum))
            .transpose()
    }
}

/// # Safety
/// The bytes live as long as the value, and the value in the scratch context.
unsafe fn string(bytes: &[u8]) -> pg_sys::JsonbValue {
    // SAFETY: a JsonbValue is plain data; the string variant is filled in.
    unsafe {
        let mut value: pg_sys::JsonbValue = std::mem::zeroed();
        value.type_ = jbvType::jbvString;
        value.val.string.len = bytes.len() as c_int;
        value.val.string.val = bytes.as_ptr().cast::<c_char>().cast_mut();
        value
    }
}

/// # Safety
/// As for [`string`].
unsafe fn leaf(part: &Part<'_>) -> pg_sys::JsonbValue {
    // SAFETY: a JsonbValue is plain data; the variant that the type names is filled in. The binary
    // variant points at the document's container, behind the header of its varlena.
    unsafe {
        let mut value: pg_sys::JsonbValue = std::mem::zeroed();
        match part {
            Part::Null => value.type_ = jbvType::jbvNull,
            Part::Text(text) => {
                let (bytes, length) =
                    text::with_server_bytes(text, |bytes| (bytes.as_ptr(), bytes.len()));
                return string(std::slice::from_raw_parts(bytes, length));
            }
            Part::Number(number) => {
                value.type_ = jbvType::jbvNumeric;
                value.val.numeric = pg_sys::int64_to_numeric(*number);
            }
            Part::Document(document) => {
                let (datum, _) = Value::Jsonb(document).to_datum();
                let image = datum.cast_mut_ptr::<u8>();
                value.type_ = jbvType::jbvBinary;
                value.val.binary.len = (document.image().len() - pg_sys::VARHDRSZ) as c_int;
                value.val.binary.data = image.add(pg_sys::VARHDRSZ).cast();
            }
        }
        value
    }
}

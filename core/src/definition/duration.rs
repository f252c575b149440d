//! ISO 8601 durations, as far as PostgreSQL reads the same in them.

/// A Julian year in seconds, the measure of years for the limit only.
const YEAR: u64 = 31_557_600;

const LONGEST: u64 = 100 * YEAR;

/// Units of the part before `T`, with their seconds, in the order in which they have to come.
const DATE: &[(char, u64)] = &[
    ('Y', YEAR),
    ('M', YEAR / 12),
    ('W', 7 * 86_400),
    ('D', 86_400),
];

/// Units of the part behind `T`.
const TIME: &[(char, u64)] = &[('H', 3_600), ('M', 60), ('S', 1)];

/// Says what is wrong with `PnYnMnWnDTnHnMnS`: whole numbers, at least one of them, none needed,
/// more than nothing and no more than a hundred years in all.
pub(super) fn vet(text: &str) -> Result<(), &'static str> {
    milliseconds(text).map(|_| ())
}

/// The same, with the length by the measures of this file: a month is a twelfth of a year.
pub(super) fn milliseconds(text: &str) -> Result<u64, &'static str> {
    const SHAPE: &str = "must be an ISO 8601 duration of whole numbers, like `P2D` or `PT48H`";
    let body = text.strip_prefix('P').ok_or(SHAPE)?;
    let (date, time) = match body.split_once('T') {
        Some((_, "")) => return Err(SHAPE),
        Some((date, time)) => (date, time),
        None if body.is_empty() => return Err(SHAPE),
        None => (body, ""),
    };
    let parts = [seconds(date, DATE), seconds(time, TIME)];
    let [Some(date), Some(time)] = parts else {
        return Err(SHAPE);
    };
    match date.saturating_add(time) {
        0 => Err("must be longer than nothing"),
        length @ 1..=LONGEST => Ok(length * 1000),
        _ => Err("must not be longer than 100 years"),
    }
}

/// The length of one part; `None` if it is not made of these units in this order.
fn seconds(mut part: &str, mut units: &[(char, u64)]) -> Option<u64> {
    let mut total = 0u64;
    while !part.is_empty() {
        let end = part.find(|c: char| !c.is_ascii_digit())?;
        let (digits, rest) = part.split_at(end);
        let unit = rest.chars().next()?;
        let place = units.iter().position(|(known, _)| *known == unit)?;
        if digits.is_empty() {
            return None;
        }
        // What does not even fit is over any limit.
        let number = digits.parse().unwrap_or(u64::MAX);
        total = total.saturating_add(number.saturating_mul(units[place].1));
        units = &units[place + 1..];
        part = &rest[unit.len_utf8()..];
    }
    Some(total)
}

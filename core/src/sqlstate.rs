//! SQLSTATEs as an open type: the server's own codes and ours alike.

use std::fmt;

/// Five characters of `[0-9A-Z]` that say what kind of error a client sees.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// A NULL where a value is needed.
    pub const NULL_VALUE_NOT_ALLOWED: SqlState = SqlState::new(b"22004");
    /// A value that no command could accept.
    pub const INVALID_PARAMETER_VALUE: SqlState = SqlState::new(b"22023");
    /// Text that is not valid in the database's encoding.
    pub const CHARACTER_NOT_IN_REPERTOIRE: SqlState = SqlState::new(b"22021");
    /// A trigger interfered with a command in a way that would make its answer wrong.
    pub const TRIGGERED_DATA_CHANGE_VIOLATION: SqlState = SqlState::new(b"27000");
    /// The database role lacks a right.
    pub const INSUFFICIENT_PRIVILEGE: SqlState = SqlState::new(b"42501");
    /// A lock was not had within the budget.
    pub const LOCK_NOT_AVAILABLE: SqlState = SqlState::new(b"55P03");
    /// Something this version does not do.
    pub const FEATURE_NOT_SUPPORTED: SqlState = SqlState::new(b"0A000");
    /// Stored rows contradict each other.
    pub const DATA_CORRUPTED: SqlState = SqlState::new(b"XX001");

    /// The state of these five characters.
    pub const fn new(code: &[u8; 5]) -> SqlState {
        SqlState(*code)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// PostgreSQL's packed form: six bits a character, the first one lowest.
    pub const fn packed(self) -> i32 {
        let mut packed = 0;
        let mut i = 0;
        while i < 5 {
            packed |= ((self.0[i] - b'0') as i32 & 0x3F) << (6 * i);
            i += 1;
        }
        packed
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::SqlState;

    #[test]
    fn packs_as_postgresql_does() {
        // ERRCODE_UNIQUE_VIOLATION is MAKE_SQLSTATE('2','3','5','0','5') = 83906754.
        assert_eq!(SqlState::new(b"23505").packed(), 83_906_754);
    }
}

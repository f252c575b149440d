//! Leases: whether a tenure still stands, by the clock of the database and the run of the cluster.
//!
//! A row knows when it was last written and never believes an earlier clock. A tenure that was
//! granted before the server's present run (a crash, a promotion) could not be renewed while the
//! server was away, so it gets a grace. One that was granted in another cluster came with a
//! restored dump: nobody holds it.

/// The row of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// Whether it was granted and not released.
    pub held: bool,
    /// Microseconds, like all times here.
    pub expires_at: i64,
    /// Latest time at which the row was written.
    pub seen_at: i64,
    /// Where it was written last.
    pub written: Written,
}

/// Where a row was written, as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Since the server started, on this timeline.
    InThisRun,
    /// Before a crash, a restart or a promotion.
    InAnEarlierRun,
    /// In another cluster.
    Elsewhere,
}

/// How a tenure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Somebody holds it for this many microseconds more.
    Held(i64),
    /// It was released.
    Released,
    /// It ran out.
    Expired,
    /// It came with a dump of another cluster.
    Void,
}

impl Standing {
    /// The word for clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Held(_) => "held",
            Standing::Released => "released",
            Standing::Expired => "expired",
            Standing::Void => "void",
        }
    }
}

impl Tenure {
    /// What the clock shows for this row: never less than it has shown before.
    pub fn now(&self, clock: i64) -> i64 {
        clock.max(self.seen_at)
    }

    /// When it ends, unless it is renewed.
    pub fn ends_at(&self, grace: i64) -> i64 {
        match self.written {
            Written::InThisRun | Written::Elsewhere => self.expires_at,
            Written::InAnEarlierRun => self.expires_at.saturating_add(grace),
        }
    }

    /// How it stands at this moment of the clock. It ends with the moment it was granted until.
    pub fn standing(&self, clock: i64, grace: i64) -> Standing {
        if !self.held {
            return Standing::Released;
        }
        if self.written == Written::Elsewhere {
            return Standing::Void;
        }
        match self.ends_at(grace).saturating_sub(self.now(clock)) {
            left if left > 0 => Standing::Held(left),
            _ => Standing::Expired,
        }
    }
}

/// Microseconds as whole milliseconds, rounded up: a lease that is held has some left.
pub fn milliseconds(microseconds: i64) -> i64 {
    microseconds.max(0).saturating_add(999) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENURE: Tenure = Tenure {
        held: true,
        expires_at: 1_000,
        seen_at: 0,
        written: Written::InThisRun,
    };

    #[test]
    fn it_ends_with_the_moment_it_was_granted_until() {
        assert_eq!(TENURE.standing(999, 50), Standing::Held(1));
        assert_eq!(TENURE.standing(1_000, 50), Standing::Expired);
    }

    #[test]
    fn a_clock_that_steps_back_prolongs_nothing_that_was_seen_to_pass() {
        let seen = Tenure {
            seen_at: 990,
            ..TENURE
        };
        assert_eq!(seen.standing(10, 0), Standing::Held(10));
        let over = Tenure {
            seen_at: 1_000,
            ..TENURE
        };
        assert_eq!(over.standing(10, 0), Standing::Expired);
    }

    #[test]
    fn an_earlier_run_gives_grace_and_another_cluster_nothing() {
        let earlier = Tenure {
            written: Written::InAnEarlierRun,
            ..TENURE
        };
        assert_eq!(earlier.standing(1_049, 50), Standing::Held(1));
        assert_eq!(earlier.standing(1_050, 50), Standing::Expired);
        let elsewhere = Tenure {
            written: Written::Elsewhere,
            ..TENURE
        };
        assert_eq!(elsewhere.standing(1, 50), Standing::Void);
    }

    #[test]
    fn released_is_released_whatever_the_clock_says() {
        let released = Tenure {
            held: false,
            ..TENURE
        };
        assert_eq!(released.standing(0, 50), Standing::Released);
    }

    #[test]
    fn what_is_left_is_rounded_up() {
        assert_eq!(milliseconds(1), 1);
        assert_eq!(milliseconds(1_000), 1);
        assert_eq!(milliseconds(1_001), 2);
        assert_eq!(milliseconds(-5), 0);
    }
}

//! When a key is worth a queue: the rules of the adaptive lock mode.
//!
//! A key begins optimistic. Once more than 5 % of its recent attempts were races it is gated. Behind
//! a gate races no longer happen, so the way back is measured by the share of callers that found the
//! gate taken: below 1 % nobody would have raced. Both counts slide over two windows.
//!
//! The two words a key keeps are 64 bits wide each, so that many processes can change them in shared
//! memory by compare-and-swap, without a lock.

/// Length of a window; a rate rests on the present one and the one before.
pub const WINDOW_MS: u64 = 5_000;
/// A key whose race rate is above this is gated.
pub const ENTER_RATE: f64 = 0.05;
/// A gated key whose rate is below this is let go.
pub const LEAVE_RATE: f64 = 0.01;
/// No rate rests on fewer attempts: with 100 of them, a true rate of 2 % is taken for more than 5 %
/// once in 67 times, a true rate of 10 % is seen 94 times in 100.
pub const MIN_SAMPLES: u32 = 100;
/// A burst: this many races among the last [`BURST_OF`] attempts need no further samples.
pub const BURST: u32 = 8;
/// See [`BURST`].
pub const BURST_OF: u32 = 20;
/// A gated key that nobody has waited for this many dwell times is let go without samples.
pub const QUIET_DWELLS: u64 = 10;

/// How commands of the adaptive mode go about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// Read, decide, move; and again if somebody was faster.
    Optimistic,
    /// Through the gate first.
    Gated,
}

/// Attempts and hits of the present window and the one before. A hit is a race, or behind the gate a
/// first try that found it taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    window: u64,
    attempts: u64,
    hits: u64,
    attempts_before: u64,
    hits_before: u64,
}

const WINDOW_BITS: u64 = 12;
const COUNT_BITS: u64 = 13;
const MAX_COUNT: u64 = (1 << COUNT_BITS) - 1;

impl Tally {
    /// From shared memory.
    pub fn from_word(word: u64) -> Tally {
        let count = |position: u64| (word >> (position * COUNT_BITS)) & MAX_COUNT;
        Tally {
            window: word >> (4 * COUNT_BITS),
            attempts: count(3),
            hits: count(2),
            attempts_before: count(1),
            hits_before: count(0),
        }
    }

    /// To shared memory.
    pub fn to_word(self) -> u64 {
        [
            self.attempts,
            self.hits,
            self.attempts_before,
            self.hits_before,
        ]
        .into_iter()
        .fold(self.window, |word, count| (word << COUNT_BITS) | count)
    }

    /// With one more attempt.
    #[must_use]
    pub fn with(self, hit: bool, now_ms: u64) -> Tally {
        let mut tally = self.at(now_ms);
        if tally.attempts == MAX_COUNT {
            // The rate stays; what is older weighs less.
            tally.attempts /= 2;
            tally.hits /= 2;
        }
        tally.attempts += 1;
        tally.hits += u64::from(hit);
        tally
    }

    /// As it stands at this time: windows that are over move on.
    #[must_use]
    pub fn at(self, now_ms: u64) -> Tally {
        let window = (now_ms / WINDOW_MS) & ((1 << WINDOW_BITS) - 1);
        let passed = window.wrapping_sub(self.window) & ((1 << WINDOW_BITS) - 1);
        match passed {
            0 => self,
            1 => Tally {
                window,
                attempts_before: self.attempts,
                hits_before: self.hits,
                ..Tally::default()
            },
            _ => Tally {
                window,
                ..Tally::default()
            },
        }
    }

    /// Attempts that the rate rests on.
    pub fn samples(self) -> u32 {
        (self.attempts + self.attempts_before) as u32
    }

    /// Share of hits among them; 0 if there are none.
    pub fn rate(self) -> f64 {
        let hits = self.hits + self.hits_before;
        hits as f64 / f64::from(self.samples().max(1))
    }
}

/// A key's stance, since when it has it, and how its last attempts went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// The stance.
    pub stance: Stance,
    /// Since when, in ms of the server's clock.
    pub since_ms: u64,
    recent: u32,
}

const SINCE_BITS: u64 = 43;

impl Course {
    /// Of a key that nobody has looked at yet.
    pub fn new(now_ms: u64) -> Course {
        Course {
            stance: Stance::Optimistic,
            since_ms: now_ms,
            recent: 0,
        }
    }

    /// From shared memory.
    pub fn from_word(word: u64) -> Course {
        let gated = word >> 63 == 1;
        Course {
            stance: if gated {
                Stance::Gated
            } else {
                Stance::Optimistic
            },
            since_ms: word & ((1 << SINCE_BITS) - 1),
            recent: (word >> SINCE_BITS) as u32 & ((1 << BURST_OF) - 1),
        }
    }

    /// To shared memory.
    pub fn to_word(self) -> u64 {
        (u64::from(self.stance == Stance::Gated) << 63)
            | (u64::from(self.recent) << SINCE_BITS)
            | (self.since_ms & ((1 << SINCE_BITS) - 1))
    }

    /// With one more attempt.
    #[must_use]
    pub fn with(self, hit: bool) -> Course {
        let recent = (self.recent << 1 | u32::from(hit)) & ((1 << BURST_OF) - 1);
        Course { recent, ..self }
    }

    /// After a switch.
    #[must_use]
    pub fn switched(self, stance: Stance, now_ms: u64) -> Course {
        Course {
            stance,
            since_ms: now_ms,
            recent: 0,
        }
    }
}

/// Why a key changes its stance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// [`BURST`] of the last [`BURST_OF`] attempts were races.
    Burst,
    /// The race rate is above [`ENTER_RATE`].
    RacesAbove,
    /// The share of callers that found the gate taken is below [`LEAVE_RATE`].
    WaitsBelow,
    /// Nobody has found the gate taken for a long time.
    Quiet,
}

impl Why {
    /// All of them, in the order of their numbers in shared memory (from 1).
    pub const ALL: [Why; 4] = [Why::Burst, Why::RacesAbove, Why::WaitsBelow, Why::Quiet];

    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Why::Burst => "8 of the last 20 attempts were races",
            Why::RacesAbove => "more than 5 % of attempts were races",
            Why::WaitsBelow => "fewer than 1 % of callers found the gate taken",
            Why::Quiet => "nobody has found the gate taken for a long time",
        }
    }
}

/// A change of stance, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    /// From now on.
    pub stance: Stance,
    /// Share of hits.
    pub rate: f64,
    /// Attempts that the rate rests on.
    pub samples: u32,
    /// The reason.
    pub why: Why,
}

/// Whether a key should change its stance. `dwell_ms`: how long it stays gated at least;
/// `last_hit_ms`: when somebody last raced or found the gate taken.
pub fn judge(
    course: Course,
    tally: Tally,
    now_ms: u64,
    dwell_ms: u64,
    last_hit_ms: u64,
) -> Option<Switch> {
    let tally = tally.at(now_ms);
    let (rate, samples) = (tally.rate(), tally.samples());
    match course.stance {
        Stance::Optimistic => {
            let burst = course.recent.count_ones();
            if burst >= BURST {
                return Some(Switch {
                    stance: Stance::Gated,
                    rate: f64::from(burst) / f64::from(BURST_OF),
                    samples: BURST_OF,
                    why: Why::Burst,
                });
            }
            (samples >= MIN_SAMPLES && rate > ENTER_RATE).then_some(Switch {
                stance: Stance::Gated,
                rate,
                samples,
                why: Why::RacesAbove,
            })
        }
        Stance::Gated => {
            if now_ms.saturating_sub(course.since_ms) < dwell_ms {
                return None;
            }
            let why = if samples >= MIN_SAMPLES && rate < LEAVE_RATE {
                Why::WaitsBelow
            } else if now_ms.saturating_sub(last_hit_ms.max(course.since_ms))
                >= dwell_ms.saturating_mul(QUIET_DWELLS)
            {
                Why::Quiet
            } else {
                return None;
            };
            Some(Switch {
                stance: Stance::Optimistic,
                rate,
                samples,
                why,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DWELL: u64 = 30_000;
    /// A moment at which a window begins.
    const NOON: u64 = 800_000 * WINDOW_MS;

    struct Key {
        course: Course,
        tally: Tally,
        last_hit: u64,
    }

    impl Key {
        fn new() -> Key {
            Key {
                course: Course::new(NOON),
                tally: Tally::default(),
                last_hit: NOON,
            }
        }

        fn attempt(&mut self, hit: bool, now: u64) -> Option<Switch> {
            // Through the words, as in shared memory.
            self.tally = Tally::from_word(self.tally.with(hit, now).to_word());
            self.course = Course::from_word(self.course.with(hit).to_word());
            if hit {
                self.last_hit = now;
            }
            let switch = judge(self.course, self.tally, now, DWELL, self.last_hit)?;
            self.course = self.course.switched(switch.stance, now);
            self.tally = Tally::default();
            Some(switch)
        }

        fn gated() -> Key {
            let mut key = Key::new();
            key.course = key.course.switched(Stance::Gated, NOON);
            key
        }
    }

    #[test]
    fn words_keep_everything() {
        let tally = Tally {
            window: 4095,
            attempts: MAX_COUNT,
            hits: 17,
            attempts_before: 1,
            hits_before: MAX_COUNT,
        };
        assert_eq!(Tally::from_word(tally.to_word()), tally);
        for stance in [Stance::Optimistic, Stance::Gated] {
            let course = Course {
                stance,
                since_ms: NOON + 1,
                recent: 0b1010_0000_0000_0000_0001,
            };
            assert_eq!(Course::from_word(course.to_word()), course);
        }
    }

    #[test]
    fn six_in_a_hundred_are_gated_and_four_are_not() {
        for (every, gated) in [(16, true), (25, false)] {
            let mut key = Key::new();
            let switch = (0..400).find_map(|n| key.attempt(n % every == 0, NOON + n));
            assert_eq!(switch.is_some(), gated, "one race in {every}");
            if let Some(switch) = switch {
                assert_eq!(switch.why, Why::RacesAbove);
                assert_eq!(switch.samples, MIN_SAMPLES);
                assert!(switch.rate > ENTER_RATE);
            }
        }
    }

    #[test]
    fn fewer_samples_than_needed_say_nothing() {
        let mut key = Key::new();
        for n in 0..99 {
            assert_eq!(key.attempt(n % 5 == 0, NOON + n), None);
        }
        assert!(key.attempt(true, NOON + 99).is_some());
    }

    #[test]
    fn a_burst_needs_no_samples() {
        let mut key = Key::new();
        for n in 0..7 {
            assert_eq!(key.attempt(true, NOON + n), None);
        }
        let switch = key.attempt(true, NOON + 7).expect("eight of twenty");
        assert_eq!((switch.why, switch.samples), (Why::Burst, 20));
        assert_eq!(switch.rate, 0.4);
    }

    #[test]
    fn races_of_long_ago_do_not_count() {
        let mut key = Key::new();
        // Five races that are two windows old by the time there are samples.
        for n in 0..5 {
            key.attempt(true, NOON + n);
        }
        for n in 0..200 {
            let now = NOON + 2 * WINDOW_MS + n;
            assert_eq!(key.attempt(false, now), None);
        }
        assert_eq!(key.tally.rate(), 0.0);
    }

    #[test]
    fn the_window_before_counts() {
        let tally = (0..60).fold(Tally::default(), |tally, n| {
            tally.with(n % 10 == 0, NOON + n)
        });
        let later = tally.at(NOON + WINDOW_MS);
        assert_eq!((later.samples(), later.rate()), (60, 0.1));
        assert_eq!(tally.at(NOON + 2 * WINDOW_MS).samples(), 0);
    }

    #[test]
    fn a_full_count_keeps_its_rate() {
        let tally = (0..100_000).fold(Tally::default(), |tally, n| tally.with(n % 10 == 0, NOON));
        assert!((tally.rate() - 0.1).abs() < 0.01, "{}", tally.rate());
    }

    #[test]
    fn a_gated_key_dwells() {
        let mut key = Key::gated();
        for n in 0..DWELL {
            assert_eq!(key.attempt(false, NOON + n), None);
        }
        let switch = key.attempt(false, NOON + DWELL).expect("nobody waited");
        assert_eq!(
            (switch.stance, switch.why),
            (Stance::Optimistic, Why::WaitsBelow)
        );
    }

    #[test]
    fn a_gated_key_with_waiters_stays() {
        let mut key = Key::gated();
        for n in 0..20_000 {
            // 2 %: below what gates, above what frees.
            assert_eq!(key.attempt(n % 50 == 0, NOON + DWELL + n), None);
        }
    }

    #[test]
    fn a_gated_key_that_nobody_wants_is_let_go() {
        let mut key = Key::gated();
        let now = NOON + QUIET_DWELLS * DWELL;
        assert_eq!(key.attempt(false, now - 1), None);
        let switch = key.attempt(false, now).expect("quiet");
        assert_eq!(switch.why, Why::Quiet);
    }

    #[test]
    fn a_clock_that_goes_back_frees_nobody() {
        let mut key = Key::gated();
        for n in 0..1_000 {
            assert_eq!(key.attempt(false, NOON - 60_000 + n), None);
        }
    }
}

//! What is known of contended keys: counts that outlive every rollback, shared by all sessions.
//!
//! A key gets a slot when somebody first loses a race, waits or comes too late for it; keys that
//! nobody contends cost one look at one cache line. Slots lie in sets of eight, and a new key takes
//! the place of the one in its set that was touched longest ago.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::json;
use uuid::Uuid;
use workflow_core::contention::{Course, Stance, Switch, Tally, WINDOW_MS, Why, judge};

use crate::pg::value::Time;
use crate::pg::{backend, report, shared};
use crate::settings;

const SETS: usize = 256;
const WAYS: usize = 8;
/// Three cache lines.
const SLOT: usize = 24;
const TAGS: usize = 0;
const CLAIMS: usize = TAGS + SETS * WAYS;
const SLOTS: usize = CLAIMS + SETS;
const WORDS: usize = SLOTS + SETS * WAYS * SLOT;

/// A claim that is older is one whose process was killed.
const CLAIM_US: u64 = 1_000_000;
/// How much longer than others a gated key keeps its slot untouched.
const GATED_BONUS_MS: u64 = 60_000;

/// The words of a slot.
#[derive(Clone, Copy)]
enum Field {
    Database,
    Tenant,
    IdHigh,
    IdLow,
    /// See [`Tally`].
    Tally,
    /// See [`Course`].
    Course,
    /// Attempts since the slot was taken, and so on.
    Attempts,
    Races,
    Stale,
    Waits,
    Busy,
    /// Moving average of the time from one passage of the gate to the next while others wait.
    ServiceUs,
    /// When somebody last passed the gate.
    PassedUs,
    TouchedMs,
    HitMs,
    /// What the last switch rests on: samples, and the rate in millionths.
    SwitchSamples,
    SwitchRate,
    /// Number of a [`Why`], from 1.
    SwitchWhy,
}

/// A key that is counted: an instance of a tenant.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    tenant: &'a str,
    tenant_hash: u64,
    id: Uuid,
    tag: u64,
}

impl<'a> Key<'a> {
    /// The key of an instance.
    pub fn instance(tenant: &'a str, id: Uuid) -> Key<'a> {
        let database = u64::from(backend::database().to_u32());
        let tenant_hash = backend::hash(tenant.as_bytes(), database);
        Key {
            tenant,
            tenant_hash,
            id,
            // 0 marks a free slot.
            tag: backend::hash(id.as_bytes(), tenant_hash).max(1),
        }
    }
}

#[derive(Clone, Copy)]
struct Slot(&'static [AtomicU64]);

impl Slot {
    fn at(words: &'static [AtomicU64], number: usize) -> Slot {
        let start = SLOTS + number * SLOT;
        Slot(&words[start..start + SLOT])
    }

    fn word(&self, field: Field) -> &'static AtomicU64 {
        &self.0[field as usize]
    }

    fn get(&self, field: Field) -> u64 {
        self.word(field).load(Relaxed)
    }

    fn set(&self, field: Field, value: u64) {
        self.word(field).store(value, Relaxed);
    }

    fn add(&self, field: Field) {
        self.word(field).fetch_add(1, Relaxed);
    }
}

fn set_of(tag: u64) -> usize {
    (tag as usize) % SETS
}

fn find(words: &'static [AtomicU64], tag: u64) -> Option<Slot> {
    let first = set_of(tag) * WAYS;
    let ways = &words[TAGS + first..TAGS + first + WAYS];
    let way = ways.iter().position(|word| word.load(Relaxed) == tag)?;
    Some(Slot::at(words, first + way))
}

/// Takes a slot for a key. `None` if somebody else is just taking one of this set: the count is lost.
fn claim(words: &'static [AtomicU64], key: &Key<'_>) -> Option<Slot> {
    let set = set_of(key.tag);
    let lock = &words[CLAIMS + set];
    let now = now_us();
    let held = lock.load(Relaxed);
    if held != 0 && now.abs_diff(held) < CLAIM_US {
        return None;
    }
    lock.compare_exchange(held, now, Relaxed, Relaxed).ok()?;
    let slot = find(words, key.tag).unwrap_or_else(|| {
        let first = set * WAYS;
        let age = |number: &usize| {
            let slot = Slot::at(words, *number);
            let gated = Course::from_word(slot.get(Field::Course)).stance == Stance::Gated;
            slot.get(Field::TouchedMs) + if gated { GATED_BONUS_MS } else { 0 }
        };
        let number = (first..first + WAYS).min_by_key(age).unwrap_or(first);
        let slot = Slot::at(words, number);
        words[TAGS + number].store(0, Relaxed);
        for word in slot.0 {
            word.store(0, Relaxed);
        }
        let (high, low) = key.id.as_u64_pair();
        slot.set(Field::Database, backend::database().to_u32().into());
        slot.set(Field::Tenant, key.tenant_hash);
        slot.set(Field::IdHigh, high);
        slot.set(Field::IdLow, low);
        slot.set(Field::TouchedMs, now / 1000);
        slot.set(Field::Course, Course::new(now / 1000).to_word());
        words[TAGS + number].store(key.tag, Relaxed);
        slot
    });
    lock.store(0, Relaxed);
    Some(slot)
}

/// The counts of one key, as one command meets them.
pub struct Heat<'a> {
    key: Key<'a>,
    words: Option<&'static [AtomicU64]>,
    slot: Option<Slot>,
    adaptive: bool,
}

impl<'a> Heat<'a> {
    /// Looks the key up. Only the attempts of adaptive commands change its stance.
    pub fn of(key: Key<'a>, adaptive: bool) -> Heat<'a> {
        let words = shared::words(WORDS);
        Heat {
            key,
            words,
            slot: words.and_then(|words| find(words, key.tag)),
            adaptive,
        }
    }

    /// Whether the adaptive mode has the key gated.
    pub fn is_gated(&self) -> bool {
        self.slot
            .is_some_and(|slot| Course::from_word(slot.get(Field::Course)).stance == Stance::Gated)
    }

    /// An attempt succeeded at once.
    pub fn succeeded(&self) {
        if let Some(slot) = self.slot {
            slot.add(Field::Attempts);
            self.feed(slot, Stance::Optimistic, false);
        }
    }

    /// An attempt was lost to somebody who was faster, or who holds the row.
    pub fn raced(&mut self) {
        if let Some(slot) = self.kept() {
            slot.add(Field::Attempts);
            slot.add(Field::Races);
            self.feed(slot, Stance::Optimistic, true);
        }
    }

    /// The caller rests on a revision of long ago: no race.
    pub fn stale(&mut self) {
        if let Some(slot) = self.kept() {
            slot.add(Field::Attempts);
            slot.add(Field::Stale);
            self.feed(slot, Stance::Optimistic, false);
        }
    }

    /// The first try of the gate succeeded.
    pub fn gate_free(&self) {
        if let Some(slot) = self.slot {
            slot.set(Field::PassedUs, now_us());
            self.feed(slot, Stance::Gated, false);
        }
    }

    /// The first try of the gate failed.
    pub fn gate_taken(&mut self) {
        if let Some(slot) = self.kept() {
            slot.add(Field::Waits);
            self.feed(slot, Stance::Gated, true);
        }
    }

    /// The gate was passed after a wait, so the one who passed before has just ended.
    pub fn gate_passed(&self) {
        const WEIGHT: u64 = 8;
        let Some(slot) = self.slot else { return };
        let now = now_us();
        let before = slot.word(Field::PassedUs).swap(now, Relaxed);
        if before == 0 || now < before {
            return;
        }
        let took = (now - before).max(1);
        let average = slot.get(Field::ServiceUs);
        let average = if average == 0 {
            took
        } else {
            (average * (WEIGHT - 1) + took).div_ceil(WEIGHT)
        };
        slot.set(Field::ServiceUs, average);
    }

    /// Somebody else holds the row.
    pub fn row_taken(&mut self) {
        if let Some(slot) = self.kept() {
            slot.add(Field::Waits);
        }
    }

    /// The command gave up. When the same call may succeed, in ms, with `ahead` commands before it.
    pub fn gave_up(&mut self, ahead: u64) -> i32 {
        const UNKNOWN_MS: u64 = 100;
        const MOST_MS: u64 = 10_000;
        let Some(slot) = self.kept() else {
            return UNKNOWN_MS as i32;
        };
        slot.add(Field::Busy);
        match slot.get(Field::ServiceUs) {
            0 => UNKNOWN_MS as i32,
            service => (service.saturating_mul(ahead + 1).div_ceil(1000)).clamp(1, MOST_MS) as i32,
        }
    }

    /// Measured time from one passage of the gate to the next; 0 if unknown.
    pub fn service_us(&self) -> u64 {
        self.slot.map_or(0, |slot| slot.get(Field::ServiceUs))
    }

    fn kept(&mut self) -> Option<Slot> {
        if self.slot.is_none() {
            self.slot = self.words.and_then(|words| claim(words, &self.key));
        }
        self.slot
    }

    /// Counts for the key's stance, if it is the one that this kind of hit speaks about.
    fn feed(&self, slot: Slot, about: Stance, hit: bool) {
        let now = now_us() / 1000;
        slot.set(Field::TouchedMs, now);
        if hit {
            slot.set(Field::HitMs, now);
        }
        let course = Course::from_word(slot.get(Field::Course));
        if !self.adaptive || course.stance != about {
            return;
        }
        update(slot.word(Field::Tally), |word| {
            Tally::from_word(word).with(hit, now).to_word()
        });
        let mut word = update(slot.word(Field::Course), |word| {
            Course::from_word(word).with(hit).to_word()
        });
        loop {
            let course = Course::from_word(word);
            let tally = Tally::from_word(slot.get(Field::Tally));
            let (dwell, last_hit) = (settings::adaptive_dwell(), slot.get(Field::HitMs));
            let Some(switch) = judge(course, tally, now, dwell, last_hit) else {
                return;
            };
            let after = course.switched(switch.stance, now).to_word();
            match slot
                .word(Field::Course)
                .compare_exchange(word, after, Relaxed, Relaxed)
            {
                Ok(_) => return self.switched(slot, &switch),
                Err(present) => word = present,
            }
        }
    }

    /// By the one process that made the switch.
    fn switched(&self, slot: Slot, switch: &Switch) {
        slot.set(Field::Tally, 0);
        slot.set(Field::SwitchSamples, switch.samples.into());
        slot.set(Field::SwitchRate, (switch.rate * 1e6) as u64);
        let why = Why::ALL.iter().position(|why| *why == switch.why);
        slot.set(Field::SwitchWhy, why.map_or(0, |index| index as u64 + 1));
        let line = json!({
            "tenant": self.key.tenant,
            "instance_id": self.key.id.to_string(),
            "mode": mode_name(switch.stance),
            "rate": (switch.rate * 1e4).round() / 1e4,
            "samples": switch.samples,
            "window_ms": 2 * WINDOW_MS,
            "why": switch.why.text(),
        });
        report::log(&format!("workflow contention: {line}"));
    }
}

/// `fetch_update` that gives the new value.
fn update(word: &AtomicU64, change: impl Fn(u64) -> u64) -> u64 {
    let mut before = word.load(Relaxed);
    loop {
        let after = change(before);
        match word.compare_exchange_weak(before, after, Relaxed, Relaxed) {
            Ok(_) => return after,
            Err(present) => before = present,
        }
    }
}

fn now_us() -> u64 {
    Time::now().0.max(1) as u64
}

fn mode_name(stance: Stance) -> &'static str {
    match stance {
        Stance::Optimistic => "optimistic",
        Stance::Gated => "pessimistic",
    }
}

/// What is known of a key, for people.
pub struct Report {
    /// The instance.
    pub id: Uuid,
    /// Decisions that were tried.
    pub attempts: u64,
    /// Those that were lost to somebody who was faster.
    pub races: u64,
    /// Commands that rested on a revision of long ago.
    pub stale: u64,
    /// Times that the gate or the row was found taken.
    pub waits: u64,
    /// Commands that gave up.
    pub busy: u64,
    /// Measured time from one passage of the gate to the next, in µs; 0 if unknown.
    pub service_us: u64,
    /// `optimistic` or `pessimistic`.
    pub mode: &'static str,
    /// Since when.
    pub since: Time,
    /// What the last switch rests on.
    pub why: Option<Reasons>,
    /// When it was last counted.
    pub last_seen: Time,
}

/// See [`Switch`].
pub struct Reasons {
    /// Share of hits, in millionths.
    pub rate: u64,
    /// Of how many.
    pub samples: u64,
    /// In words.
    pub text: &'static str,
}

/// The keys of a tenant that were contended lately.
pub fn survey(tenant: &str) -> Vec<Report> {
    let Some(words) = shared::words(WORDS) else {
        return Vec::new();
    };
    let database = u64::from(backend::database().to_u32());
    let tenant = Key::instance(tenant, Uuid::nil()).tenant_hash;
    let slots = (0..SETS * WAYS)
        .filter(|number| words[TAGS + number].load(Relaxed) != 0)
        .map(|number| Slot::at(words, number))
        .filter(|slot| slot.get(Field::Database) == database && slot.get(Field::Tenant) == tenant);
    slots.map(describe).collect()
}

fn describe(slot: Slot) -> Report {
    let course = Course::from_word(slot.get(Field::Course));
    let why = (slot.get(Field::SwitchWhy) as usize)
        .checked_sub(1)
        .and_then(|index| Why::ALL.get(index));
    Report {
        id: Uuid::from_u64_pair(slot.get(Field::IdHigh), slot.get(Field::IdLow)),
        attempts: slot.get(Field::Attempts),
        races: slot.get(Field::Races),
        stale: slot.get(Field::Stale),
        waits: slot.get(Field::Waits),
        busy: slot.get(Field::Busy),
        service_us: slot.get(Field::ServiceUs),
        mode: mode_name(course.stance),
        since: Time(course.since_ms as i64 * 1000),
        why: why.map(|why| Reasons {
            rate: slot.get(Field::SwitchRate),
            samples: slot.get(Field::SwitchSamples),
            text: why.text(),
        }),
        last_seen: Time(slot.get(Field::TouchedMs) as i64 * 1000),
    }
}

const _: () = assert!((Field::SwitchWhy as usize) < SLOT);

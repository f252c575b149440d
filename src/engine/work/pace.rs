//! Looks that cost much are not repeated at once.
//!
//! What has been taken leaves dead entries at the front of the queue's index, which every look from
//! the front passes until they are vacuumed away. And who looks for instances that no queue knows
//! looks at all of them. Each backend therefore remembers what such a look has cost it, and does not
//! look again before some twenty times as long. One long look may have been slow for any reason: it
//! takes two in a row. These are hints: whatever they say, a take that finds too little in the queue
//! looks at all of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::pg::value::Time;

/// A look from the front that takes longer than this is too long.
const LONG_LOOK: Duration = Duration::from_micros(300);
/// A search for instances outside of the queue that takes longer than this is too long.
const LONG_SEARCH: Duration = Duration::from_millis(20);
/// How much longer than a look the pause after it is.
const PAUSE: u32 = 20;
/// Where states have queues, instances outside of them are exceptions.
const RARELY: Duration = Duration::from_secs(60);
/// Queues remembered; beyond it the memory starts again.
const QUEUES: usize = 1000;

#[derive(Clone, Copy, Default)]
struct Memory {
    /// Before this moment nothing was found, and until when that is good enough.
    front: Option<(Time, Instant)>,
    next_search: Option<Instant>,
    long_look: bool,
    long_search: bool,
}

thread_local! {
    static MEMORY: RefCell<HashMap<String, Memory>> = RefCell::default();
}

/// What this backend remembers of the queue of one state.
pub struct Pace(String);

impl Pace {
    /// Of this queue.
    pub fn of(tenant: &str, definition: &str, state: &str) -> Pace {
        // No name holds a NUL.
        Pace(format!("{tenant}\0{definition}\0{state}"))
    }

    fn memory(&self) -> Memory {
        MEMORY.with_borrow(|queues| queues.get(&self.0).copied().unwrap_or_default())
    }

    fn change(&self, change: impl FnOnce(&mut Memory)) {
        MEMORY.with_borrow_mut(|queues| {
            if queues.len() >= QUEUES && !queues.contains_key(&self.0) {
                queues.clear();
            }
            change(queues.entry(self.0.clone()).or_default());
        });
    }

    /// Where to begin to look, if not at the front.
    pub fn front(&self) -> Option<Time> {
        let (front, until) = self.memory().front?;
        (Instant::now() < until).then_some(front)
    }

    /// A look from the front took so long, and found this first.
    pub fn looked(&self, took: Duration, first: Option<Time>) {
        let before = self.memory();
        let is_long = took > LONG_LOOK;
        if !is_long && !before.long_look {
            return;
        }
        let front = first
            .filter(|_| is_long && before.long_look)
            .map(|first| (first, Instant::now() + took * PAUSE));
        self.change(|memory| {
            memory.front = front;
            memory.long_look = is_long;
        });
    }

    /// Whether to search for instances outside of the queue.
    pub fn may_search(&self) -> bool {
        self.memory()
            .next_search
            .is_none_or(|next| Instant::now() >= next)
    }

    /// A search took so long; whether the state has its queue by its definition.
    pub fn searched(&self, took: Duration, has_queue: bool) {
        let is_long = took > LONG_SEARCH;
        let long = (is_long && self.memory().long_search).then_some(took * PAUSE);
        let pause = if has_queue {
            Some(long.unwrap_or_default().max(RARELY))
        } else {
            long
        };
        let next = pause.map(|pause| Instant::now() + pause);
        self.change(|memory| {
            memory.next_search = next;
            memory.long_search = is_long;
        });
    }
}

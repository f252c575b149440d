//! What a consumer is handed, and what of that it may acknowledge.
//!
//! Events of an instance go out in order. Whoever holds the lowest event that a consumer has not
//! acknowledged, its head, holds the instance for this consumer; what follows the head without a gap
//! may go along. What is acknowledged is always the front: an event behind one that failed is handed
//! out again after it.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

/// An event of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The instance.
    pub instance: Uuid,
    /// Its revision.
    pub revision: i64,
}

/// An event that waits to be handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Which one.
    pub key: Key,
    /// How often it was handed out before.
    pub attempt: i32,
    /// Its last claim ran out, without a word from the consumer.
    pub lapsed: bool,
}

impl Waiting {
    /// It was handed out often enough, and nobody said what became of it.
    fn is_spent(&self, max_attempts: i32) -> bool {
        self.lapsed && self.attempt >= max_attempts
    }

    /// The next attempt is the last one. It may be this event that kills the consumer; then it must
    /// not take others with it, and if it is not, it must not go with the one that does.
    fn is_suspect(&self, max_attempts: i32) -> bool {
        self.lapsed && self.attempt + 1 >= max_attempts
    }
}

/// What becomes of heads that could be handed out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Dead letters from now on.
    pub spent: Vec<Key>,
    /// Handed out.
    pub heads: Vec<Key>,
    /// Nothing may be handed out along with the only head.
    pub alone: bool,
}

/// Chooses among heads, the first one first.
pub fn choose(heads: &[Waiting], max_attempts: i32) -> Choice {
    let mut choice = Choice::default();
    let mut suspects = Vec::new();
    for head in heads {
        if head.is_spent(max_attempts) {
            choice.spent.push(head.key);
        } else if head.is_suspect(max_attempts) {
            suspects.push(head.key);
        } else {
            choice.heads.push(head.key);
        }
    }
    // The last attempt is made before others: it cannot come after them for ever.
    if let Some(suspect) = suspects.first() {
        choice.heads = vec![*suspect];
        choice.alone = true;
    }
    choice
}

/// An event behind a head.
#[derive(Clone, Copy, Debug)]
pub struct Follower {
    /// The event.
    pub waiting: Waiting,
    /// Whether it may be handed out now.
    pub free: bool,
    /// The event before it that is not acknowledged.
    pub previous: Option<i64>,
}

/// What goes along with the heads: at most `room` events, each right behind one that goes too.
pub fn follow(
    heads: &[Key],
    mut followers: Vec<Follower>,
    room: usize,
    max_attempts: i32,
) -> Vec<Key> {
    let mut last: BTreeMap<Uuid, i64> = heads
        .iter()
        .map(|head| (head.instance, head.revision))
        .collect();
    followers.sort_by_key(|follower| follower.waiting.key);
    let mut along = Vec::new();
    for follower in followers {
        let key = follower.waiting.key;
        let behind = last.get_mut(&key.instance);
        let Some(last) = behind.filter(|last| follower.previous == Some(**last)) else {
            continue;
        };
        if along.len() < room && follower.free && !follower.waiting.is_suspect(max_attempts) {
            *last = key.revision;
            along.push(key);
        }
    }
    along
}

/// Of events to be acknowledged, each with the one before it that is not acknowledged yet, those
/// that have nothing before them but each other.
pub fn acknowledgeable(events: &[(Key, Option<i64>)]) -> Vec<Key> {
    let mut sorted = events.to_vec();
    sorted.sort();
    let mut done = BTreeSet::new();
    for (key, previous) in sorted {
        let front = previous.is_none_or(|revision| done.contains(&Key { revision, ..key }));
        if front {
            done.insert(key);
        }
    }
    done.into_iter().collect()
}

/// An event of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Which one.
    pub key: Key,
    /// The number of this attempt.
    pub attempt: i32,
    /// Whether the consumer says that it failed.
    pub failed: bool,
}

/// What becomes of a claim's events when some have failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// To be tried again.
    pub again: Vec<Key>,
    /// Dead letters.
    pub dead: Vec<Key>,
    /// Behind a failed one: given back untried.
    pub released: Vec<Key>,
}

/// Decides about the events of one claim.
pub fn fail(held: &[Held], max_attempts: i32) -> Failure {
    let mut first: BTreeMap<Uuid, i64> = BTreeMap::new();
    for event in held.iter().filter(|event| event.failed) {
        let lowest = first
            .entry(event.key.instance)
            .or_insert(event.key.revision);
        *lowest = event.key.revision.min(*lowest);
    }
    let mut failure = Failure::default();
    for event in held {
        if event.failed && event.attempt >= max_attempts {
            failure.dead.push(event.key);
        } else if event.failed {
            failure.again.push(event.key);
        } else if first
            .get(&event.key.instance)
            .is_some_and(|first| *first < event.key.revision)
        {
            failure.released.push(event.key);
        }
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(instance: u128, revision: i64) -> Key {
        Key {
            instance: Uuid::from_u128(instance),
            revision,
        }
    }

    fn waiting(instance: u128, attempt: i32, lapsed: bool) -> Waiting {
        Waiting {
            key: key(instance, 1),
            attempt,
            lapsed,
        }
    }

    fn follower(instance: u128, revision: i64, previous: i64, free: bool) -> Follower {
        Follower {
            waiting: Waiting {
                key: key(instance, revision),
                attempt: 0,
                lapsed: false,
            },
            free,
            previous: Some(previous),
        }
    }

    #[test]
    fn heads_are_handed_out_unless_spent() {
        let heads = [
            waiting(1, 0, false),
            waiting(2, 3, true),
            waiting(3, 3, false),
        ];
        let choice = choose(&heads, 3);
        assert_eq!(choice.spent, [key(2, 1)]);
        assert_eq!(choice.heads, [key(1, 1), key(3, 1)]);
        assert!(!choice.alone);
    }

    #[test]
    fn the_last_attempt_after_silence_is_made_alone() {
        let heads = [
            waiting(1, 0, false),
            waiting(2, 2, true),
            waiting(3, 2, true),
        ];
        let choice = choose(&heads, 3);
        assert_eq!(choice.heads, [key(2, 1)]);
        assert!(choice.alone);
        // One that was reported as failed is nobody's suspect.
        assert!(!choose(&[waiting(1, 2, false)], 3).alone);
    }

    #[test]
    fn followers_go_along_without_a_gap() {
        let heads = [key(1, 2), key(2, 1)];
        let followers = vec![
            follower(1, 7, 5, true),
            follower(1, 5, 2, true),
            follower(2, 2, 1, false),
            follower(2, 3, 2, true),
            follower(3, 2, 1, true),
        ];
        assert_eq!(
            follow(&heads, followers.clone(), 9, 10),
            [key(1, 5), key(1, 7)]
        );
        assert_eq!(follow(&heads, followers, 1, 10), [key(1, 5)]);
        // 6 was locked by somebody else and is not among them.
        let gap = vec![follower(1, 5, 2, true), follower(1, 7, 6, true)];
        assert_eq!(follow(&heads, gap, 9, 10), [key(1, 5)]);
    }

    #[test]
    fn a_suspect_does_not_go_along() {
        let mut suspect = follower(1, 3, 2, true);
        suspect.waiting.attempt = 9;
        suspect.waiting.lapsed = true;
        let behind = follower(1, 4, 3, true);
        assert_eq!(follow(&[key(1, 2)], vec![suspect, behind], 9, 10), []);
    }

    #[test]
    fn the_front_is_acknowledged() {
        let events = [
            (key(1, 4), Some(2)),
            (key(1, 2), None),
            (key(2, 3), Some(1)),
            (key(3, 9), Some(8)),
            (key(3, 8), Some(6)),
        ];
        assert_eq!(acknowledgeable(&events), [key(1, 2), key(1, 4)]);
    }

    #[test]
    fn what_follows_a_failure_is_released() {
        let held = |instance, revision, attempt, failed| Held {
            key: key(instance, revision),
            attempt,
            failed,
        };
        let events = [
            held(1, 1, 1, false),
            held(1, 2, 2, true),
            held(1, 3, 1, false),
            held(1, 4, 3, true),
            held(2, 1, 3, false),
        ];
        let failure = fail(&events, 3);
        assert_eq!(failure.again, [key(1, 2)]);
        assert_eq!(failure.dead, [key(1, 4)]);
        assert_eq!(failure.released, [key(1, 3)]);
    }
}

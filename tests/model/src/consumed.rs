//! What the workers of one consumer noted, held against what was published: every event was delivered
//! and acknowledged once, in the order of its instance, to one worker at a time, and nothing else was.

use std::collections::HashMap;

use uuid::Uuid;

/// An event as a worker was handed it.
#[derive(Clone, Copy, Debug)]
pub struct Handed {
    pub id: Uuid,
    pub instance: Uuid,
    pub revision: i64,
    pub attempt: i32,
}

/// A claim that was kept: moments before and after the call, and until when it held at the least.
#[derive(Debug)]
pub struct Claim {
    pub id: Uuid,
    pub before: u64,
    pub after: u64,
    pub until: u64,
    pub handed: Vec<Handed>,
}

/// What was settled by one call: acknowledged (or skipped), or given back.
#[derive(Debug)]
pub struct Settled {
    pub ids: Vec<Uuid>,
    pub before: u64,
    pub after: u64,
    pub given_back: bool,
}

/// What a worker noted.
#[derive(Debug, Default)]
pub struct Notes {
    pub claims: Vec<Claim>,
    pub settled: Vec<Settled>,
}

impl Notes {
    /// Adds what became certain at `moment`.
    pub fn add(&mut self, certain: Notes, moment: u64) {
        let settled = certain.settled.into_iter();
        self.settled.extend(settled.map(|settled| Settled {
            after: moment,
            ..settled
        }));
    }
}

/// One delivery of an event: its claim, and the place in it.
type Delivery = (usize, usize);

/// Events of each instance in order, and whether a consumer that came late must have got them.
pub type Published = HashMap<Uuid, Vec<(i64, bool)>>;

/// Gives the number of deliveries.
pub fn check(
    published: &Published,
    notes: &Notes,
    late: bool,
    known: &mut HashMap<(Uuid, i64), Uuid>,
) -> Result<usize, String> {
    let mut deliveries: HashMap<Uuid, Vec<Delivery>> = HashMap::new();
    let mut gaps = Vec::new();
    for (number, claim) in notes.claims.iter().enumerate() {
        let mut previous: Option<&Handed> = None;
        for (place, handed) in claim.handed.iter().enumerate() {
            let Handed {
                id,
                instance,
                revision,
                attempt,
            } = *handed;
            let events = published.get(&instance);
            let at = events
                .and_then(|events| events.binary_search_by_key(&revision, |event| event.0).ok());
            let (Some(events), Some(at)) = (events, at) else {
                return Err(format!("{handed:?} was never published"));
            };
            if *known.entry((instance, revision)).or_insert(id) != id {
                return Err(format!("{handed:?} has two ids"));
            }
            if !(1..=4).contains(&attempt) {
                return Err(format!("{handed:?}: attempts end at 4"));
            }
            if let Some(before) = previous.filter(|before| before.instance == instance)
                && (at == 0 || events[at - 1].0 != before.revision)
            {
                gaps.push((number, *before, *handed));
            }
            previous = Some(handed);
            deliveries.entry(id).or_default().push((number, place));
        }
    }
    let ends = ends(notes)?;
    for (number, before, handed) in gaps {
        // A dead letter may be skipped while one before it waits; nothing else makes a gap.
        let until = notes.claims[number].after;
        let between = published[&handed.instance]
            .iter()
            .filter(|event| (before.revision + 1..handed.revision).contains(&event.0));
        let mut ids = between.map(|event| known.get(&(handed.instance, event.0)));
        let ended = |id: Option<&Uuid>| {
            id.and_then(|id| ends.get(id))
                .is_some_and(|end| end.0 <= until)
        };
        if before.revision >= handed.revision || !ids.all(ended) {
            return Err(format!("{handed:?} follows {before:?} in one claim"));
        }
    }
    let given_back = given_back(notes);
    for (id, deliveries) in &mut deliveries {
        deliveries.sort_by_key(|(claim, _)| notes.claims[*claim].before);
        one_at_a_time(notes, *id, deliveries, &ends, &given_back)?;
    }
    complete(published, &ends, late, known)?;
    in_order(published, notes, &ends, known)?;
    Ok(notes.claims.iter().map(|claim| claim.handed.len()).sum())
}

/// When each event was acknowledged: once.
fn ends(notes: &Notes) -> Result<HashMap<Uuid, (u64, u64)>, String> {
    let mut ends = HashMap::new();
    for settled in notes.settled.iter().filter(|settled| !settled.given_back) {
        for id in &settled.ids {
            let moment = (settled.before, settled.after);
            if let Some(other) = ends.insert(*id, moment) {
                return Err(format!(
                    "{id} was acknowledged twice, at {other:?} and {moment:?}"
                ));
            }
        }
    }
    Ok(ends)
}

fn given_back(notes: &Notes) -> HashMap<Uuid, Vec<(u64, u64)>> {
    let mut given_back: HashMap<Uuid, Vec<(u64, u64)>> = HashMap::new();
    for settled in notes.settled.iter().filter(|settled| settled.given_back) {
        for id in &settled.ids {
            let moments = given_back.entry(*id).or_default();
            moments.push((settled.before, settled.after));
        }
    }
    given_back
}

/// Whoever has an event has it alone until it is given back, or the claim is over; and nobody has it
/// after it was acknowledged.
fn one_at_a_time(
    notes: &Notes,
    id: Uuid,
    deliveries: &[Delivery],
    ends: &HashMap<Uuid, (u64, u64)>,
    given_back: &HashMap<Uuid, Vec<(u64, u64)>>,
) -> Result<(), String> {
    let claims: Vec<&Claim> = deliveries
        .iter()
        .map(|(claim, _)| &notes.claims[*claim])
        .collect();
    for pair in claims.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let free = |held: &Claim, taken: &Claim| {
            let moments = given_back.get(&id).into_iter().flatten();
            let mut moments = moments.filter(|(from, _)| *from <= taken.after);
            taken.after >= held.until || moments.any(|(_, to)| *to >= held.before)
        };
        // Of two calls at the same time either may have been the first.
        let unordered = first.after >= second.before && free(second, first);
        if !free(first, second) && !unordered {
            return Err(format!(
                "{id} was handed out at {} while claim {} of {} held it until {}",
                second.before, first.id, first.before, first.until
            ));
        }
    }
    let (Some(last), Some(end)) = (claims.last(), ends.get(&id)) else {
        return Ok(());
    };
    if last.before > end.1 {
        return Err(format!(
            "{id} was handed out at {} and was acknowledged at {end:?}",
            last.before
        ));
    }
    Ok(())
}

/// Everything that was published is acknowledged; a consumer that came late has the end of each
/// instance, from the moment of its coming at the latest.
fn complete(
    published: &Published,
    ends: &HashMap<Uuid, (u64, u64)>,
    late: bool,
    known: &HashMap<(Uuid, i64), Uuid>,
) -> Result<(), String> {
    let mut acknowledged = 0;
    for (instance, events) in published {
        let mut has = false;
        for (revision, after) in events {
            let id = known.get(&(*instance, *revision));
            let ended = id.is_some_and(|id| ends.contains_key(id));
            if !ended && (has || *after || !late) {
                return Err(format!("revision {revision} of {instance} was lost"));
            }
            has |= ended;
            acknowledged += usize::from(ended);
        }
    }
    if acknowledged != ends.len() {
        return Err(format!(
            "{} events are acknowledged, of {acknowledged} that were published",
            ends.len()
        ));
    }
    Ok(())
}

/// Nothing is handed out before what comes before it is acknowledged, or in the same claim.
fn in_order(
    published: &Published,
    notes: &Notes,
    ends: &HashMap<Uuid, (u64, u64)>,
    known: &HashMap<(Uuid, i64), Uuid>,
) -> Result<(), String> {
    for claim in &notes.claims {
        let mut instance = Uuid::nil();
        for handed in &claim.handed {
            if handed.instance == instance {
                continue;
            }
            instance = handed.instance;
            // The one right before it; those before that one are looked at with their own. Where a
            // consumer came late there is none.
            let events = &published[&instance];
            let before = events.iter().rev().find(|event| event.0 < handed.revision);
            let id = before.and_then(|(revision, _)| known.get(&(instance, *revision)));
            if let Some(end) = id.and_then(|id| ends.get(id))
                && end.0 > claim.after
            {
                return Err(format!(
                    "{handed:?} was handed out at {} before {before:?}, acknowledged at {end:?}",
                    claim.before
                ));
            }
        }
    }
    Ok(())
}

//! Where fences come from, so that no number is given twice, whatever becomes of the one who had it.
//!
//! They come from a sequence, which no rollback sets back. Two things could: the end of a timeline
//! may be lost with numbers on it, and a dump knows nothing of those that were given after it was
//! made. So each timeline has a range of its own above the one before, and where the sequence comes
//! from elsewhere it leaps first. Which place and timeline it belongs to is kept beside it, as the
//! value of another sequence: that, too, is dumped, and outlives a rollback.

use std::cell::Cell;

use crate::pg::cluster::Run;
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::Value;
use crate::pg::wait::{KeyLock, LockKind};
use crate::store::statements;

/// How far fences leap where later ones of the place that they come from are not known.
pub const LEAP: i64 = 1 << 32;
/// Fences of one timeline.
const OF_A_TIMELINE: u32 = 40;
/// Bits of the mark that say where; those above them say on which timeline.
const PLACE: u32 = 47;

/// What fences of a timeline are above.
pub fn base(timeline: u32) -> i64 {
    i64::from(timeline.saturating_sub(1)) << OF_A_TIMELINE
}

fn mark(run: &Run) -> i64 {
    let timeline = i64::from(run.timeline.clamp(1, u16::MAX.into()));
    timeline << PLACE | run.cluster & ((1 << PLACE) - 1)
}

thread_local! {
    static SEEN: Cell<i64> = const { Cell::new(0) };
}

/// Makes sure that the next number is higher than any that was given anywhere.
pub fn rise(spi: &Spi, run: &Run) -> Result<(), Report> {
    let here = mark(run);
    if SEEN.get() == here {
        return Ok(());
    }
    // Sequences take effect at once, so the lock is given back at once.
    let lock = KeyLock::new(LockKind::Fences, "", "");
    lock.wait();
    let now = spi.run(&statements::FENCES, &[]);
    let now = now.rows().next().expect("a sequence has one row");
    let (last, before, is_marked) = (now.bigint(0)?, now.bigint(1)?, now.bool(2)?);
    if !is_marked || before != here {
        let moved = is_marked && before & ((1 << PLACE) - 1) != here & ((1 << PLACE) - 1);
        let next = if moved {
            let highest = base((before >> PLACE) as u32) + last;
            (highest + LEAP - base(run.timeline)).max(last)
        } else {
            last
        };
        if next != last {
            spi.run(&statements::RAISE_FENCES, &[Value::Bigint(next)]);
        }
        spi.run(&statements::MARK_FENCES, &[Value::Bigint(here)]);
    }
    lock.give_back();
    SEEN.set(here);
    Ok(())
}

//! Reads `after`: edges that time takes.

use serde_json::{Map, Value};

use super::branches::Trigger;
use super::findings::{child, quote};
use super::parse::Reader;
use super::{AFTER, Delay, State, Timer, duration};

/// A hundred years, in milliseconds.
const LONGEST: u64 = 3_155_760_000_000;

impl<'s> Reader<'s> {
    /// The timers of a state, shortest delay first as far as delays can be compared, and whether
    /// all of them could be read.
    pub(super) fn after(&mut self, value: &'s Value, path: &str, state: &mut State) -> bool {
        let Some(after) = self.findings.object(value, path) else {
            return false;
        };
        let mut all_read = true;
        let mut timers: Vec<(u64, Timer)> = Vec::new();
        for (key, value) in after {
            let path = child(path, key);
            if key == "restart" {
                continue;
            }
            let (length, delay) = match read_delay(key) {
                Ok(read) => read,
                Err(message) => {
                    self.findings.error(&path, message);
                    all_read = false;
                    continue;
                }
            };
            let event = format!("{AFTER}{key}");
            let (branches, complete) = self.branches(Trigger::After(&event), value, &path);
            if branches.is_empty() && complete {
                let message = format!("the delay {} leads nowhere", quote(key));
                self.findings.error(&path, message);
            }
            all_read &= complete;
            if delay != Delay::Due && timers.iter().any(|(known, _)| *known == length) {
                let message =
                    "another delay is as long: the one whose key sorts first is tried first";
                self.findings.warning(&path, message);
            }
            timers.push((
                length,
                Timer {
                    event,
                    delay,
                    branches,
                },
            ));
        }
        self.restart(after, path, state);
        timers.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.event.cmp(&b.1.event)));
        state.after = timers.into_iter().map(|(_, timer)| timer).collect();
        if state.is_final && !state.after.is_empty() {
            self.findings.error(path, "a final state has no edges");
        }
        all_read
    }

    fn restart(&mut self, after: &'s Map<String, Value>, path: &str, state: &mut State) {
        state.restart = self.findings.flag(after, "restart", path).unwrap_or(false);
        if state.restart && after.len() == 1 {
            let message = "there is no delay that could restart";
            self.findings.error(child(path, "restart"), message);
        }
    }
}

/// A delay with its length in milliseconds, as far as that is known without a calendar.
fn read_delay(key: &str) -> Result<(u64, Delay), String> {
    const SHAPE: &str = "must be a number of milliseconds like `60000`, an ISO 8601 duration like \
                         `PT48H`, or `due`";
    if key == "due" {
        return Ok((0, Delay::Due));
    }
    if key.starts_with('P') {
        let length = duration::milliseconds(key).map_err(str::to_owned)?;
        return Ok((length, Delay::Span(key.to_owned())));
    }
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("the delay {} {SHAPE}", quote(key)));
    }
    match key.parse::<u64>() {
        _ if key.len() > 1 && key.starts_with('0') => {
            Err("a number of milliseconds is written without leading zeros".into())
        }
        Ok(0) => Err("must be longer than nothing; for edges taken at once use `always`".into()),
        Ok(length) if length <= LONGEST => {
            Ok((length, Delay::Span(format!("{length} milliseconds"))))
        }
        _ => Err("must not be longer than 100 years".into()),
    }
}

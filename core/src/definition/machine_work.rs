//! Reads what a state says about machine work: `meta.lease` and `meta.retry`.

use serde_json::{Map, Value};

use super::findings::child;
use super::keys::{self, Place};
use super::parse::Reader;
use super::{Retry, State};

/// Longest delay between two attempts: thirty days.
const LONGEST_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// More attempts than anybody waits for.
const MOST_ATTEMPTS: u64 = 1_000_000;

impl<'s> Reader<'s> {
    pub(super) fn machine_work(
        &mut self,
        meta: &'s Map<String, Value>,
        path: &str,
        state: &mut State,
    ) {
        if let Some(lease) = meta.get("lease") {
            let path = child(path, "lease");
            match self.findings.text(lease, &path) {
                Some("required") => state.lease_required = true,
                Some(_) => self.findings.error(&path, "must be `required`"),
                None => {}
            }
            let seats = state.task.as_ref().map_or(0, |task| task.seats.len());
            if seats > 1 {
                let message = "a vote of several seats cannot present a lease";
                self.findings.error(&path, message);
            }
            if state.is_final {
                self.findings.error(
                    &path,
                    "nothing leaves a final state, with a lease or without",
                );
            }
        }
        if let Some(retry) = meta.get("retry") {
            let path = child(path, "retry");
            if state.is_final {
                self.findings.error(&path, "a final state has no work");
            }
            state.retry = self.retry(retry, &path);
        }
    }

    fn retry(&mut self, value: &'s Value, path: &str) -> Option<Retry> {
        let object = self.findings.object(value, path)?;
        keys::vet(Place::Retry, object, path, &mut self.findings);
        let mut retry = Retry::default();
        if let Some(most) = self.whole(object, "max_attempts", path, MOST_ATTEMPTS) {
            retry.max_attempts = i32::try_from(most).ok();
        }
        if let Some(base) = self.whole(object, "base_ms", path, LONGEST_MS) {
            retry.base_ms = base;
            retry.max_ms = retry.max_ms.max(base);
        }
        if let Some(most) = self.whole(object, "max_ms", path, LONGEST_MS) {
            if most < retry.base_ms {
                let path = child(path, "max_ms");
                self.findings.error(path, "must not be less than `base_ms`");
            }
            retry.max_ms = most;
        }
        if let Some(name) = object.get("exhausted") {
            let path = child(path, "exhausted");
            if retry.max_attempts.is_none() && !object.contains_key("max_attempts") {
                let message = "without `max_attempts` no work is ever exhausted";
                self.findings.error(&path, message);
            }
            if let Some(name) = self.findings.text(name, &path) {
                retry.exhausted = self.resolve(name, &path);
            }
        }
        Some(retry)
    }

    fn whole(
        &mut self,
        object: &'s Map<String, Value>,
        key: &str,
        path: &str,
        most: u64,
    ) -> Option<u64> {
        let value = object.get(key)?;
        let number = value.as_u64().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            let message = format!("must be a whole number from 1 to {most}");
            self.findings.error(child(path, key), message);
        }
        number
    }
}

//! Reads `meta.consume` and `meta.restock` of an edge.

use serde_json::{Map, Value};

use super::branches::fault_of_path;
use super::findings::child;
use super::keys::{self, Place};
use super::model::{Direction, Draw, Term};
use super::names::MAX_NAME;
use super::parse::Reader;

/// Most draws of one kind on one edge.
const MAX_DRAWS: usize = 64;

impl<'s> Reader<'s> {
    /// Everything an edge draws: what it gives back first, so that it may be taken again.
    pub(super) fn draws(&mut self, meta: &'s Map<String, Value>, path: &str) -> Vec<Draw> {
        let mut draws = Vec::new();
        for (key, direction) in [
            ("restock", Direction::Restock),
            ("consume", Direction::Consume),
        ] {
            let Some(value) = meta.get(key) else { continue };
            let path = child(path, key);
            let Some(list) = value.as_array() else {
                draws.extend(self.draw(direction, value, &path));
                continue;
            };
            if list.is_empty() || list.len() > MAX_DRAWS {
                let message = format!("must hold 1 to {MAX_DRAWS} elements");
                self.findings.error(path, message);
                continue;
            }
            for (i, value) in list.iter().enumerate() {
                draws.extend(self.draw(direction, value, &child(&path, &i.to_string())));
            }
        }
        draws
    }

    fn draw(&mut self, direction: Direction, value: &'s Value, path: &str) -> Option<Draw> {
        let object = self.findings.object(value, path)?;
        keys::vet(Place::Draw, object, path, &mut self.findings);
        let resource = self.resource(object, path);
        let quantity = self.quantity(object, path);
        Some(Draw {
            direction,
            resource: resource?,
            quantity: quantity?,
            path: path.to_owned(),
        })
    }

    fn resource(&mut self, object: &Map<String, Value>, path: &str) -> Option<Term<String>> {
        let path = child(path, "resource");
        let Some(value) = object.get("resource") else {
            self.findings
                .error(path, "missing `resource`: the key of one, or a path to it");
            return None;
        };
        let text = self.findings.text(value, &path)?;
        if text.trim_start().starts_with('$') {
            return self.path(text, &path);
        }
        match fault_of_resource(text) {
            None => Some(Term::Constant(text.to_owned())),
            Some(fault) => {
                self.findings.error(path, fault);
                None
            }
        }
    }

    fn quantity(&mut self, object: &Map<String, Value>, path: &str) -> Option<Term<i64>> {
        let path = child(path, "quantity");
        let message = match object.get("quantity") {
            None => "missing `quantity`: an integer, or a path to one".to_owned(),
            Some(Value::String(text)) => return self.path(text, &path),
            Some(Value::Number(number)) => match number.as_i64() {
                Some(quantity) if quantity > 0 => return Some(Term::Constant(quantity)),
                _ => format!("must be an integer from 1 to {}, not {number}", i64::MAX),
            },
            Some(other) => {
                self.findings
                    .wrong_type(&path, "an integer or a path", other);
                return None;
            }
        };
        self.findings.error(path, message);
        None
    }

    fn path<T>(&mut self, text: &str, path: &str) -> Option<Term<T>> {
        match fault_of_path("a path", text) {
            None => Some(Term::Path(text.to_owned())),
            Some(fault) => {
                self.findings.error(path, fault);
                None
            }
        }
    }
}

/// What is wrong with the key of a resource.
pub fn fault_of_resource(key: &str) -> Option<String> {
    if key.is_empty() {
        Some("the key of a resource must not be empty".into())
    } else if key.len() > MAX_NAME {
        Some(format!(
            "the key of a resource must not be longer than {MAX_NAME} bytes"
        ))
    } else if key.chars().any(char::is_control) {
        Some("the key of a resource must not contain control characters".into())
    } else {
        None
    }
}

//! Published definitions, compiled once per backend.
//!
//! The cache is keyed by the id of a published version. What an id stands for never changes, not
//! even by a rollback (ids are not given out twice), so an entry can never be stale.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use uuid::Uuid;
use workflow_core::definition::{self, Definition};
use workflow_core::sqlstate::SqlState;

use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::{Jsonb, Value};

use super::statements;

/// A published version, ready to run.
pub struct Published {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its version, from 1.
    pub version: i32,
    /// The machine.
    pub machine: Definition,
}

/// More definitions than any server runs at a time; beyond it the cache starts again.
const CACHE_LIMIT: usize = 1000;

thread_local! {
    static CACHE: RefCell<HashMap<Uuid, Rc<Published>>> = RefCell::default();
}

/// The version an instance is pinned to.
pub fn pinned(spi: &Spi, tenant: &str, id: Uuid) -> Result<Rc<Published>, Report> {
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(&id).cloned()) {
        return Ok(known);
    }
    let arguments = [Value::Text(tenant), Value::Uuid(id)];
    match spi.one(&statements::READ_DEFINITION, &arguments) {
        Some(row) => compile(&row),
        None => Err(Report::new(
            SqlState::DATA_CORRUPTED,
            format!("the definition {id} of an instance is missing"),
        )),
    }
}

/// The active version of this name, or the one asked for.
pub fn find(
    spi: &Spi,
    tenant: &str,
    name: &str,
    version: Option<i32>,
) -> Result<Option<Rc<Published>>, Report> {
    find_row(spi, tenant, name, version)
        .map(|row| compile(&row))
        .transpose()
}

/// The spec of the active version of this name, or of the one asked for.
pub fn find_spec(
    spi: &Spi,
    tenant: &str,
    name: &str,
    version: Option<i32>,
) -> Result<Option<Jsonb>, Report> {
    find_row(spi, tenant, name, version)
        .map(|row| row.jsonb(3))
        .transpose()
}

fn find_row(spi: &Spi, tenant: &str, name: &str, version: Option<i32>) -> Option<Row> {
    let version = Value::optional(version, Value::Int);
    spi.one(
        &statements::FIND_DEFINITION,
        &[Value::Text(tenant), Value::Text(name), version],
    )
}

fn compile(row: &Row) -> Result<Rc<Published>, Report> {
    let id = row.uuid(0)?;
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(&id).cloned()) {
        return Ok(known);
    }
    let spec: serde_json::Value = parse_json(&row.jsonb(3)?)?;
    let (name, version) = (row.text(1)?, row.int(2)?);
    let (machine, findings) = definition::parse(&spec);
    let machine = machine.ok_or_else(|| {
        let first = findings
            .first()
            .map(|f| format!("{}: {}", f.path, f.message));
        Report::new(
            SqlState::DATA_CORRUPTED,
            format!(
                "the published definition {name} version {version} is not sound: {}",
                first.unwrap_or_default()
            ),
        )
    })?;
    let published = Rc::new(Published {
        id,
        name,
        version,
        machine,
    });
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= CACHE_LIMIT {
            cache.clear();
        }
        cache.insert(id, Rc::clone(&published));
    });
    Ok(published)
}

/// A jsonb as Rust sees it. Nesting deeper than 128 levels is beyond any definition.
pub fn parse_json(value: &Jsonb) -> Result<serde_json::Value, Report> {
    serde_json::from_str(&value.to_json()?)
        .map_err(|error| Report::invalid(format!("the document cannot be read: {error}")))
}

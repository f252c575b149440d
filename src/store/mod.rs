//! The tables, as rows in and rows out. Which statement runs, and in which order, is decided in
//! `engine`; what it says, in `statements`.

pub mod definitions;
pub mod statements;

use uuid::Uuid;
use workflow_core::decide::Instance;

use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::Value;

/// An instance as it was read, with what only the engine needs.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRow {
    /// What decisions rest on.
    pub instance: Instance,
    /// The definition version it is pinned to.
    pub definition_id: Uuid,
    /// Count of changes that do not bump the revision.
    pub work: i64,
    /// Revision at which the present state was entered.
    pub entered_revision: i64,
}

impl InstanceRow {
    /// Whether nothing that a decision rests on differs.
    pub fn unchanged(&self, other: &InstanceRow) -> bool {
        self.instance.revision == other.instance.revision
            && self.work == other.work
            && self.instance.state == other.instance.state
            && self.instance.material_version == other.instance.material_version
    }
}

/// Reads an instance without locking it.
pub fn read_instance(spi: &Spi, tenant: &str, id: Uuid) -> Result<Option<InstanceRow>, Report> {
    let arguments = [Value::Text(tenant), Value::Uuid(id)];
    let Some(row) = spi.one(&statements::READ_INSTANCE, &arguments) else {
        return Ok(None);
    };
    Ok(Some(InstanceRow {
        instance: Instance {
            id,
            application_id: row.uuid(0)?,
            state: row.text(2)?,
            revision: row.bigint(3)?,
            round: row.int(5)?,
            material_version: row.int(6)?,
            closed: row.bool(7)?,
            started_by: row.text(9)?,
        },
        definition_id: row.uuid(1)?,
        work: row.bigint(4)?,
        entered_revision: row.bigint(8)?,
    }))
}

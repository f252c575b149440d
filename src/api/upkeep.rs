//! `wf_version`, `wf_verify`, and the guard of append-only tables.

use workflow_core::sqlstate::SqlState;

use crate::engine::command::{self, read_claim};
use crate::pg::append_only;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::installation::LIBRARY_VERSION;
use crate::pg::report::Report;
use crate::pg::value::Value;
use crate::store::statements;

/// `wf_version`
pub fn version(_: &Call) -> Result<Answer, Report> {
    Ok(Answer::Scalar(Cell::Text(LIBRARY_VERSION.to_owned())))
}

/// Trigger of tables whose rows are only ever added.
pub fn refuse_change(call: &Call) -> Result<Answer, Report> {
    if append_only::is_permitted(call) {
        // A statement-level trigger gives a null pointer.
        return Ok(Answer::Scalar(Cell::Bool(false)));
    }
    Err(
        Report::new(SqlState::INSUFFICIENT_PRIVILEGE, "the table is append-only")
            .hint("Rows are added by the wf_* functions and stay as they are."),
    )
}

/// `wf_verify`
pub fn verify(call: &Call) -> Result<Answer, Report> {
    let instance = call.uuid("instance").optional();
    let claim = read_claim(call)?;
    let rows = command::read(&claim, |spi, _| {
        let tenant = Value::optional(claim.tenant.as_deref(), Value::Text);
        let violations = spi.run(
            &statements::VERIFY,
            &[tenant, Value::optional(instance, Value::Uuid)],
        );
        let rows = violations.rows().map(|row| {
            Ok(vec![
                Cell::Int(row.int(0)?),
                Cell::Text(row.text(1)?),
                Cell::optional(row.opt_text(2)?, Cell::Text),
                Cell::optional(row.opt_uuid(3)?, Cell::Uuid),
                Cell::optional(row.opt_text(4)?, Cell::Text),
            ])
        });
        Ok(rows.collect::<Result<Vec<_>, Report>>()?)
    })?;
    Ok(Answer::Rows(rows))
}

//! `wf_diagram`: definitions and instances as pictures.

use uuid::Uuid;
use workflow_core::diagram::{
    self, By, Format, MAX_DRAWN_ARROWS, MAX_DRAWN_STATES, Run, Steps, Undrawn,
};
use workflow_core::refusal::{Reason, Refusal};

use crate::api::transition::check_version;
use crate::engine::command::{self, checked, read_claim};
use crate::engine::failure::Failure;
use crate::engine::identity::Caller;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::Value;
use crate::store::{self, definitions, statements};

/// `wf_diagram`
pub fn diagram(call: &Call) -> Result<Answer, Report> {
    let name = call.text("definition")?.optional();
    let name = name.map(|name| checked("definition", name)).transpose()?;
    let version = call.int("version").optional();
    let version = version
        .map(|version| check_version("version", version))
        .transpose()?;
    let format = call.text("format")?.required()?;
    let format = Format::parse(&format)
        .ok_or_else(|| Report::invalid("format must be mermaid, dot or svg"))?;
    let instance = call.uuid("instance").optional();
    if name.is_none() && instance.is_none() {
        return Err(Report::null("definition (or instance)"));
    }
    let claim = read_claim(call)?;
    let text = command::read(&claim, |spi, caller| {
        let run = instance.map(|id| run(spi, caller, id)).transpose()?;
        let (run, pinned) = run.unzip();
        let published = match (&name, version, pinned) {
            (None, None, Some(pinned)) => pinned,
            (named, version, pinned) => {
                let of_instance = pinned.as_ref().map(|pinned| &pinned.name);
                let name = named
                    .as_ref()
                    .or(of_instance)
                    .expect("one of them is there");
                definitions::find(spi, &caller.tenant, name, version)?
                    .ok_or_else(|| Refusal::not_found("definition"))?
            }
        };
        diagram::render(&published.machine, run.as_ref(), format)
            .map_err(|undrawn| too_large(&undrawn))
    })?;
    Ok(Answer::Scalar(Cell::Text(text)))
}

/// Where an instance stands and how it came there, and its definition.
fn run(
    spi: &Spi,
    caller: &Caller,
    id: Uuid,
) -> Result<(Run, std::rc::Rc<definitions::Published>), Failure> {
    let row = store::read_instance(spi, &caller.tenant, id)?
        .ok_or_else(|| Refusal::not_found("instance"))?;
    let published = definitions::pinned(spi, &caller.tenant, row.definition_id)?;
    let key = [Value::Text(&caller.tenant), Value::Uuid(id)];
    let found = spi.run(&statements::STEPS_TAKEN, &key);
    let steps = found
        .rows()
        .map(|row| steps(&row))
        .collect::<Result<Vec<_>, Report>>()?;
    let state = row.instance.state.clone();
    Ok((Run { state, steps }, published))
}

fn steps(row: &Row) -> Result<Steps, Report> {
    let kind = row.text(0)?;
    let by = match (kind.as_str(), row.opt_text(3)?) {
        ("edge", Some(event)) => By::Event(event),
        ("edge", None) => By::Always,
        ("supersede", _) => By::Supersede,
        ("exhaust", _) => By::Exhaust,
        (_, _) => By::Other(kind),
    };
    let revisions = row.text(4)?;
    Ok(Steps {
        by,
        from: row.text(1)?,
        to: row.text(2)?,
        revisions: revisions
            .split(',')
            .filter_map(|revision| revision.parse().ok())
            .collect(),
        count: row.bigint(5)?,
    })
}

fn too_large(undrawn: &Undrawn) -> Failure {
    let message = match undrawn {
        Undrawn::TooLarge { states, arrows } => format!(
            "{states} states and {arrows} arrows are more than are laid out as svg \
             ({MAX_DRAWN_STATES} and {MAX_DRAWN_ARROWS}); take mermaid or dot"
        ),
        Undrawn::NoLayout => {
            "this definition cannot be laid out as svg; take mermaid or dot".into()
        }
    };
    Refusal::new(Reason::LimitExceeded, message).into()
}

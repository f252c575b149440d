//! `wf_limit_set`: what a tenant may have at most.

use workflow_core::outcome::Outcome;

use crate::api::answer;
use crate::engine::command::{self, Common};
use crate::engine::failure::trigger_interfered;
use crate::engine::limits::Limit;
use crate::engine::request::Fingerprint;
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::Value;
use crate::store::statements;

/// The value that takes a limit away.
const NONE: i64 = -1;

/// `wf_limit_set`
pub fn set(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_limit_set");
    let name = call.text("limit_name")?.required()?;
    let Some(limit) = Limit::named(&name) else {
        return Err(Report::invalid(format!("there is no limit {name:?}"))
            .hint("open_instances, payload_bytes, seats, timers, commands"));
    };
    let value = call.bigint("value").required()?;
    if value < NONE {
        return Err(Report::invalid(
            "value must be 0 or more, or -1 for no limit",
        ));
    }
    let common = Common::read("wf_limit_set", call, None, None)?;
    let outcome = command::run(common, Fingerprint::new("wf_limit_set"), |command| {
        let key = [command.tenant(), Value::Text(limit.name())];
        if value == NONE {
            command.spi.run(&statements::REMOVE_LIMIT, &key);
        } else {
            let [tenant, name] = key;
            let arguments = [tenant, name, Value::Bigint(value)];
            if command.spi.run(&statements::PUT_LIMIT, &arguments).count() != 1 {
                return Err(trigger_interfered("a trigger kept a limit out"));
            }
        }
        Ok(Outcome {
            applied: true,
            attempts: 1,
            ..Outcome::default()
        })
    })?;
    Ok(answer::outcome(outcome))
}

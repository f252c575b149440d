//! `wf_as`, `wf_authenticate`, `wf_whoami`, `wf_member_set`, `wf_member_remove`: who is calling.

use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Reason, Refusal};

use crate::api::answer;
use crate::engine::command::{self, Common, checked, read_claim};
use crate::engine::failure::trigger_interfered;
use crate::engine::identity::{Caller, Claim};
use crate::engine::request::Fingerprint;
use crate::pg::backend;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;
use crate::pg::value::Value;
use crate::pg::wait::{KeyLock, LockKind};
use crate::settings::{self, IdentityMode};
use crate::store::statements;

/// `wf_as`
pub fn as_person(call: &Call) -> Result<Answer, Report> {
    let tenant = checked("tenant", call.text("tenant")?.required()?)?;
    let actor = checked("actor", call.text("actor")?.required()?)?;
    let roles = call.texts("roles")?.required()?;
    for role in &roles {
        checked("a role", role.clone())?;
        if role.contains(',') || role.trim() != role {
            return Err(Report::invalid(
                "a role must not contain a comma, nor begin or end with a space",
            ));
        }
    }
    // An empty list is a statement too, and must not look like an unset setting.
    let list = if roles.is_empty() {
        ",".to_owned()
    } else {
        roles.join(",")
    };
    let claim = Claim {
        tenant: Some(tenant.clone()),
        actor: Some(actor.clone()),
        roles: Some(roles),
        token: None,
    };
    let cells = command::read(&claim, |spi, caller| {
        if settings::identity() != IdentityMode::Setting {
            let message = "the identity mode does not let a caller name a person";
            return Err(Refusal::new(Reason::NotAuthorized, message).into());
        }
        let setting = [
            Value::Text(&tenant),
            Value::Text(&actor),
            Value::Text(&list),
        ];
        spi.run(&statements::SET_IDENTITY, &setting);
        Ok(describe(caller, caller.roles(spi)?))
    })?;
    Ok(Answer::Row(cells))
}

/// `wf_authenticate`
pub fn authenticate(call: &Call) -> Result<Answer, Report> {
    let token = call.text("identity_token")?.required()?;
    let cells = command::authenticate(token, |spi, caller| {
        Ok(describe(caller, caller.roles(spi)?))
    })?;
    Ok(Answer::Row(cells))
}

/// `wf_whoami`
pub fn whoami(call: &Call) -> Result<Answer, Report> {
    let claim = read_claim(call)?;
    let cells = command::read(&claim, |spi, caller| {
        Ok(describe(caller, caller.roles(spi)?))
    })?;
    Ok(Answer::Row(cells))
}

/// `workflow.current_tenant`
pub fn current_tenant(_: &Call) -> Result<Answer, Report> {
    let tenant = command::read_of_known(|caller| caller.tenant.clone())?;
    Ok(Answer::Scalar(Cell::optional(tenant, Cell::Text)))
}

/// `workflow.current_actor`
pub fn current_actor(_: &Call) -> Result<Answer, Report> {
    let actor = command::read_of_known(|caller| caller.actor.clone())?;
    Ok(Answer::Scalar(Cell::optional(actor, Cell::Text)))
}

/// `workflow.outer_role`
pub fn outer_role(_: &Call) -> Result<Answer, Report> {
    let outer = backend::outer_role();
    if outer == backend::session_role() {
        return Ok(Answer::Scalar(Cell::Null));
    }
    Ok(Answer::Scalar(Cell::Text(backend::role_name(outer)?)))
}

fn describe(caller: &Caller, roles: Vec<String>) -> Vec<Cell> {
    vec![
        Cell::Text(caller.tenant.clone()),
        Cell::Text(caller.actor.clone()),
        Cell::Texts(roles),
        Cell::Text(settings::identity().name().into()),
        Cell::Text(caller.proof.into()),
    ]
}

/// `wf_member_set`
pub fn member_set(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_member_set");
    let member = checked("member", call.text("member")?.required()?)?;
    let roles = call.texts("member_roles")?.required()?;
    for role in &roles {
        checked("a role", role.clone())?;
    }
    let valid_until = call.time("valid_until").optional();
    let common = Common::read("wf_member_set", call, None, None)?;
    let outcome = command::run(common, Fingerprint::new("wf_member_set"), |command| {
        KeyLock::new(LockKind::Member, &command.caller.tenant, &member).take(&command.budget)?;
        let written = command.spi.run(
            &statements::PUT_MEMBER,
            &[
                command.tenant(),
                Value::Text(&member),
                Value::Texts(&roles),
                Value::optional(valid_until, Value::Time),
            ],
        );
        if written.count() != 1 {
            return Err(trigger_interfered("a trigger kept a member out"));
        }
        Ok(Outcome {
            applied: true,
            attempts: 1,
            ..Outcome::default()
        })
    })?;
    Ok(answer::outcome(outcome))
}

/// `wf_member_remove`
pub fn member_remove(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_member_remove");
    let member = checked("member", call.text("member")?.required()?)?;
    let common = Common::read("wf_member_remove", call, None, None)?;
    let outcome = command::run(common, Fingerprint::new("wf_member_remove"), |command| {
        let key = [command.tenant(), Value::Text(&member)];
        KeyLock::new(LockKind::Member, &command.caller.tenant, &member).take(&command.budget)?;
        if command.spi.run(&statements::IS_MEMBER, &key).count() == 0 {
            return Err(Refusal::not_found("member").into());
        }
        if command.spi.run(&statements::REMOVE_MEMBER, &key).count() != 1 {
            return Err(trigger_interfered("a trigger kept a member in"));
        }
        Ok(Outcome {
            applied: true,
            attempts: 1,
            ..Outcome::default()
        })
    })?;
    Ok(answer::outcome(outcome))
}

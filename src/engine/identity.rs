//! Who is calling.
//!
//! The mode (`workflow.identity`) is the operator's choice, never the caller's. In mode `setting` a
//! login that holds capability backend says on whose behalf it calls; what anybody else says is
//! only compared with what the login itself proves.

use std::cell::RefCell;

use pgrx::pg_sys::Oid;
use workflow_core::decide::TIMER_ACTOR;
use workflow_core::refusal::{Reason, Refusal};
use workflow_core::token::{Claims, Proven};

use crate::engine::failure::Failure;
use crate::engine::token;
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::Value;
use crate::pg::{backend, transaction};
use crate::settings::{self, IdentityMode};
use crate::store::{self, statements};

/// Tenant where nobody says otherwise.
pub const DEFAULT_TENANT: &str = "default";
/// Owner of definitions that serve all tenants.
pub const SHARED_TENANT: &str = "*";

/// What the trailing arguments of a call say.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// `tenant`
    pub tenant: Option<String>,
    /// `actor`
    pub actor: Option<String>,
    /// `roles`
    pub roles: Option<Vec<String>>,
    /// `identity_token`
    pub token: Option<String>,
}

/// The person on whose behalf a command runs.
#[derive(Debug)]
pub struct Caller {
    /// Boundary of everything the command can see.
    pub tenant: String,
    /// Name of the person.
    pub actor: String,
    /// How strongly it was proved, in the words of `workflow.proof`.
    pub proof: &'static str,
    /// The login.
    pub session_role: Oid,
    roles: RefCell<Option<Vec<String>>>,
    token: Option<Proven>,
}

impl Caller {
    /// What a token proved, in mode token.
    pub fn token(&self) -> Option<&Proven> {
        self.token.as_ref()
    }

    /// Finds out who is calling. WF007 for a claim that is not proved.
    pub fn identify(spi: &Spi, claim: &Claim) -> Result<Caller, Failure> {
        if claim.token.is_some() && settings::identity() != IdentityMode::Token {
            return Err(unproved(
                "identity tokens are not accepted in this identity mode",
            ));
        }
        for (name, value) in [("tenant", &claim.tenant), ("actor", &claim.actor)] {
            if let Some(value) = value {
                check_name(name, value)?;
            }
        }
        for role in claim.roles.iter().flatten() {
            check_name("a role", role)?;
        }
        let session_role = backend::session_role();
        let caller = match settings::identity() {
            IdentityMode::Setting if is_backend(spi, session_role)? => {
                Caller::trusted(spi, session_role, claim)
            }
            IdentityMode::Setting => Caller::proved(spi, session_role, claim, false),
            IdentityMode::Session => Caller::proved(spi, session_role, claim, true),
            IdentityMode::Token => Caller::by_token(spi, session_role, claim),
            IdentityMode::Claims => Caller::by_claims(spi, session_role, claim),
        }?;
        if caller.actor == TIMER_ACTOR {
            return Err(Report::invalid(format!("nobody may act as {TIMER_ACTOR}")).into());
        }
        Ok(caller)
    }

    /// Time itself, in this caller's tenant.
    pub fn as_timer(&self) -> Caller {
        Caller::timer(self.tenant.clone(), self.session_role)
    }

    /// Time itself, in a tenant.
    pub fn timer(tenant: String, session_role: Oid) -> Caller {
        Caller {
            tenant,
            actor: TIMER_ACTOR.to_owned(),
            proof: "engine",
            session_role,
            roles: RefCell::new(Some(Vec::new())),
            token: None,
        }
    }

    /// A signed token: of this call, else of this transaction.
    fn by_token(spi: &Spi, session_role: Oid, claim: &Claim) -> Result<Caller, Failure> {
        let proven = match &claim.token {
            Some(token) => token::verify(token)?,
            None => transaction::proven()
                .filter(|proven| token::is_current(proven))
                .map(|proven| (*proven).clone())
                .ok_or_else(token::refused)?,
        };
        let identity = Claims {
            tenant: proven.tenant.clone(),
            sub: proven.actor.clone(),
            roles: proven.roles.clone(),
        };
        let mut caller = Caller::attested(spi, session_role, claim, identity, "token")?;
        caller.token = Some(proven);
        Ok(caller)
    }

    /// What a gateway says that it has verified. Anybody who can send SQL can set it, so it counts
    /// only from a login that may say on whose behalf it calls.
    fn by_claims(spi: &Spi, session_role: Oid, claim: &Claim) -> Result<Caller, Failure> {
        if !is_backend(spi, session_role)? {
            return Err(unproved("this login is no gateway"));
        }
        let claims = backend::setting_of_others(c"request.jwt.claims")?
            .and_then(|claims| serde_json::from_str::<Claims>(&claims).ok())
            .ok_or_else(|| unproved("there are no claims of a person"))?;
        for name in [&claims.tenant, &claims.sub]
            .into_iter()
            .chain(claims.roles.iter().flatten())
        {
            check_name("a claim", name)?;
        }
        Caller::attested(spi, session_role, claim, claims, "claims")
    }

    /// Somebody else vouches for the person; a call that says anything else is refused.
    fn attested(
        spi: &Spi,
        session_role: Oid,
        claim: &Claim,
        identity: Claims,
        proof: &'static str,
    ) -> Result<Caller, Failure> {
        let differs = |claimed: &Option<String>, proven: &String| {
            claimed.as_ref().is_some_and(|claimed| claimed != proven)
        };
        if differs(&claim.tenant, &identity.tenant) || differs(&claim.actor, &identity.sub) {
            return Err(unproved("another tenant or person was proved"));
        }
        let caller = Caller {
            tenant: identity.tenant,
            actor: identity.sub,
            proof,
            session_role,
            roles: RefCell::new(identity.roles),
            token: None,
        };
        if let Some(claimed) = &claim.roles {
            let held = caller.roles(spi)?;
            if claimed.iter().any(|role| !held.contains(role)) {
                return Err(unproved("other roles were proved"));
            }
            *caller.roles.borrow_mut() = Some(claimed.clone());
        }
        Ok(caller)
    }

    /// What a backend says is taken as it is. Roles that were set belong to the person they were set
    /// for, and to nobody else whom a call may name.
    fn trusted(spi: &Spi, session_role: Oid, claim: &Claim) -> Result<Caller, Failure> {
        let (set_tenant, set_actor) = (settings::tenant()?, settings::actor()?);
        for (name, value) in [
            ("workflow.tenant", &set_tenant),
            ("workflow.actor", &set_actor),
        ] {
            if let Some(value) = value {
                check_name(name, value)?;
            }
        }
        let of_settings = |claimed: &Option<String>, set: &Option<String>| {
            claimed.is_none() || set.is_none() || claimed == set
        };
        let set_roles =
            if of_settings(&claim.tenant, &set_tenant) && of_settings(&claim.actor, &set_actor) {
                settings::roles()?
            } else {
                None
            };
        let login = backend::role_name(session_role)?;
        let named = claim.actor.clone().or(set_actor);
        let proof = if named.is_some() {
            "setting"
        } else {
            "session"
        };
        let tenant = match claim.tenant.clone().or(set_tenant) {
            Some(tenant) => tenant,
            None => home(&store::memberships(spi, &login)?)?
                .unwrap_or_else(|| DEFAULT_TENANT.to_owned()),
        };
        Ok(Caller {
            tenant,
            actor: named.unwrap_or(login),
            proof,
            session_role,
            roles: RefCell::new(claim.roles.clone().or(set_roles)),
            token: None,
        })
    }

    /// The login is the person; a claim that says anything else is refused.
    fn proved(
        spi: &Spi,
        session_role: Oid,
        claim: &Claim,
        member_only: bool,
    ) -> Result<Caller, Failure> {
        let login = backend::role_name(session_role)?;
        if claim.actor.as_ref().is_some_and(|actor| *actor != login) {
            return Err(unproved("this login may not act for another person"));
        }
        let memberships = store::memberships(spi, &login)?;
        if memberships.is_empty() && member_only {
            return Err(unproved("this login is no member of a tenant"));
        }
        let (tenant, roles) = match &claim.tenant {
            Some(tenant) => match memberships
                .iter()
                .find(|(member_of, _)| member_of == tenant)
            {
                Some((_, roles)) => (tenant.clone(), roles.clone()),
                None if memberships.is_empty() && tenant == DEFAULT_TENANT => {
                    (tenant.clone(), Vec::new())
                }
                None => return Err(unproved("this login does not belong to that tenant")),
            },
            None => match home(&memberships)? {
                Some(tenant) => (tenant, memberships[0].1.clone()),
                None => (DEFAULT_TENANT.to_owned(), Vec::new()),
            },
        };
        if claim
            .roles
            .iter()
            .flatten()
            .any(|role| !roles.contains(role))
        {
            return Err(unproved("this login does not hold these roles"));
        }
        let roles = claim.roles.clone().unwrap_or(roles);
        Ok(Caller {
            tenant,
            actor: login,
            proof: "session",
            session_role,
            roles: RefCell::new(Some(roles)),
            token: None,
        })
    }

    /// The person's roles, looked up on first use where the call did not give them.
    pub fn roles(&self, spi: &Spi) -> Result<Vec<String>, Report> {
        if let Some(roles) = &*self.roles.borrow() {
            return Ok(roles.clone());
        }
        let member = [Value::Text(&self.tenant), Value::Text(&self.actor)];
        let roles = match spi.one(&statements::MEMBER_ROLES, &member) {
            Some(row) => row.texts(0)?,
            None => Vec::new(),
        };
        *self.roles.borrow_mut() = Some(roles.clone());
        Ok(roles)
    }
}

/// Names of tenants, people, roles, keys: not empty, no control characters, at most 200 bytes.
pub fn check_name(what: &str, value: &str) -> Result<(), Report> {
    if value.is_empty() {
        return Err(Report::invalid(format!("{what} must not be empty")));
    }
    if value.len() > 200 {
        return Err(Report::invalid(format!(
            "{what} must not be longer than 200 bytes"
        )));
    }
    if value.chars().any(char::is_control) {
        return Err(Report::invalid(format!(
            "{what} must not contain control characters"
        )));
    }
    Ok(())
}

fn unproved(message: &str) -> Failure {
    Refusal::new(Reason::NotAuthorized, message).into()
}

/// The tenant of a login that names none.
fn home(memberships: &[(String, Vec<String>)]) -> Result<Option<String>, Failure> {
    match memberships {
        [] => Ok(None),
        [(tenant, _)] => Ok(Some(tenant.clone())),
        _ => Err(unproved("this login belongs to several tenants: name one")),
    }
}

/// Whether a login may say on whose behalf it calls.
fn is_backend(spi: &Spi, session_role: Oid) -> Result<bool, Report> {
    if backend::is_superuser(session_role) {
        return Ok(true);
    }
    if let Some(known) = backend::known_backend(session_role) {
        return Ok(known);
    }
    let held = match spi.one(&statements::IS_BACKEND, &[Value::Oid(session_role)]) {
        Some(row) => row.bool(0)?,
        None => false,
    };
    backend::remember_backend(session_role, held);
    Ok(held)
}

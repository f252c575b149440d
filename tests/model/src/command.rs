//! The commands of a run, and how each is said in SQL.

use serde_json::Value;
use uuid::Uuid;

/// On whose behalf a command runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    pub tenant: String,
    pub actor: &'static str,
    pub roles: &'static [&'static str],
    /// Whether the call itself says so; otherwise `wf_as` did, earlier in the transaction.
    pub as_arguments: bool,
}

/// What becomes of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRefusal {
    Raise,
    Return,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub instance: Uuid,
    pub from: String,
    pub to: String,
    pub revision: i64,
    pub material: i32,
    pub event: Option<String>,
    pub comment: Option<String>,
    pub payload: Option<Value>,
    pub wait_ms: Option<i32>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Send {
    pub instance: Uuid,
    pub event: String,
    pub payload: Option<Value>,
    pub revision: Option<i64>,
    pub material: Option<i32>,
    pub lock_mode: Option<&'static str>,
    pub wait_ms: Option<i32>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub definition: &'static str,
    pub business_key: String,
    pub material: Option<Value>,
    pub version: Option<i32>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Start(Start),
    Transition(Transition),
    Send(Send),
    Supersede {
        application: Uuid,
        expected: i32,
        material: Value,
    },
    Lock {
        instance: Uuid,
        wait_ms: Option<i32>,
    },
    Check(Transition),
    Get {
        instance: Uuid,
    },
    Find {
        definition: &'static str,
        business_key: String,
    },
}

#[derive(Clone, Debug)]
pub struct Command {
    pub action: Action,
    pub identity: Identity,
    pub on_refusal: OnRefusal,
    pub request: Option<String>,
    /// Said as `wf_try_transition`, which is another spelling and no other command.
    pub as_try: bool,
}

/// The kinds of the summary.
pub const KINDS: [&str; 9] = [
    "wf_start",
    "wf_transition",
    "wf_try_transition",
    "wf_send",
    "wf_supersede_material",
    "wf_lock",
    "wf_check",
    "wf_get",
    "wf_get by key",
];

impl Command {
    /// Index in [`KINDS`].
    pub fn kind(&self) -> usize {
        match &self.action {
            Action::Start(_) => 0,
            Action::Transition(_) if self.as_try => 2,
            Action::Transition(_) => 1,
            Action::Send(_) => 3,
            Action::Supersede { .. } => 4,
            Action::Lock { .. } => 5,
            Action::Check(_) => 6,
            Action::Get { .. } => 7,
            Action::Find { .. } => 8,
        }
    }

    /// The name under which tables keep it.
    pub fn stored_name(&self) -> &'static str {
        if self.as_try {
            "wf_transition"
        } else {
            KINDS[self.kind()]
        }
    }

    /// Whether a request key would take the one for the other.
    pub fn is_same(&self, other: &Command) -> bool {
        self.action == other.action
            && self.identity == other.identity
            && self.on_refusal == other.on_refusal
    }

    pub fn is_reader(&self) -> bool {
        matches!(
            self.action,
            Action::Check(_) | Action::Get { .. } | Action::Find { .. }
        )
    }

    /// The instance it names.
    pub fn instance(&self) -> Option<Uuid> {
        match &self.action {
            Action::Transition(transition) | Action::Check(transition) => Some(transition.instance),
            Action::Send(send) => Some(send.instance),
            Action::Lock { instance, .. } | Action::Get { instance } => Some(*instance),
            Action::Start(_) | Action::Supersede { .. } | Action::Find { .. } => None,
        }
    }

    /// The wait the call itself allows.
    pub fn wait_ms(&self) -> Option<i32> {
        match &self.action {
            Action::Transition(transition) => transition.wait_ms,
            Action::Send(send) => send.wait_ms,
            Action::Lock { wait_ms, .. } => *wait_ms,
            _ => None,
        }
    }
}

/// What a transition, and its dry run, say in SQL after the function's name.
pub const TRANSITION_ARGUMENTS: &str = "instance => $1, from_state => $2, to_state => $3, \
     expected_revision => $4, material_version => $5, event => $6, comment => $7, payload => $8, \
     request_id => $9, wait_ms => $10, tenant => $11, actor => $12, roles => $13";

/// The statements, in the order of [`KINDS`].
pub fn statements() -> Vec<String> {
    let outcome = |function: &str, arguments: &str| {
        format!(
            "SELECT applied, code, reason, instance_id, application_id, state, revision, \
                    material_version, event, task_ids, replayed, attempts, retryable, \
                    retry_after_ms, detail \
               FROM {function}({arguments})"
        )
    };
    let identity = |first: usize| {
        format!(
            "on_refusal => ${first}, tenant => ${}, actor => ${}, roles => ${}",
            first + 1,
            first + 2,
            first + 3
        )
    };
    let page = |arguments: &str| {
        format!(
            "SELECT instance_id, application_id, business_key, definition, version, state, \
                    revision, material_version, material, open_tasks, actions \
               FROM wf_get({arguments})"
        )
    };
    vec![
        outcome(
            "wf_start",
            &format!(
                "definition => $1, business_key => $2, material => $3, version => $4, \
                 request_id => $5, {}",
                identity(6)
            ),
        ),
        outcome(
            "wf_transition",
            &format!("{TRANSITION_ARGUMENTS}, on_refusal => $14"),
        ),
        outcome("wf_try_transition", TRANSITION_ARGUMENTS),
        outcome(
            "wf_send",
            &format!(
                "instance => $1, event => $2, payload => $3, expected_revision => $4, \
                 material_version => $5, request_id => $6, lock_mode => $7, wait_ms => $8, {}",
                identity(9)
            ),
        ),
        format!(
            "SELECT applied, code, reason, NULL::uuid, application_id, NULL::text, NULL::bigint, \
                    material_version, NULL::text, NULL::uuid[], replayed, attempts, retryable, \
                    retry_after_ms, detail, instances, tasks \
               FROM wf_supersede_material(application => $1, expected_material_version => $2, \
                    material => $3, request_id => $4, {})",
            identity(5)
        ),
        outcome(
            "wf_lock",
            &format!("instance => $1, wait_ms => $2, {}", identity(3)),
        ),
        outcome("wf_check", TRANSITION_ARGUMENTS),
        page("instance => $1, tenant => $2, actor => $3, roles => $4"),
        page("definition => $1, business_key => $2, tenant => $3, actor => $4, roles => $5"),
    ]
}

//! The commands of a run, and how each is said in SQL.

use serde_json::Value;
use uuid::Uuid;

use crate::panel::Seat;

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
pub struct Decide {
    pub task: Uuid,
    pub event: String,
    pub revision: i64,
    pub material: i32,
    pub comment: Option<String>,
    pub payload: Option<Value>,
}

/// How a task changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Claim,
    Release,
    Assign,
    Delegate,
    Transfer,
}

impl Verb {
    /// As the task log says it.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Claim => "claim",
            Verb::Release => "release",
            Verb::Assign => "assign",
            Verb::Delegate => "delegate",
            Verb::Transfer => "transfer",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hand {
    pub task: Uuid,
    pub verb: Verb,
    pub to: Option<&'static str>,
    /// Only of a claim, and longer than any run.
    pub lease_ms: Option<i32>,
}

/// What becomes of the question.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Add(Seat),
    Remove(&'static str),
    Withdraw,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reseat {
    pub instance: Uuid,
    pub change: Change,
    pub revision: i64,
    pub comment: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Start(Start),
    Transition(Transition),
    Send(Send),
    Decide(Decide),
    Hand(Hand),
    Reseat(Reseat),
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
    /// Said as an item of `wf_transition_many`, and whether of an atomic call.
    pub many: Option<bool>,
}

/// The kinds of the summary.
pub const KINDS: [&str; 19] = [
    "wf_start",
    "wf_transition",
    "wf_try_transition",
    "wf_send",
    "wf_supersede_material",
    "wf_lock",
    "wf_check",
    "wf_get",
    "wf_get by key",
    "wf_decide",
    "wf_task_claim",
    "wf_task_release",
    "wf_task_assign",
    "wf_task_delegate",
    "wf_task_transfer",
    "wf_seat_add",
    "wf_seat_remove",
    "wf_withdraw",
    "wf_transition_many",
];

impl Command {
    /// Index in [`KINDS`].
    pub fn kind(&self) -> usize {
        match &self.action {
            Action::Start(_) => 0,
            Action::Transition(_) if self.many.is_some() => 18,
            Action::Transition(_) if self.as_try => 2,
            Action::Transition(_) => 1,
            Action::Send(_) => 3,
            Action::Supersede { .. } => 4,
            Action::Lock { .. } => 5,
            Action::Check(_) => 6,
            Action::Get { .. } => 7,
            Action::Find { .. } => 8,
            Action::Decide(_) => 9,
            Action::Hand(hand) => 10 + hand.verb as usize,
            Action::Reseat(reseat) => match reseat.change {
                Change::Add(_) => 15,
                Change::Remove(_) => 16,
                Change::Withdraw => 17,
            },
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
            && self.many.is_some() == other.many.is_some()
    }

    /// Whether it can be sent under a request key.
    pub fn takes_key(&self) -> bool {
        matches!(
            self.action,
            Action::Start(_)
                | Action::Transition(_)
                | Action::Send(_)
                | Action::Supersede { .. }
                | Action::Decide(_)
        )
    }

    pub fn is_reader(&self) -> bool {
        matches!(
            self.action,
            Action::Check(_) | Action::Get { .. } | Action::Find { .. }
        )
    }

    /// The task it names.
    pub fn task(&self) -> Option<Uuid> {
        match &self.action {
            Action::Decide(decide) => Some(decide.task),
            Action::Hand(hand) => Some(hand.task),
            _ => None,
        }
    }

    /// What it says for those who read the history, and for guards.
    pub fn remarks(&self) -> (Option<&str>, Option<&Value>) {
        match &self.action {
            Action::Transition(said) | Action::Check(said) => {
                (said.comment.as_deref(), said.payload.as_ref())
            }
            Action::Decide(said) => (said.comment.as_deref(), said.payload.as_ref()),
            Action::Send(said) => (None, said.payload.as_ref()),
            Action::Reseat(said) => (said.comment.as_deref(), None),
            _ => (None, None),
        }
    }

    /// The instance it names itself; see [`crate::round::Round::instance`] for those of tasks.
    pub fn instance(&self) -> Option<Uuid> {
        match &self.action {
            Action::Transition(transition) | Action::Check(transition) => Some(transition.instance),
            Action::Send(send) => Some(send.instance),
            Action::Lock { instance, .. } | Action::Get { instance } => Some(*instance),
            Action::Reseat(reseat) => Some(reseat.instance),
            Action::Start(_)
            | Action::Supersede { .. }
            | Action::Find { .. }
            | Action::Decide(_)
            | Action::Hand(_) => None,
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

/// How far an instance's work has come, and whether the present statement logged it: a row that is
/// visible and not committed is of the own transaction. With it every answer says where it stands
/// among those that leave the revision as it is.
pub const WORK_OF_INSTANCE: &str = "
    CREATE FUNCTION work_of_instance(instance uuid) RETURNS bigint[] VOLATILE LANGUAGE sql AS $$
        SELECT ARRAY[i.work, (EXISTS (
                   SELECT FROM workflow.task_log l
                    WHERE l.tenant_id = i.tenant_id AND l.instance_id = i.id AND l.work = i.work
                      AND l.at >= statement_timestamp()
                      AND pg_xact_status(l.xmin::text::xid8) = 'in progress'))::int]
          FROM workflow.instances i WHERE i.id = instance
    $$";

/// The statements, in the order of [`KINDS`].
pub fn statements() -> Vec<String> {
    let outcome = |function: &str, arguments: &str| {
        format!(
            "SELECT applied, code, reason, instance_id, application_id, state, revision, \
                    material_version, event, task_ids, replayed, attempts, retryable, \
                    retry_after_ms, detail, \
                    CASE WHEN applied THEN work_of_instance(instance_id) END \
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
    let hand = |verb: &str, own: &str, count: usize| {
        let function = format!("wf_task_{verb}");
        let arguments = format!("task => $1{own}, {}", identity(count + 1));
        outcome(&function, &arguments)
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
                    retry_after_ms, detail, NULL::bigint[], instances, tasks \
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
        outcome(
            "wf_decide",
            &format!(
                "task => $1, decision => $2, expected_revision => $3, material_version => $4, \
                 comment => $5, payload => $6, request_id => $7, {}",
                identity(8)
            ),
        ),
        hand("claim", ", lease_ms => $2", 2),
        hand("release", "", 1),
        hand("assign", ", assignee => $2", 2),
        hand("delegate", ", to_actor => $2", 2),
        hand("transfer", ", to_actor => $2", 2),
        outcome(
            "wf_seat_add",
            &format!(
                "instance => $1, seat => $2, expected_revision => $3, {}",
                identity(4)
            ),
        ),
        outcome(
            "wf_seat_remove",
            &format!(
                "instance => $1, seat => $2, expected_revision => $3, {}",
                identity(4)
            ),
        ),
        outcome(
            "wf_withdraw",
            &format!(
                "instance => $1, expected_revision => $2, comment => $3, {}",
                identity(4)
            ),
        ),
        format!(
            "{} ORDER BY ordinal",
            outcome(
                "wf_transition_many",
                &format!("commands => $1, atomic => $2, {}", identity(3)),
            )
        ),
    ]
}

//! Votes, changes of hands, changes of seats and withdrawals, as decided without a database.

use std::collections::HashMap;

use serde_json::{Value, json};
use uuid::Uuid;
use workflow_core::decide::votes::Verdict;
use workflow_core::decide::{
    CountedVote, Ended, Handover, Holding, Instance, Rejection, SeatTask, Standing, StepKind,
    Truth, Vote, VotePlan, World, add_seat, assign, claim, delegate, release, remove_seat,
    transfer, vote, withdraw,
};
use workflow_core::definition::{self, Decision, Definition, Seat};
use workflow_core::refusal::{Reason, Refusal};

/// Who acts, and what guards say.
struct Desk {
    actor: String,
    roles: Vec<String>,
    author: String,
    verdict: bool,
    guards: HashMap<String, Truth>,
}

impl World for Desk {
    fn actor(&self) -> &str {
        &self.actor
    }

    fn roles(&mut self) -> &[String] {
        &self.roles
    }

    fn is_author(&mut self, person: &str) -> bool {
        person == self.author
    }

    fn has_verdict(&mut self) -> bool {
        self.verdict
    }

    fn value(&mut self, path: &str, _: &Standing<'_>) -> Option<String> {
        unreachable!("no edge here draws {path}")
    }

    fn balance(&mut self, resource: &str) -> Option<i64> {
        unreachable!("no edge here draws {resource}")
    }

    fn test(&mut self, guard: &str, _: &Standing<'_>) -> Truth {
        self.guards[guard]
    }
}

/// A person with the role of every seat; `carol` is the author of the material.
fn person(name: &str) -> Desk {
    Desk {
        verdict: false,
        actor: name.to_owned(),
        roles: ["fin", "law", "tec"].map(str::to_owned).to_vec(),
        author: "carol".to_owned(),
        guards: HashMap::from([("$.big".to_owned(), Truth::False)]),
    }
}

fn without_roles(name: &str) -> Desk {
    Desk {
        roles: Vec::new(),
        ..person(name)
    }
}

/// Three seats, put together as `task` says.
fn panel(task: Value) -> Definition {
    let mut settings = json!({"seats": [
        {"name": "fin", "roles": ["fin"]},
        {"name": "law", "roles": ["law"]},
        {"name": "tec", "roles": ["tec"]}]});
    for (key, value) in task.as_object().unwrap() {
        settings[key] = value.clone();
    }
    let spec = json!({
        "id": "panel", "initial": "VOTE",
        "states": {
            "VOTE": {
                "meta": {"task": settings},
                "on": {
                    "APPROVE": [
                        {"target": "BOARD", "guard": "$.big", "meta": {"decision": "approve"}},
                        {"target": "APPROVED", "meta": {"decision": "approve"}}],
                    "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
                    "RETURN": {"target": "REWORK", "meta": {"decision": "return"}},
                    "NOTE": "VOTE",
                    "STOP": {"target": "REJECTED", "meta": {"decision": "reject", "roles": ["chief"]}}
                }
            },
            "REWORK": {"on": {"RESUBMIT": "VOTE"}},
            "BOARD": {"meta": {"on_supersede": "stay"}, "on": {"SIGN": "APPROVED"}},
            "APPROVED": {"type": "final"},
            "REJECTED": {"type": "final"}
        }
    });
    let (machine, findings) = definition::parse(&spec);
    machine.unwrap_or_else(|| panic!("unsound: {findings:?}"))
}

const FIN: Uuid = Uuid::from_u128(11);
const LAW: Uuid = Uuid::from_u128(12);
const TEC: Uuid = Uuid::from_u128(13);
const NONE: Uuid = Uuid::from_u128(99);

fn seat(id: Uuid, name: &str) -> SeatTask {
    SeatTask {
        id,
        seat: name.to_owned(),
        roles: vec![name.to_owned()],
        veto: false,
        open: true,
        holder: None,
        delegated_by: None,
        claimed: false,
        vote: None,
    }
}

/// Open in VOTE at revision 7, material 2, started by `ann`.
fn open() -> Instance {
    Instance {
        id: Uuid::from_u128(1),
        application_id: Uuid::from_u128(2),
        state: "VOTE".to_owned(),
        revision: 7,
        round: 3,
        material_version: 2,
        closed: false,
        started_by: "ann".to_owned(),
        tasks: vec![seat(FIN, "fin"), seat(LAW, "law"), seat(TEC, "tec")],
    }
}

fn in_state(state: &str, closed: bool) -> Instance {
    Instance {
        state: state.to_owned(),
        closed,
        tasks: Vec::new(),
        ..open()
    }
}

fn voted(instance: &mut Instance, id: Uuid, who: &str, event: &str, for_whom: Option<&str>) {
    let task = task_mut(instance, id);
    task.open = false;
    task.vote = Some(CountedVote {
        event: event.to_owned(),
        in_favour: event == "APPROVE",
        voter: who.to_owned(),
        on_behalf_of: for_whom.map(str::to_owned),
    });
}

fn held(instance: &mut Instance, id: Uuid, holder: &str, for_whom: Option<&str>) {
    let task = task_mut(instance, id);
    task.holder = Some(holder.to_owned());
    task.delegated_by = for_whom.map(str::to_owned);
}

fn task_mut(instance: &mut Instance, id: Uuid) -> &mut SeatTask {
    instance
        .tasks
        .iter_mut()
        .find(|task| task.id == id)
        .unwrap()
}

fn ballot(task: Uuid, event: &str) -> Vote<'_> {
    Vote {
        task,
        event,
        expected_revision: 7,
        material_version: 2,
        ended: None,
    }
}

fn ended(status: &str) -> Ended {
    Ended {
        status: status.to_owned(),
        revision: Some(5),
        reason: Some("so it was".to_owned()),
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Rejection>) -> Box<Refusal> {
    match result {
        Err(Rejection::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T, Rejection>) -> Reason {
    refusal(result).reason
}

fn invalid<T: std::fmt::Debug>(result: Result<T, Rejection>) -> String {
    match result {
        Err(Rejection::Invalid(message)) => message,
        other => panic!("not invalid: {other:?}"),
    }
}

/// Entrusted by somebody.
fn to(holder: Option<&str>, for_whom: Option<&str>) -> Handover {
    handed(holder, for_whom, false)
}

/// By one's own claim, or of one's own role.
fn own(holder: &str, for_whom: Option<&str>) -> Handover {
    handed(Some(holder), for_whom, true)
}

fn handed(holder: Option<&str>, for_whom: Option<&str>, claimed: bool) -> Handover {
    Handover::To(Holding {
        holder: holder.map(str::to_owned),
        delegated_by: for_whom.map(str::to_owned),
        claimed,
    })
}

/// Where a plan leads, by name.
fn rest(definition: &Definition, plan: &workflow_core::decide::Plan) -> String {
    definition.states[plan.rest()].name.clone()
}

// Votes

#[test]
fn a_vote_is_counted_until_it_decides() {
    let panel = panel(json!({}));
    let mut instance = open();
    let first = vote(
        &panel,
        &instance,
        &ballot(FIN, "APPROVE"),
        &mut person("bob"),
    );
    let Ok(VotePlan::Counted { vote: given, tally }) = first else {
        panic!("not counted: {first:?}")
    };
    assert_eq!((given.voter.as_str(), given.in_favour), ("bob", true));
    assert_eq!(
        (tally.votes_for, tally.against, tally.open, tally.needed),
        (1, 0, 2, 3)
    );
    assert_eq!(tally.verdict, Verdict::Open);

    voted(&mut instance, FIN, "bob", "APPROVE", None);
    voted(&mut instance, LAW, "cay", "APPROVE", None);
    let last = vote(
        &panel,
        &instance,
        &ballot(TEC, "APPROVE"),
        &mut person("dan"),
    );
    let Ok(VotePlan::Decides { tally, plan, .. }) = last else {
        panic!("not decided: {last:?}")
    };
    assert_eq!(tally.unwrap().verdict, Verdict::Approved);
    assert_eq!(rest(&panel, &plan), "APPROVED");
    assert_eq!((plan.revision, plan.round), (8, 4));
    assert_eq!(plan.first().decision, Some(Decision::Approve));
}

#[test]
fn a_rejection_that_settles_it_takes_its_own_edge() {
    let panel = panel(json!({}));
    let decided = vote(&panel, &open(), &ballot(LAW, "REJECT"), &mut person("bob"));
    let Ok(VotePlan::Decides { vote, tally, plan }) = decided else {
        panic!("not decided: {decided:?}")
    };
    assert!(!vote.in_favour);
    assert_eq!(tally.unwrap().verdict, Verdict::Rejected);
    assert_eq!(rest(&panel, &plan), "REJECTED");

    let two = self::panel(json!({"rule": {"approve": 2}}));
    let first = self::vote(&two, &open(), &ballot(LAW, "REJECT"), &mut person("bob"));
    assert!(matches!(first, Ok(VotePlan::Counted { tally, .. }) if tally.against == 1));
}

#[test]
fn a_veto_decides_and_holds_approval_up() {
    let panel = panel(json!({"rule": "any"}));
    let mut instance = open();
    task_mut(&mut instance, TEC).veto = true;
    let waits = vote(
        &panel,
        &instance,
        &ballot(FIN, "APPROVE"),
        &mut person("bob"),
    );
    assert!(matches!(waits, Ok(VotePlan::Counted { .. })));
    let vetoed = vote(
        &panel,
        &instance,
        &ballot(TEC, "REJECT"),
        &mut person("dan"),
    );
    assert!(matches!(vetoed, Ok(VotePlan::Decides { .. })));
}

#[test]
fn what_is_sent_back_or_no_verdict_moves_at_once() {
    let panel = panel(json!({}));
    for (event, target) in [("RETURN", "REWORK"), ("NOTE", "VOTE")] {
        let moved = vote(&panel, &open(), &ballot(FIN, event), &mut person("bob"));
        let Ok(VotePlan::Decides { tally, plan, vote }) = moved else {
            panic!("{event} did not move: {moved:?}")
        };
        assert_eq!(tally, None);
        assert!(!vote.in_favour);
        assert_eq!(rest(&panel, &plan), target);
        assert_eq!(plan.round, 4);
    }
}

#[test]
fn guards_choose_where_a_vote_leads_and_refuse_it() {
    let panel = panel(json!({"rule": "any"}));
    let mut big = person("bob");
    big.guards.insert("$.big".into(), Truth::True);
    let decided = vote(&panel, &open(), &ballot(FIN, "APPROVE"), &mut big);
    assert!(
        matches!(decided, Ok(VotePlan::Decides { plan, .. }) if rest(&panel, &plan) == "BOARD")
    );
    // Also a vote that would only be counted: nobody approves of what cannot be judged.
    let all = self::panel(json!({}));
    big.guards.insert("$.big".into(), Truth::Unknown);
    let unknown = refusal(vote(&all, &open(), &ballot(FIN, "APPROVE"), &mut big));
    assert_eq!(unknown.reason, Reason::GuardRefused);
    assert_eq!(unknown.task_id, Some(FIN));
}

#[test]
fn a_vote_is_checked_in_the_order_of_the_contract() {
    let panel = panel(json!({"self_approval": false}));
    let mut instance = open();
    held(&mut instance, FIN, "hal", None);
    voted(&mut instance, LAW, "bob", "APPROVE", None);
    let command = |event, revision, material| Vote {
        expected_revision: revision,
        material_version: material,
        ..ballot(FIN, event)
    };
    let go = |command: Vote<'_>, desk: &mut Desk| reason(vote(&panel, &instance, &command, desk));
    // Each row mends the fault that the row before was refused for.
    let nobody = &mut without_roles("carol");
    assert_eq!(go(command("X", 6, 1), nobody), Reason::NoSuchTransition);
    assert_eq!(go(command("RESUBMIT", 6, 1), nobody), Reason::NotAuthorized);
    // The author, with the role; then the one who started it.
    let submitter = &mut person("carol");
    assert_eq!(
        go(command("RESUBMIT", 6, 1), submitter),
        Reason::NotAuthorized
    );
    assert_eq!(
        go(command("RESUBMIT", 6, 1), &mut person("ann")),
        Reason::NotAuthorized
    );
    let bob = &mut person("bob");
    assert_eq!(go(command("RESUBMIT", 6, 1), bob), Reason::StaleMaterial);
    assert_eq!(go(command("RESUBMIT", 6, 2), bob), Reason::StaleRevision);
    assert_eq!(go(command("RESUBMIT", 7, 2), bob), Reason::WrongState);
    assert_eq!(go(command("APPROVE", 7, 2), bob), Reason::NotAuthorized);
    instance.tasks[0].holder = None;
    let go = |command: Vote<'_>, desk: &mut Desk| reason(vote(&panel, &instance, &command, desk));
    assert_eq!(go(command("STOP", 7, 2), bob), Reason::AlreadyVoted);
    assert_eq!(
        go(command("STOP", 7, 2), &mut person("eve")),
        Reason::NotAuthorized
    );
}

#[test]
fn a_person_and_a_seat_have_one_vote_in_a_round() {
    let panel = panel(json!({}));
    let cast = |instance: &Instance, task, who: &str| {
        vote(&panel, instance, &ballot(task, "APPROVE"), &mut person(who))
    };
    let mut instance = open();
    voted(&mut instance, FIN, "bob", "APPROVE", None);
    // The seat, by anybody; the person, for any seat.
    assert_eq!(reason(cast(&instance, FIN, "eve")), Reason::AlreadyVoted);
    assert_eq!(reason(cast(&instance, FIN, "bob")), Reason::AlreadyVoted);
    assert_eq!(reason(cast(&instance, LAW, "bob")), Reason::AlreadyVoted);
    assert!(cast(&instance, LAW, "eve").is_ok());
    // A delegate's vote is that of the delegator as well.
    let mut instance = open();
    voted(&mut instance, FIN, "bob", "APPROVE", Some("dan"));
    for who in ["bob", "dan"] {
        assert_eq!(reason(cast(&instance, LAW, who)), Reason::AlreadyVoted);
        held(&mut instance, TEC, "eve", Some(who));
        assert_eq!(reason(cast(&instance, TEC, "eve")), Reason::AlreadyVoted);
    }
    held(&mut instance, TEC, "eve", Some("fay"));
    let Ok(VotePlan::Counted { vote: given, .. }) = cast(&instance, TEC, "eve") else {
        panic!("not counted")
    };
    assert_eq!(given.on_behalf_of.as_deref(), Some("fay"));

    let each = self::panel(json!({"one_vote_each": false}));
    let mut instance = open();
    voted(&mut instance, FIN, "bob", "APPROVE", None);
    let again = |task| {
        vote(
            &each,
            &instance,
            &ballot(task, "APPROVE"),
            &mut person("bob"),
        )
    };
    assert!(again(LAW).is_ok());
    assert_eq!(reason(again(FIN)), Reason::AlreadyVoted);
}

#[test]
fn the_holder_alone_decides_and_was_trusted_with_it() {
    let panel = panel(json!({}));
    let mut instance = open();
    held(&mut instance, FIN, "eve", Some("fay"));
    let command = ballot(FIN, "APPROVE");
    let other = vote(&panel, &instance, &command, &mut person("bob"));
    assert_eq!(reason(other), Reason::NotAuthorized);
    // A delegate needs no role of the seat.
    assert!(vote(&panel, &instance, &command, &mut without_roles("eve")).is_ok());
    let stranger = vote(
        &panel,
        &instance,
        &ballot(LAW, "APPROVE"),
        &mut without_roles("eve"),
    );
    assert_eq!(reason(stranger), Reason::NotAuthorized);
}

#[test]
fn a_task_that_is_over_says_how_it_ended() {
    let panel = panel(json!({}));
    let over = |status: Option<&str>, revision, instance: &Instance| {
        let command = Vote {
            expected_revision: revision,
            ended: status.map(ended),
            ..ballot(NONE, "APPROVE")
        };
        refusal(vote(&panel, instance, &command, &mut person("bob")))
    };
    // Superseded and cancelled ones before the revision that they ended by.
    for status in ["SUPERSEDED", "CANCELLED"] {
        for revision in [5, 7] {
            let refusal = over(Some(status), revision, &open());
            assert_eq!(refusal.reason, Reason::TaskNotOpen);
            assert_eq!(refusal.extra["task_status"], status);
            assert_eq!(refusal.extra["closed_revision"], 5);
            assert_eq!(refusal.extra["task_reason"], "so it was");
            assert_eq!(refusal.task_id, Some(NONE));
            assert_eq!(refusal.expected.revision, Some(revision));
        }
    }
    // Also where the instance has ended, but not about other material.
    let closed = in_state("APPROVED", true);
    assert_eq!(
        over(Some("SUPERSEDED"), 7, &closed).reason,
        Reason::TaskNotOpen
    );
    let newer = Instance {
        material_version: 3,
        ..open()
    };
    assert_eq!(
        over(Some("SUPERSEDED"), 7, &newer).reason,
        Reason::StaleMaterial
    );
    // A completed one is a matter of the revision first.
    assert_eq!(
        over(Some("COMPLETED"), 5, &open()).reason,
        Reason::StaleRevision
    );
    assert_eq!(over(Some("COMPLETED"), 7, &closed).reason, Reason::Closed);
    let completed = over(Some("COMPLETED"), 7, &open());
    assert_eq!(completed.reason, Reason::TaskNotOpen);
    assert_eq!(completed.extra["task_status"], "COMPLETED");
    // One that vanished between two reads.
    let vanished = over(None, 7, &open());
    assert_eq!(vanished.reason, Reason::TaskNotOpen);
    assert!(!vanished.extra.contains_key("closed_revision"));
    assert!(!vanished.extra.contains_key("task_reason"));
}

#[test]
fn damage_is_refused_and_not_a_panic() {
    let panel = panel(json!({}));
    let lost = Instance {
        state: "LOST".to_owned(),
        ..open()
    };
    let bob = &mut person("bob");
    let voted = vote(&panel, &lost, &ballot(FIN, "APPROVE"), bob);
    assert_eq!(reason(voted), Reason::NoSuchTransition);
    let claimed = claim(&panel, &lost, FIN, None, false, bob);
    assert_eq!(reason(claimed), Reason::NoSuchTransition);
    let withdrawn = withdraw(&panel, &lost, 7, &mut person("ann"));
    assert_eq!(reason(withdrawn), Reason::NoSuchTransition);
    // A task in a state that asks nobody.
    let stray = Instance {
        state: "REWORK".to_owned(),
        ..open()
    };
    let voted = vote(&panel, &stray, &ballot(FIN, "RESUBMIT"), bob);
    assert_eq!(reason(voted), Reason::TaskNotOpen);
    assert_eq!(
        claim(&panel, &stray, FIN, None, false, bob),
        Ok(own("bob", None))
    );
}

// Changes of hands

#[test]
fn a_claim_is_idempotent_and_excludes_others() {
    let panel = panel(json!({"self_approval": false}));
    let take = |instance: &Instance, for_a_time, desk: &mut Desk| {
        claim(&panel, instance, FIN, None, for_a_time, desk)
    };
    let mut instance = open();
    assert_eq!(
        take(&instance, false, &mut person("bob")),
        Ok(own("bob", None))
    );
    assert_eq!(
        reason(take(&instance, false, &mut without_roles("bob"))),
        Reason::NotAuthorized
    );
    for submitter in ["ann", "carol"] {
        assert_eq!(
            reason(take(&instance, false, &mut person(submitter))),
            Reason::NotAuthorized
        );
    }
    held(&mut instance, FIN, "bob", Some("dan"));
    assert_eq!(
        take(&instance, false, &mut person("bob")),
        Ok(Handover::Unchanged)
    );
    // What was entrusted does not run out, not even by a claim for a time.
    assert_eq!(
        take(&instance, true, &mut person("bob")),
        Ok(Handover::Unchanged)
    );
    let other = refusal(take(&instance, false, &mut person("eve")));
    assert_eq!(other.reason, Reason::AlreadyClaimed);
    assert_eq!(other.task_id, Some(FIN));
}

#[test]
fn a_release_gives_the_task_back() {
    let give_back =
        |instance: &Instance, who: &str| release(instance, FIN, None, &mut without_roles(who));
    let mut instance = open();
    assert_eq!(give_back(&instance, "bob"), Ok(Handover::Unchanged));
    held(&mut instance, FIN, "bob", None);
    assert_eq!(give_back(&instance, "bob"), Ok(to(None, None)));
    assert_eq!(reason(give_back(&instance, "eve")), Reason::NotAuthorized);
    held(&mut instance, FIN, "bob", Some("dan"));
    assert_eq!(give_back(&instance, "bob"), Ok(to(Some("dan"), None)));
    assert_eq!(reason(give_back(&instance, "dan")), Reason::NotAuthorized);
}

#[test]
fn an_assignment_asks_nobody() {
    let mut instance = open();
    held(&mut instance, FIN, "bob", Some("dan"));
    for task in [FIN, LAW] {
        let given = assign(&instance, task, None, "eve", &mut without_roles("otto"));
        assert_eq!(given, Ok(to(Some("eve"), None)));
    }
}

#[test]
fn a_delegate_acts_for_the_first_who_had_it() {
    let panel = panel(json!({}));
    let hand = |instance: &Instance, to: &str, desk: &mut Desk| {
        delegate(&panel, instance, FIN, None, to, desk)
    };
    let mut instance = open();
    assert_eq!(
        hand(&instance, "eve", &mut person("bob")),
        Ok(own("eve", Some("bob")))
    );
    assert_eq!(
        hand(&instance, "bob", &mut person("bob")),
        Ok(own("bob", None))
    );
    assert_eq!(
        reason(hand(&instance, "eve", &mut without_roles("bob"))),
        Reason::NotAuthorized
    );
    held(&mut instance, FIN, "eve", Some("bob"));
    let eve = &mut without_roles("eve");
    assert_eq!(
        hand(&instance, "fay", eve),
        Ok(to(Some("fay"), Some("bob")))
    );
    assert_eq!(hand(&instance, "bob", eve), Ok(to(Some("bob"), None)));
    assert_eq!(
        reason(hand(&instance, "fay", &mut person("bob"))),
        Reason::NotAuthorized
    );
}

#[test]
fn a_transfer_is_for_good() {
    let panel = panel(json!({"self_approval": false}));
    let hand =
        |instance: &Instance, desk: &mut Desk| transfer(&panel, instance, FIN, None, "fay", desk);
    let mut instance = open();
    assert_eq!(
        hand(&instance, &mut person("bob")),
        Ok(to(Some("fay"), None))
    );
    assert_eq!(
        reason(hand(&instance, &mut without_roles("bob"))),
        Reason::NotAuthorized
    );
    assert_eq!(
        reason(hand(&instance, &mut person("ann"))),
        Reason::NotAuthorized
    );
    held(&mut instance, FIN, "eve", Some("bob"));
    assert_eq!(
        hand(&instance, &mut without_roles("eve")),
        Ok(to(Some("fay"), None))
    );
    assert_eq!(
        reason(hand(&instance, &mut person("bob"))),
        Reason::NotAuthorized
    );
}

#[test]
fn what_is_over_does_not_change_hands() {
    let panel = panel(json!({}));
    let mut instance = open();
    voted(&mut instance, FIN, "bob", "APPROVE", None);
    let bob = &mut person("bob");
    for task in [FIN, NONE] {
        for end in [None, Some(ended("COMPLETED"))] {
            let end = end.as_ref();
            let refusals = [
                refusal(claim(&panel, &instance, task, end, false, bob)),
                refusal(release(&instance, task, end, bob)),
                refusal(assign(&instance, task, end, "eve", bob)),
                refusal(delegate(&panel, &instance, task, end, "eve", bob)),
                refusal(transfer(&panel, &instance, task, end, "eve", bob)),
            ];
            for refusal in refusals {
                assert_eq!(refusal.reason, Reason::TaskNotOpen);
                assert_eq!(refusal.task_id, Some(task));
                assert_eq!(refusal.extra.contains_key("task_status"), end.is_some());
            }
        }
    }
}

// Seats

fn more(name: &str) -> Seat {
    Seat {
        name: name.to_owned(),
        roles: Vec::new(),
        veto: false,
    }
}

#[test]
fn a_seat_more_is_a_step_that_stays() {
    let panel = panel(json!({}));
    let plan = add_seat(&panel, &open(), &more("hr"), 7).unwrap();
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(plan.first().kind, StepKind::Seat);
    assert_eq!(plan.first().from, Some(plan.rest()));
    assert_eq!(
        (plan.revision, plan.round, plan.entered_revision),
        (8, 3, None)
    );

    let taken = invalid(add_seat(&panel, &open(), &more("law"), 7));
    assert!(taken.contains("law"), "{taken}");
    let stale = refusal(add_seat(&panel, &open(), &more("hr"), 6));
    assert_eq!(stale.reason, Reason::StaleRevision);
    assert_eq!(stale.expected.revision, Some(6));
    let closed = add_seat(&panel, &in_state("APPROVED", true), &more("hr"), 7);
    assert_eq!(reason(closed), Reason::Closed);
    let nobody = add_seat(&panel, &in_state("REWORK", false), &more("hr"), 7);
    assert_eq!(reason(nobody), Reason::WrongState);
    let lost = add_seat(&panel, &in_state("LOST", false), &more("hr"), 7);
    assert_eq!(reason(lost), Reason::NoSuchTransition);
}

#[test]
fn a_seat_less_is_refused_where_it_cannot_be() {
    let all = panel(json!({}));
    let bob = &mut person("bob");
    let mut instance = open();
    let stale = remove_seat(&all, &instance, "fin", 6, bob);
    assert_eq!(reason(stale), Reason::StaleRevision);
    let none = remove_seat(&all, &instance, "hr", 7, bob);
    assert_eq!(reason(none), Reason::NotFound);
    let rework = in_state("REWORK", false);
    let nobody = remove_seat(&all, &rework, "fin", 7, bob);
    assert_eq!(reason(nobody), Reason::WrongState);
    voted(&mut instance, FIN, "eve", "APPROVE", None);
    let spoken = remove_seat(&all, &instance, "fin", 7, bob);
    assert_eq!(reason(spoken), Reason::AlreadyVoted);
    let three = panel(json!({"rule": {"approve": 3}}));
    invalid(remove_seat(&three, &open(), "fin", 7, bob));
    let last = Instance {
        tasks: vec![seat(FIN, "fin")],
        ..open()
    };
    invalid(remove_seat(&all, &last, "fin", 7, bob));
}

#[test]
fn a_seat_less_may_decide() {
    let all = panel(json!({}));
    let bob = &mut person("bob");
    let mut instance = open();
    voted(&mut instance, FIN, "eve", "APPROVE", None);
    // Not yet.
    let (task, plan) = remove_seat(&all, &instance, "tec", 7, bob).unwrap();
    assert_eq!(task.id, TEC);
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(plan.first().kind, StepKind::Seat);
    // The rest agrees: a seat less, then the step that the last vote named.
    voted(&mut instance, LAW, "fay", "APPROVE", None);
    let (_, plan) = remove_seat(&all, &instance, "tec", 7, bob).unwrap();
    let kinds: Vec<StepKind> = plan.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [StepKind::Seat, StepKind::Edge]);
    assert_eq!(plan.steps[1].event.as_deref(), Some("APPROVE"));
    assert_eq!(plan.steps[1].round, 3);
    assert_eq!((plan.revision, plan.round), (9, 4));
    assert_eq!(rest(&all, &plan), "APPROVED");
    // Guards are asked as for any step.
    bob.guards.insert("$.big".into(), Truth::Unknown);
    let unknown = remove_seat(&all, &instance, "tec", 7, bob);
    assert_eq!(reason(unknown), Reason::GuardRefused);

    // Rejection becomes certain; the last vote against names the step.
    let two = panel(json!({"rule": {"approve": 2}}));
    let mut instance = open();
    voted(&mut instance, LAW, "eve", "REJECT", None);
    let (_, plan) = remove_seat(&two, &instance, "tec", 7, bob).unwrap();
    assert_eq!(rest(&two, &plan), "REJECTED");
    assert_eq!(plan.steps[1].decision, Some(Decision::Reject));
}

// Withdrawal

#[test]
fn the_submitter_withdraws_while_nobody_has_voted() {
    let panel = panel(json!({}));
    for submitter in ["ann", "carol"] {
        let plan = withdraw(&panel, &open(), 7, &mut without_roles(submitter)).unwrap();
        assert_eq!(plan.steps.len(), 1);
        assert_eq!(plan.first().kind, StepKind::Cancel);
        assert_eq!(rest(&panel, &plan), "VOTE");
        assert_eq!((plan.revision, plan.round), (8, 3));
    }
    let other = withdraw(&panel, &open(), 6, &mut person("bob"));
    assert_eq!(reason(other), Reason::NotAuthorized);
    let ann = &mut person("ann");
    let stale = refusal(withdraw(&panel, &open(), 6, ann));
    assert_eq!(stale.reason, Reason::StaleRevision);
    assert_eq!(stale.expected.revision, Some(6));
    let ended = withdraw(&panel, &in_state("REJECTED", true), 7, ann);
    assert_eq!(reason(ended), Reason::Closed);
    let mut instance = open();
    voted(&mut instance, LAW, "bob", "REJECT", None);
    assert_eq!(
        reason(withdraw(&panel, &instance, 7, ann)),
        Reason::AlreadyVoted
    );
}

#[test]
fn a_claim_does_not_replace_the_role() {
    let panel = panel(json!({}));
    let mut instance = open();
    held(&mut instance, FIN, "bob", None);
    assert!(instance.tasks[0].entrusted_to("bob"));
    task_mut(&mut instance, FIN).claimed = true;
    assert!(!instance.tasks[0].entrusted_to("bob"));
    let lost = vote(
        &panel,
        &instance,
        &ballot(FIN, "APPROVE"),
        &mut without_roles("bob"),
    );
    assert_eq!(reason(lost), Reason::NotAuthorized);
}

#[test]
fn who_stands_in_for_the_submitter_may_not_decide_either() {
    let panel = panel(json!({"self_approval": false}));
    let mut instance = open();
    for submitter in ["ann", "carol"] {
        held(&mut instance, FIN, "bob", Some(submitter));
        let decided = vote(
            &panel,
            &instance,
            &ballot(FIN, "APPROVE"),
            &mut person("bob"),
        );
        assert_eq!(reason(decided), Reason::NotAuthorized);
    }
}

#[test]
fn nothing_is_withdrawn_after_a_verdict() {
    let panel = panel(json!({}));
    let mut ann = person("ann");
    assert!(withdraw(&panel, &open(), 7, &mut ann).is_ok());
    ann.verdict = true;
    assert_eq!(
        reason(withdraw(&panel, &open(), 7, &mut ann)),
        Reason::AlreadyVoted
    );
}

#[test]
fn the_last_seat_of_a_round_is_asked_for_its_own_role() {
    let panel = panel(json!({"rule": "any"}));
    let mut instance = open();
    instance.tasks.retain(|task| task.id == LAW);
    let take = |desk: &mut Desk| {
        let command = workflow_core::decide::Send {
            event: "APPROVE",
            expected_revision: Some(7),
            material_version: Some(2),
        };
        workflow_core::decide::send(&panel, &instance, &command, desk)
    };
    let mut fin = person("bob");
    fin.roles = vec!["fin".into()];
    assert_eq!(reason(take(&mut fin)), Reason::NotAuthorized);
    let mut law = person("bob");
    law.roles = vec!["law".into()];
    assert!(take(&mut law).is_ok());
}

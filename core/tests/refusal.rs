//! What a refusal tells its caller, as an error and as an outcome.

use serde_json::json;
use uuid::Uuid;
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{CATALOGUE, Position, Reason, Refusal, Winner};

fn position(state: &str, revision: i64, material_version: i32) -> Position {
    Position {
        state: Some(state.to_owned()),
        revision: Some(revision),
        material_version: Some(material_version),
    }
}

fn lost() -> Refusal {
    let mut refusal = Refusal::new(Reason::StaleRevision, "expected revision 1, actual 2");
    refusal.instance_id = Some(Uuid::from_u128(1));
    refusal.application_id = Some(Uuid::from_u128(2));
    refusal.task_id = Some(Uuid::from_u128(3));
    refusal.expected = position("SUBMITTED", 1, 1);
    refusal.actual = position("APPROVED", 2, 1);
    refusal.winner = Some(Winner {
        revision: 2,
        event: Some("APPROVE".into()),
        to_state: "APPROVED".into(),
        at: "2026-12-01T00:00:00.000000Z".into(),
        same_command: false,
        actor: Some("ann".into()),
    });
    refusal.already_in_target = true;
    refusal
}

#[test]
fn detail_has_both_sides_and_the_winner() {
    let id = |n| Uuid::from_u128(n).to_string();
    assert_eq!(
        lost().detail(),
        json!({
            "code": "WF001", "reason": "stale_revision", "http_status": 409, "retryable": false,
            "instance_id": id(1), "application_id": id(2), "task_id": id(3),
            "expected": {"state": "SUBMITTED", "revision": 1, "material_version": 1},
            "actual": {"state": "APPROVED", "revision": 2, "material_version": 1},
            "already_in_target": true,
            "winner": {
                "revision": 2, "event": "APPROVE", "to_state": "APPROVED",
                "at": "2026-12-01T00:00:00.000000Z", "same_command": false, "actor": "ann"
            }
        })
    );
}

#[test]
fn a_winner_may_stay_unnamed() {
    let mut refusal = lost();
    refusal.winner.as_mut().unwrap().actor = None;
    assert!(refusal.detail()["winner"].get("actor").is_none());
}

#[test]
fn what_is_not_known_is_left_out() {
    let detail = Refusal::not_found("instance").detail();
    let keys: Vec<&String> = detail.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["code", "http_status", "reason", "retryable"]);
}

#[test]
fn only_busy_is_retryable_and_says_when() {
    for entry in CATALOGUE {
        let refusal = Refusal::new(entry.reason, "");
        assert_eq!(refusal.retryable(), entry.slug == "busy", "{}", entry.slug);
        assert!(
            refusal
                .error_message()
                .starts_with(&format!("{}: ", entry.slug))
        );
        assert_eq!(entry.reason.entry().code, entry.code);
    }
    let mut busy = Refusal::new(Reason::Busy, "held");
    busy.attempts = 3;
    busy.retry_after_ms = Some(100);
    assert_eq!(busy.detail()["attempts"], 3);
    assert_eq!(busy.detail()["retry_after_ms"], 100);
}

#[test]
fn an_outcome_shows_the_instance_as_it_is() {
    let outcome = Outcome::refused(&lost());
    assert!(!outcome.applied && !outcome.retryable && !outcome.replayed);
    assert_eq!(outcome.code.as_deref(), Some("WF001"));
    assert_eq!(outcome.reason.as_deref(), Some("stale_revision"));
    assert_eq!(outcome.state.as_deref(), Some("APPROVED"));
    assert_eq!(
        (outcome.revision, outcome.material_version),
        (Some(2), Some(1))
    );
    assert_eq!(outcome.detail, Some(lost().detail()));
}

#[test]
fn an_outcome_survives_being_stored() {
    let outcome = Outcome {
        task_ids: vec![Uuid::from_u128(7)],
        ..Outcome::refused(&lost())
    };
    let stored = serde_json::to_string(&outcome).unwrap();
    assert_eq!(serde_json::from_str::<Outcome>(&stored).unwrap(), outcome);
    // What an older version stored lacks the fields it did not know.
    let old: Outcome = serde_json::from_str(r#"{"applied": true, "revision": 2}"#).unwrap();
    assert!(old.applied && old.task_ids.is_empty());
}

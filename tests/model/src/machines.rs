//! The state machines of a run.

use crate::machine::{Guard, Machine, Supersede, always, last, on, state};
use crate::panel::{Panel, Rule, seat};

/// A single reviewer with rework, and an approval that is not the end. `deciders` may approve;
/// one tenant has a definition of its own of the same name, where others may.
pub fn review(deciders: &'static [&'static str]) -> Machine {
    Machine {
        name: "review",
        version: 1,
        concurrent: false,
        initial: "DRAFT",
        states: vec![
            state("DRAFT", Supersede::Stay, vec![on("SUBMIT", "REVIEW")]),
            state(
                "REVIEW",
                Supersede::Stay,
                vec![
                    on("APPROVE", "APPROVED")
                        .decision("approve")
                        .roles(deciders),
                    on("REJECT", "REJECTED").decision("reject"),
                    on("RETURN", "REWORK").decision("return"),
                    on("NOTE", "REVIEW").unpublished(),
                    on("WITHDRAW", "DRAFT").roles(&["author"]),
                ],
            )
            .seat("reviewer", &["reviewer", "chief"]),
            state(
                "REWORK",
                Supersede::Back("REVIEW"),
                vec![on("RESUBMIT", "REVIEW"), on("NOTE", "REWORK")],
            ),
            state(
                "APPROVED",
                Supersede::Back("REVIEW"),
                vec![
                    on("PAY", "PAID").guard(Guard::PayloadOk),
                    on("REOPEN", "REVIEW"),
                ],
            ),
            last("REJECTED"),
            last("PAID"),
        ],
    }
}

/// Thresholds on the material, a state that takes no new material, two events between the same
/// states, and a guarded `always`.
pub fn threshold() -> Machine {
    Machine {
        name: "threshold",
        version: 1,
        concurrent: false,
        initial: "NEW",
        states: vec![
            state(
                "NEW",
                Supersede::Stay,
                vec![
                    on("CHECK", "HIGH").guard(Guard::AmountAbove(10_000)),
                    on("CHECK", "LOW"),
                    on("SKIP", "LOW").roles(&["chief"]),
                    on("TOUCH", "NEW"),
                ],
            ),
            state(
                "LOW",
                Supersede::Back("GATE"),
                vec![on("BACK", "NEW"), on("TOUCH", "LOW")],
            )
            .always(vec![always("DONE").guard(Guard::AmountBelow(10))]),
            state("GATE", Supersede::Stay, vec![on("OPEN", "NEW")]).always(vec![
                always("HIGH").guard(Guard::AmountAbove(10_000)),
                always("NEW").guard(Guard::AmountAbove(100)),
            ]),
            state(
                "HIGH",
                Supersede::Refuse,
                vec![
                    on("OK", "LOW").decision("approve").roles(&["chief"]),
                    on("NO", "NEW").decision("reject"),
                    on("TOUCH", "HIGH").unpublished(),
                ],
            )
            .seat("chief", &["chief"]),
            last("DONE"),
        ],
    }
}

/// Two states that chase each other, in several instances at once over one application. Version 2
/// knows one event more.
pub fn pendulum(version: i32) -> Machine {
    let mut right = vec![
        on("SWING", "LEFT"),
        on("GRADE", "LEFT").decision("return").unpublished(),
        on("PUSH", "RIGHT"),
    ];
    if version > 1 {
        right.push(on("LIFT", "TOP"));
    }
    let mut states = vec![
        state(
            "LEFT",
            Supersede::Stay,
            vec![on("SWING", "RIGHT"), on("PUSH", "LEFT")],
        )
        .always(vec![always("STOPPED").guard(Guard::RoundFrom(40))]),
        state("RIGHT", Supersede::Back("LEFT"), right).seat("grader", &[]),
        last("STOPPED"),
    ];
    if version > 1 {
        states.push(state(
            "TOP",
            Supersede::Stay,
            vec![on("FALL", "LEFT").roles(&["reviewer"])],
        ));
    }
    Machine {
        name: "pendulum",
        version,
        concurrent: true,
        initial: "LEFT",
        states,
    }
}

/// Decisions of several seats, in rounds that repeat: two of three with a seat that has a veto, and
/// after it a panel in which everybody must agree and the first who does not ends it. The submitter
/// has no vote in the second.
pub fn council() -> Machine {
    Machine {
        name: "council",
        version: 1,
        concurrent: true,
        initial: "BOARD",
        states: vec![
            state(
                "BOARD",
                Supersede::Stay,
                vec![
                    on("AYE", "SIGNING").decision("approve"),
                    on("NAY", "BOARD").decision("reject"),
                    on("BACK", "DESK").decision("return").roles(&["chief"]),
                    on("NOTE", "BOARD").unpublished(),
                ],
            )
            .panel(
                Panel::of(&[
                    seat("legal", &["reviewer"]),
                    seat("money", &["chief"]).veto(),
                    seat("staff", &[]),
                ])
                .rule(Rule::Count(2)),
            ),
            state(
                "SIGNING",
                Supersede::Back("BOARD"),
                vec![
                    on("SIGN", "DESK").decision("approve"),
                    on("REFUSE", "BOARD").decision("reject"),
                    on("RETURN", "BOARD").decision("return"),
                ],
            )
            .panel(
                Panel::of(&[seat("first", &["reviewer", "author"]), seat("second", &[])])
                    .reject(1)
                    .no_self_approval(),
            ),
            state(
                "DESK",
                Supersede::Stay,
                vec![on("SUBMIT", "BOARD"), on("CIRCULATE", "TABLE")],
            ),
            state(
                "TABLE",
                Supersede::Back("DESK"),
                vec![
                    on("AYE", "BOARD")
                        .decision("approve")
                        .guard(Guard::AmountBelow(10_000)),
                    on("AYE", "SIGNING").decision("approve"),
                    on("NAY", "DESK").decision("reject"),
                ],
            )
            .panel(
                Panel::of(&[
                    seat("a", &[]),
                    seat("b", &["reviewer"]),
                    seat("c", &["chief", "author"]),
                    seat("d", &[]),
                ])
                .rule(Rule::Share(60))
                .reject(2)
                .several_votes(),
            ),
        ],
    }
}

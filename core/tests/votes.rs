//! The voting rules against a brute force over every order in which the seats can speak.
//!
//! What a round ends in is written down here once more, from the contract and for a whole order of
//! votes, without looking at what is still open. Whether an outcome is certain is then found by
//! trying everything that can follow.

use workflow_core::decide::votes::{Ballot, Verdict, Voice, count};
use workflow_core::definition::{RejectRule, Rule};

/// Where a round can still end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    approved: bool,
    rejected: bool,
}

impl Ends {
    fn only(verdict: Verdict) -> Ends {
        Ends {
            approved: verdict == Verdict::Approved,
            rejected: verdict == Verdict::Rejected,
        }
    }

    fn or(self, other: Ends) -> Ends {
        Ends {
            approved: self.approved || other.approved,
            rejected: self.rejected || other.rejected,
        }
    }

    /// The verdict that has to be given at this point.
    fn certain(self) -> Verdict {
        match (self.approved, self.rejected) {
            (true, false) => Verdict::Approved,
            (false, true) => Verdict::Rejected,
            _ => Verdict::Open,
        }
    }
}

/// What the seats have said at one point.
struct Point {
    /// What the code under test makes of it.
    counted: Verdict,
    /// What is reached here, whatever may follow.
    reached: Option<Verdict>,
    against: usize,
    /// The seats that are open, and those in favour, as bits.
    open: usize,
    in_favour: usize,
    /// Whether some order ends here.
    is_end: bool,
}

struct Round {
    rule: Rule,
    reject: RejectRule,
    ballots: Vec<Ballot>,
    /// All that can have been said; the digits of an index to the base of 3 are the voices.
    points: Vec<Point>,
    visited: usize,
}

const VOICES: [Voice; 3] = [Voice::Open, Voice::Approve, Voice::Reject];

impl Round {
    fn new(rule: Rule, reject: RejectRule, seats: usize, vetoes: usize) -> Round {
        let ballot = |seat| Ballot {
            voice: Voice::Open,
            veto: vetoes >> seat & 1 == 1,
        };
        let mut round = Round {
            rule,
            reject,
            ballots: (0..seats).map(ballot).collect(),
            points: Vec::new(),
            visited: 0,
        };
        for index in 0..digit(seats) {
            for seat in 0..seats {
                round.ballots[seat].voice = VOICES[index / digit(seat) % 3];
            }
            let point = round.point();
            round.points.push(point);
        }
        round
    }

    fn point(&self) -> Point {
        let bits = |voice| {
            let seats = self.ballots.iter().enumerate();
            let seats = seats.filter(|(_, ballot)| ballot.voice == voice);
            seats.map(|(seat, _)| 1 << seat).sum::<usize>()
        };
        let tally = count(self.rule, self.reject, &self.ballots);
        assert_eq!(tally.votes_for, self.said(Voice::Approve), "{self}");
        assert_eq!(tally.against, self.said(Voice::Reject), "{self}");
        assert_eq!(tally.open, self.said(Voice::Open), "{self}");
        assert!(self.enough(tally.needed), "{self}");
        assert!(!self.enough(tally.needed - 1), "{self}");
        Point {
            counted: tally.verdict,
            reached: self.reached(),
            against: self.said(Voice::Reject),
            open: bits(Voice::Open),
            in_favour: bits(Voice::Approve),
            is_end: false,
        }
    }

    fn seats(&self) -> usize {
        self.ballots.len()
    }

    fn enough(&self, in_favour: usize) -> bool {
        match self.rule {
            Rule::All => in_favour == self.seats(),
            Rule::Any => in_favour > 0,
            Rule::Count(count) => in_favour >= count,
            Rule::Ratio { parts, of } => in_favour * of >= self.seats() * parts,
        }
    }

    fn too_many(&self, against: usize) -> bool {
        matches!(self.reject, RejectRule::After(limit) if against >= limit)
    }

    fn said(&self, voice: Voice) -> usize {
        self.ballots.iter().filter(|b| b.voice == voice).count()
    }

    fn veto_seat_said(&self, voice: Voice) -> bool {
        self.ballots.iter().any(|b| b.veto && b.voice == voice)
    }

    /// What is reached by the votes given, whatever may follow: a veto, too many against, or enough
    /// in favour with nobody left who could object alone. When all have spoken and approval is not
    /// reached, it is rejection.
    fn reached(&self) -> Option<Verdict> {
        if self.veto_seat_said(Voice::Reject) || self.too_many(self.said(Voice::Reject)) {
            Some(Verdict::Rejected)
        } else if self.enough(self.said(Voice::Approve)) && !self.veto_seat_said(Voice::Open) {
            Some(Verdict::Approved)
        } else if self.said(Voice::Open) == 0 {
            Some(Verdict::Rejected)
        } else {
            None
        }
    }

    /// Tries all that can follow a point, each open seat in turn and either way. `decided` is the
    /// verdict of the code under test on the votes before, `last` the vote that led here.
    fn explore(&mut self, index: usize, decided: Verdict, last: Option<Voice>) -> Ends {
        self.visited += 1;
        let point = &mut self.points[index];
        // A round that is decided takes no further votes, so what it would count is not asked.
        let verdict = match decided {
            Verdict::Open => point.counted,
            decided => decided,
        };
        let ends = match point.reached {
            Some(end) => {
                point.is_end = true;
                Ends::only(end)
            }
            None => self.all_that_follows(index, verdict),
        };
        if decided != Verdict::Open {
            assert_eq!(ends, Ends::only(decided), "{index} of {self}");
            return ends;
        }
        assert_eq!(verdict, ends.certain(), "{index} of {self}");
        // The vote that closes a round is on the side of the verdict.
        match verdict {
            Verdict::Open => {}
            Verdict::Approved => assert_eq!(last, Some(Voice::Approve), "{index} of {self}"),
            Verdict::Rejected => assert_eq!(last, Some(Voice::Reject), "{index} of {self}"),
        }
        ends
    }

    fn all_that_follows(&mut self, index: usize, verdict: Verdict) -> Ends {
        let mut ends = Ends::default();
        for seat in 0..self.seats() {
            if self.points[index].open >> seat & 1 == 1 {
                for (value, voice) in VOICES.into_iter().enumerate().skip(1) {
                    let next = index + value * digit(seat);
                    ends = ends.or(self.explore(next, verdict, Some(voice)));
                }
            }
        }
        ends
    }

    /// A verdict stays whatever is said afterwards; only behind an approval the limit against can
    /// still fill up, which is why a decided round takes no further votes.
    fn check_verdicts_stay(&self) {
        for (index, point) in self.points.iter().enumerate() {
            if point.counted == Verdict::Open {
                continue;
            }
            for seat in (0..self.seats()).filter(|seat| point.open >> seat & 1 == 1) {
                for next in [index + digit(seat), index + 2 * digit(seat)] {
                    let next = &self.points[next];
                    let filled = point.counted == Verdict::Approved && self.too_many(next.against);
                    let stays = next.counted == point.counted;
                    assert_eq!(stays, !filled, "{index} of {self}");
                }
            }
        }
    }

    /// The order of the votes matters exactly where nobody objects alone and both limits are met;
    /// otherwise the end is the one of a plain count.
    fn check_orders(&self) {
        let mut by_votes = vec![Ends::default(); 1 << self.seats()];
        for point in self.points.iter().filter(|point| point.is_end) {
            let end = point.reached.map(Ends::only).expect("an end");
            // The seats that are open could have said anything.
            for (votes, ends) in by_votes.iter_mut().enumerate() {
                if votes & !point.open == point.in_favour {
                    *ends = ends.or(end);
                }
            }
        }
        for (votes, ends) in by_votes.into_iter().enumerate() {
            let in_favour = votes.count_ones() as usize;
            let against = self.seats() - in_favour;
            let mut seats = self.ballots.iter().enumerate();
            let objects = |(seat, ballot): (usize, &Ballot)| ballot.veto && votes >> seat & 1 == 0;
            let vetoed = seats.any(objects);
            let approval = self.enough(in_favour) && !vetoed;
            let by_order = approval && self.too_many(against);
            let wanted = Ends {
                approved: approval,
                rejected: !approval || by_order,
            };
            assert_eq!(ends, wanted, "votes {votes:b} of {self}");
        }
    }
}

impl std::fmt::Display for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.rule, self.reject, self.ballots)
    }
}

/// The weight of a seat's voice in the index of a point.
fn digit(seat: usize) -> usize {
    [1, 3, 9, 27, 81, 243, 729][seat]
}

fn rules(seats: usize) -> Vec<Rule> {
    let ratios = [
        (6, 10),
        (5, 10),
        (51, 100),
        (666_666_667, 1_000_000_000),
        (1, 1_000_000_000),
        (999_999_999, 1_000_000_000),
        (1, 1),
    ];
    let ratios = ratios.map(|(parts, of)| Rule::Ratio { parts, of });
    let mut rules = vec![Rule::All, Rule::Any];
    rules.extend((1..=seats).map(Rule::Count));
    rules.extend(ratios);
    rules
}

fn reject_rules(seats: usize) -> Vec<RejectRule> {
    let mut rules = vec![RejectRule::WhenHopeless];
    rules.extend((1..=seats).map(RejectRule::After));
    rules
}

/// Which seats have a veto: all sets for up to four seats; above that one set of each size, since
/// seats trade places in the orders, at places that change from call to call.
fn veto_sets(seats: usize, random: &mut u64) -> Vec<usize> {
    if seats <= 4 {
        return (0..1 << seats).collect();
    }
    let mut sets = Vec::new();
    for size in 0..=seats {
        let mut set = 0usize;
        while (set.count_ones() as usize) < size {
            // Knuth's MMIX generator; its upper bits are good enough.
            *random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            set |= 1 << ((*random >> 33) as usize % seats);
        }
        sets.push(set);
    }
    sets
}

fn check(seats: usize) {
    let mut random = seats as u64;
    let mut visited = 0;
    for rule in rules(seats) {
        for reject in reject_rules(seats) {
            for vetoes in veto_sets(seats, &mut random) {
                let mut round = Round::new(rule, reject, seats, vetoes);
                round.explore(0, Verdict::Open, None);
                round.check_orders();
                round.check_verdicts_stay();
                visited += round.visited;
            }
        }
    }
    println!("{seats} seats: {visited} points in all orders");
}

#[test]
fn up_to_four_seats_in_all_orders() {
    (1..=4).for_each(check);
}

#[test]
fn five_seats_in_all_orders() {
    check(5);
}

#[test]
fn six_seats_in_all_orders() {
    check(6);
}

/// Approval has its number and waits for a veto; meanwhile the rejections fill up.
#[test]
fn an_approval_that_waits_is_not_reached() {
    let seat = |voice, veto| Ballot { voice, veto };
    let mut seats = [
        seat(Voice::Approve, false),
        seat(Voice::Approve, false),
        seat(Voice::Reject, false),
        seat(Voice::Open, false),
        seat(Voice::Open, true),
    ];
    let verdict = |seats: &[Ballot]| count(Rule::Count(2), RejectRule::After(2), seats).verdict;
    assert_eq!(verdict(&seats), Verdict::Open);
    seats[3].voice = Voice::Reject;
    assert_eq!(verdict(&seats), Verdict::Rejected);
    seats[3].voice = Voice::Open;
    seats[4].voice = Voice::Approve;
    assert_eq!(verdict(&seats), Verdict::Approved);
}

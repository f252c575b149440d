//! Who must speak in a state, and when what they said decides.

use serde_json::{Value, json};

/// A seat of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seat {
    pub name: &'static str,
    pub roles: &'static [&'static str],
    pub veto: bool,
}

/// How many must be in favour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    All,
    Count(usize),
    /// In percent.
    Share(usize),
}

/// The task of a state.
#[derive(Clone, Debug)]
pub struct Panel {
    pub seats: Vec<Seat>,
    pub rule: Rule,
    pub reject: Option<usize>,
    pub self_approval: bool,
    pub one_vote_each: bool,
}

/// What one seat has said.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    pub veto: bool,
    pub in_favour: Option<bool>,
}

/// A count as a page shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    pub votes_for: usize,
    pub against: usize,
    pub open: usize,
    pub needed: usize,
}

pub const fn seat(name: &'static str, roles: &'static [&'static str]) -> Seat {
    Seat {
        name,
        roles,
        veto: false,
    }
}

impl Seat {
    pub const fn veto(mut self) -> Seat {
        self.veto = true;
        self
    }

    pub fn spec(&self) -> Value {
        json!({"name": self.name, "roles": self.roles, "veto": self.veto})
    }
}

impl Panel {
    pub fn of(seats: &[Seat]) -> Panel {
        Panel {
            seats: seats.to_vec(),
            rule: Rule::All,
            reject: None,
            self_approval: true,
            one_vote_each: true,
        }
    }

    pub fn rule(mut self, rule: Rule) -> Panel {
        self.rule = rule;
        self
    }

    pub fn reject(mut self, limit: usize) -> Panel {
        self.reject = Some(limit);
        self
    }

    pub fn no_self_approval(mut self) -> Panel {
        self.self_approval = false;
        self
    }

    pub fn several_votes(mut self) -> Panel {
        self.one_vote_each = false;
        self
    }

    pub fn spec(&self) -> Value {
        let seats: Vec<Value> = self.seats.iter().map(Seat::spec).collect();
        let mut spec = json!({"seats": seats});
        match self.rule {
            Rule::All => {}
            Rule::Count(count) => spec["rule"] = json!({"approve": count}),
            Rule::Share(percent) => {
                spec["rule"] = json!({"approve_ratio": percent as f64 / 100.0});
            }
        }
        match self.reject {
            None => {}
            Some(1) => spec["reject"] = json!("first"),
            Some(limit) => spec["reject"] = json!(limit),
        }
        if !self.self_approval {
            spec["self_approval"] = json!(false);
        }
        if !self.one_vote_each {
            spec["one_vote_each"] = json!(false);
        }
        spec
    }

    pub fn needed(&self, seats: usize) -> usize {
        match self.rule {
            Rule::All => seats,
            Rule::Count(count) => count,
            Rule::Share(percent) => (1..=seats)
                .find(|count| count * 100 >= seats * percent)
                .unwrap_or(seats),
        }
    }

    pub fn count(&self, said: &[Said]) -> Count {
        let saying = |what| said.iter().filter(|one| one.in_favour == what).count();
        Count {
            votes_for: saying(Some(true)),
            against: saying(Some(false)),
            open: saying(None),
            needed: self.needed(said.len()),
        }
    }

    /// Whether it is certain that the question is approved or rejected: then no way in which the
    /// open seats could still speak would lead elsewhere.
    pub fn certain(&self, said: &[Said]) -> Option<bool> {
        let against = said.iter().filter(|one| one.in_favour == Some(false));
        let vetoed = said
            .iter()
            .any(|one| one.veto && one.in_favour == Some(false));
        let limit = self.reject.is_some_and(|limit| against.count() >= limit);
        let count = self.count(said);
        if vetoed || limit || count.votes_for + count.open < count.needed {
            return Some(false);
        }
        let awaited = said.iter().any(|one| one.veto && one.in_favour.is_none());
        (count.votes_for >= count.needed && !awaited).then_some(true)
    }
}

//! Human work: the task of one seat in one visit of a state.

use uuid::Uuid;

use crate::machine::Machine;
use crate::oracle::Node;
use crate::panel::{Panel, Said, Seat};

/// What a seat decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    pub event: String,
    pub actor: &'static str,
    pub on_behalf_of: Option<&'static str>,
    /// Only where several seats speak.
    pub in_favour: Option<bool>,
    /// The instance's work after it: votes are counted in this order.
    pub work: i64,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub status: &'static str,
    pub revision: i64,
    pub given: Option<Given>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// As an answer named it; a supersede does not.
    pub id: Option<Uuid>,
    pub seat: Seat,
    pub state: &'static str,
    pub round: i32,
    pub material: i32,
    pub opened: i64,
    pub holder: Option<&'static str>,
    pub delegated_by: Option<&'static str>,
    /// Whether it came to its holder, or to who delegated it, by their own claim.
    pub claimed: bool,
    /// Whether it is held for a time only.
    pub leased: bool,
    pub ended: Option<Ended>,
}

impl Task {
    pub fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether somebody gave it to this person, who then needs no role of the seat.
    pub fn entrusted_to(&self, person: &str) -> bool {
        self.holder == Some(person) && (self.delegated_by.is_some() || !self.claimed)
    }

    pub fn given(&self) -> Option<&Given> {
        self.ended.as_ref().and_then(|ended| ended.given.as_ref())
    }
}

/// A row of the task log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub verb: &'static str,
    /// Place of the task among those of the instance.
    pub task: usize,
    pub revision: i64,
    pub round: i32,
    pub material: i32,
    pub event: Option<String>,
    pub in_favour: Option<bool>,
    pub on_behalf_of: Option<&'static str>,
    pub to: Option<&'static str>,
}

impl Node {
    /// Tasks that count in the present round: open, or decided.
    pub fn present(&self) -> impl Iterator<Item = (usize, &Task)> {
        self.tasks.iter().enumerate().filter(|(_, task)| {
            task.round == self.round
                && task.material == self.material
                && (task.is_open() || task.given().is_some())
        })
    }

    pub fn open_tasks(&self) -> impl Iterator<Item = (usize, &Task)> {
        let tasks = self.tasks.iter().enumerate();
        tasks.filter(|(_, task)| task.is_open())
    }

    pub fn panel<'m>(&self, machine: &'m Machine) -> Option<&'m Panel> {
        machine.state(self.state)?.panel.as_ref()
    }

    pub fn task(&self, id: Uuid) -> Option<usize> {
        self.tasks.iter().position(|task| task.id == Some(id))
    }

    /// What the seats of the round have said, with one vote more if given, without one seat.
    pub fn said(&self, more: Option<(usize, bool)>, without: Option<usize>) -> Vec<Said> {
        self.present()
            .filter(|(index, _)| Some(*index) != without)
            .map(|(index, task)| Said {
                veto: task.seat.veto,
                in_favour: more
                    .filter(|(place, _)| *place == index)
                    .map(|(_, side)| side)
                    .or_else(|| task.given()?.in_favour),
            })
            .collect()
    }

    pub fn complete(&mut self, task: usize, revision: i64, given: Given) {
        self.tasks[task].ended = Some(Ended {
            status: "COMPLETED",
            revision,
            given: Some(given),
        });
    }

    /// Closes what is open.
    pub fn close_open(&mut self, status: &'static str, revision: i64) {
        for task in self.tasks.iter_mut().filter(|task| task.is_open()) {
            task.ended = Some(Ended {
                status,
                revision,
                given: None,
            });
        }
    }

    /// Opens a seat's task in the state where the instance stands; gives its place.
    pub fn open(&mut self, seat: Seat) -> usize {
        self.tasks.push(Task {
            id: None,
            seat,
            state: self.state,
            round: self.round,
            material: self.material,
            opened: self.revision,
            holder: None,
            delegated_by: None,
            claimed: false,
            leased: false,
            ended: None,
        });
        self.tasks.len() - 1
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{} r{} w{} m{} round {} entered {}{}",
            self.state,
            self.revision,
            self.work,
            self.material,
            self.round,
            self.entered,
            if self.closed { " closed" } else { "" }
        )?;
        for (_, task) in self.present() {
            write!(
                out,
                " [{} held by {:?} for {:?}, {:?}]",
                task.seat.name,
                task.holder,
                task.delegated_by,
                task.given()
            )?;
        }
        Ok(())
    }
}

//! Reads one state: its kind, its edges and what new material does to it.

use serde_json::{Map, Value};

use super::branches::Trigger;
use super::findings::{child, quote};
use super::keys::{self, Place};
use super::names::{Kind, MAX_NAME};
use super::parse::{Note, Reader};
use super::{AFTER, Edge, OnSupersede, State};

impl<'s> Reader<'s> {
    pub(super) fn state(&mut self, name: &'s str, value: &'s Value) -> (State, Note) {
        let path = child("/states", name);
        self.names.vet(Kind::State, name, &path, &mut self.findings);
        let mut state = State {
            name: name.to_owned(),
            is_final: false,
            edges: Vec::new(),
            always: Vec::new(),
            after: Vec::new(),
            restart: false,
            task: None,
            on_supersede: OnSupersede::Stay,
            lease_required: false,
            retry: None,
        };
        let mut note = Note {
            path,
            says_supersede: false,
            hides_edges: true,
        };
        // What stands in a state of an overlong name has overlong paths; nobody wants them.
        if name.len() <= MAX_NAME
            && let Some(object) = self.findings.object(value, &note.path)
        {
            let elsewhere = ["invoke", "onDone", "states"];
            note.hides_edges = elsewhere.iter().any(|key| object.contains_key(*key));
            self.read_state(object, &mut state, &mut note);
        }
        (state, note)
    }

    fn read_state(&mut self, object: &'s Map<String, Value>, state: &mut State, note: &mut Note) {
        keys::vet(Place::State, object, &note.path, &mut self.findings);
        if let Some(kind) = object.get("type") {
            let path = child(&note.path, "type");
            match self.state_type(kind, &path) {
                Some(is_final) => state.is_final = is_final,
                None => note.hides_edges = true,
            }
        }
        if let Some(on) = object.get("on") {
            let path = child(&note.path, "on");
            let (edges, all_read) = self.on(on, &path);
            note.hides_edges |= !all_read;
            self.refuse_edges_of_final(state, &edges, &path);
            state.edges = edges;
        }
        if let Some(always) = object.get("always") {
            let path = child(&note.path, "always");
            let (edges, all_read) = self.branches(Trigger::Always, always, &path);
            note.hides_edges |= !all_read;
            self.refuse_edges_of_final(state, &edges, &path);
            state.always = edges;
        }
        if let Some(after) = object.get("after") {
            let path = child(&note.path, "after");
            let all_read = self.after(after, &path, state);
            note.hides_edges |= !all_read;
            let task = object.get("meta").and_then(|meta| meta.get("task"));
            let has_due = task.is_some_and(|task| task.get("due").is_some());
            if after.get("due").is_some() && !has_due {
                let message = "the state has no task with a `due`, so this time never comes";
                self.findings.error(child(&path, "due"), message);
            }
        }
        if let Some(meta) = object.get("meta") {
            let path = child(&note.path, "meta");
            if let Some(meta) = self.findings.object(meta, &path) {
                self.state_meta(meta, &path, state, note);
            }
        }
    }

    /// Whether the state is final; `None` if it is of no kind that is understood.
    fn state_type(&mut self, value: &Value, path: &str) -> Option<bool> {
        let message = match self.findings.text(value, path)? {
            "final" => return Some(true),
            "atomic" => return Some(false),
            "compound" => "nested states are not supported".to_owned(),
            "parallel" => "parallel states are not supported".to_owned(),
            "history" => "history states are not supported".to_owned(),
            other => format!("unknown state type {}", quote(other)),
        };
        self.findings.error(path, message);
        None
    }

    fn refuse_edges_of_final(&mut self, state: &State, edges: &[Edge], path: &str) {
        if state.is_final && !edges.is_empty() {
            self.findings.error(path, "a final state has no edges");
        }
    }

    /// The edges of all events, sorted by event, and whether all of them could be read.
    fn on(&mut self, value: &'s Value, path: &str) -> (Vec<Edge>, bool) {
        let Some(on) = self.findings.object(value, path) else {
            return (Vec::new(), false);
        };
        let mut edges = Vec::new();
        let mut all_read = true;
        for (event, branches) in on {
            let path = child(path, event);
            if event.is_empty() {
                let message = "an event must have a name; for edges without one use `always`";
                self.findings.error(&path, message);
            } else if event == "*" || event.ends_with(".*") {
                let message = format!("not supported: wildcard event {}", quote(event));
                self.findings.error(&path, message);
            } else if event.starts_with(AFTER) {
                let message = format!("an event may not begin with `{AFTER}`: timers are named so");
                self.findings.error(&path, message);
            } else {
                self.names
                    .vet(Kind::Event, event, &path, &mut self.findings);
            }
            if event.len() > MAX_NAME {
                all_read = false;
                continue;
            }
            let (read, complete) = self.branches(Trigger::Event(event), branches, &path);
            if read.is_empty() && complete {
                let message = format!("event {} leads nowhere", quote(event));
                self.findings.error(&path, message);
            }
            edges.extend(read);
            all_read &= complete;
        }
        edges.sort_by(|a: &Edge, b| a.event.cmp(&b.event));
        (edges, all_read)
    }

    fn state_meta(
        &mut self,
        meta: &'s Map<String, Value>,
        path: &str,
        state: &mut State,
        note: &mut Note,
    ) {
        keys::vet(Place::StateMeta, meta, path, &mut self.findings);
        if let Some(task) = meta.get("task") {
            let path = child(path, "task");
            if state.is_final {
                let message = "a final state has no task: entering it closes the instance";
                self.findings.error(&path, message);
            }
            state.task = self.task(task, &path);
        }
        self.machine_work(meta, path, state);
        if let Some(answer) = meta.get("on_supersede") {
            let path = child(path, "on_supersede");
            note.says_supersede = true;
            if state.is_final {
                let message = "has no effect: new material does not reach a closed instance";
                self.findings.warning(&path, message);
            }
            if let Some(answer) = self.findings.text(answer, &path) {
                state.on_supersede = self.on_supersede(answer, &path);
            }
        }
    }

    fn on_supersede(&mut self, answer: &str, path: &str) -> OnSupersede {
        let keyword = match answer {
            "stay" => OnSupersede::Stay,
            "refuse" => OnSupersede::Refuse,
            name => {
                let state = self.resolve(name, path);
                return state.map_or(OnSupersede::Stay, OnSupersede::GoTo);
            }
        };
        if self.states.contains_key(answer) {
            let message = format!("`{answer}` is the keyword here, not the state of that name");
            self.findings.warning(path, message);
        }
        keyword
    }

    /// The member `roles` of a seat or an edge.
    pub(super) fn roles(&mut self, object: &'s Map<String, Value>, path: &str) -> Vec<String> {
        let path = child(path, "roles");
        let Some(value) = object.get("roles") else {
            return Vec::new();
        };
        let Some(list) = value.as_array() else {
            self.findings
                .wrong_type(&path, "an array of role names", value);
            return Vec::new();
        };
        let mut roles = Vec::new();
        for (i, role) in list.iter().enumerate() {
            let path = child(&path, &i.to_string());
            if let Some(role) = self.findings.text(role, &path) {
                self.names.vet(Kind::Role, role, &path, &mut self.findings);
                roles.push(role.to_owned());
            }
        }
        roles
    }
}

//! What a decision may ask for, fetched from the server where it matters.

use workflow_core::decide::{Lease, Standing, Truth, World};

use crate::engine::failure::Failure;
use crate::engine::identity::Caller;
use crate::engine::lease::check::Presented;
use crate::engine::limits::{self, Limit};
use crate::pg::guard;
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::{Jsonb, Value};
use crate::store::{self, statements};

use uuid::Uuid;

/// The material that guards look at.
pub enum Material<'a> {
    /// A version in the table, read on first use.
    Stored {
        /// The application.
        application: Uuid,
        /// Its version.
        version: i32,
    },
    /// One that is about to be written by the caller.
    New {
        /// Its content.
        content: &'a Jsonb,
        /// Its version.
        version: i32,
    },
}

/// Who decided in a state.
pub struct Acted {
    /// The state.
    pub state: String,
    /// Who, and for whom.
    pub people: Vec<String>,
}

/// The server as a decision sees it. An error on the way is kept, makes every further answer the
/// refusing one, and is raised by [`ServerWorld::finish`].
pub struct ServerWorld<'a> {
    spi: &'a Spi,
    caller: &'a Caller,
    material: Material<'a>,
    payload: Option<&'a Jsonb>,
    instance: Option<Uuid>,
    lease: Option<&'a Presented>,
    lost: Option<&'a str>,
    earlier: Vec<Acted>,
    loaded: Option<(Jsonb, String)>,
    roles: Option<Vec<String>>,
    error: Option<Report>,
}

impl<'a> ServerWorld<'a> {
    /// A world for one decision.
    pub fn new(
        spi: &'a Spi,
        caller: &'a Caller,
        material: Material<'a>,
        payload: Option<&'a Jsonb>,
    ) -> ServerWorld<'a> {
        ServerWorld {
            spi,
            caller,
            material,
            payload,
            instance: None,
            lease: None,
            lost: None,
            earlier: Vec::new(),
            loaded: None,
            roles: None,
            error: None,
        }
    }

    /// WF019 if the caller's tenant may not have so many.
    pub fn check_limit(&self, limit: Limit, wanted: usize) -> Result<(), Failure> {
        limits::check(self.spi, &self.caller.tenant, limit, wanted)
    }

    /// The same about an instance that exists.
    pub fn about(mut self, instance: Uuid) -> ServerWorld<'a> {
        self.instance = Some(instance);
        self
    }

    /// The same after steps that were decided in this call and are not written yet.
    pub fn after(mut self, earlier: Vec<Acted>) -> ServerWorld<'a> {
        self.earlier = earlier;
        self
    }

    /// The same under a lease, if the command presents one; `lost` says why it is not kept, if it
    /// is known to be over.
    pub fn under(mut self, lease: Option<&'a Presented>, lost: Option<&'a str>) -> ServerWorld<'a> {
        (self.lease, self.lost) = (lease, lost);
        self
    }

    /// The decision, unless something went wrong while it was made.
    pub fn finish<T, E: Into<Failure>>(self, decision: Result<T, E>) -> Result<T, Failure> {
        match self.error {
            Some(report) => Err(report.into()),
            None => decision.map_err(Into::into),
        }
    }

    /// Content and author of the stored material.
    fn load(&mut self) -> Result<&(Jsonb, String), Report> {
        let Material::Stored {
            application,
            version,
        } = self.material
        else {
            unreachable!("a new material is not loaded")
        };
        if self.loaded.is_none() {
            let key = [
                Value::Text(&self.caller.tenant),
                Value::Uuid(application),
                Value::Int(version),
            ];
            let row = self
                .spi
                .one(&statements::READ_MATERIAL, &key)
                .ok_or_else(|| {
                    Report::new(
                        workflow_core::sqlstate::SqlState::DATA_CORRUPTED,
                        format!("material {version} of application {application} is missing"),
                    )
                })?;
            self.loaded = Some((row.jsonb(0)?, row.text(1)?));
        }
        Ok(self.loaded.as_ref().expect("just loaded"))
    }

    /// What paths are looked up in; `None` if the server gives none.
    fn document(&mut self, at: &Standing<'_>) -> Result<Option<Jsonb>, Report> {
        let spi = self.spi;
        let payload = Value::optional(self.payload, Value::Jsonb);
        let (content, version) = match self.material {
            Material::New { content, version } => (content, version),
            Material::Stored { version, .. } => (&self.load()?.0, version),
        };
        let document = spi.one(
            &statements::GUARD_DOCUMENT,
            &[
                Value::Jsonb(content),
                payload,
                Value::Text(at.state),
                Value::Bigint(at.revision),
                Value::Int(at.round),
                Value::Int(version),
            ],
        );
        document.map(|row| row.jsonb(0)).transpose()
    }

    fn evaluate(&mut self, path: &str, at: &Standing<'_>) -> Result<Truth, Report> {
        let document = self.document(at)?;
        Ok(document.map_or(Truth::Unknown, |document| guard::test(path, &document)))
    }

    fn look_up(&mut self, path: &str, at: &Standing<'_>) -> Result<Option<String>, Report> {
        match self.document(at)? {
            Some(document) => guard::only_value(path, &document),
            None => Ok(None),
        }
    }
}

impl World for ServerWorld<'_> {
    fn actor(&self) -> &str {
        &self.caller.actor
    }

    fn roles(&mut self) -> &[String] {
        if self.roles.is_none() {
            let roles = self.caller.roles(self.spi).unwrap_or_else(|report| {
                self.error.get_or_insert(report);
                Vec::new()
            });
            self.roles = Some(roles);
        }
        self.roles.as_deref().unwrap_or_default()
    }

    fn is_author(&mut self, person: &str) -> bool {
        match self.material {
            Material::New { .. } => person == self.caller.actor,
            Material::Stored { .. } => match self.load().map(|(_, author)| author == person) {
                Ok(is_author) => is_author,
                Err(report) => {
                    self.error.get_or_insert(report);
                    true
                }
            },
        }
    }

    fn deciders(&mut self, states: &[String]) -> Vec<String> {
        let Some(instance) = self.instance else {
            return Vec::new();
        };
        let earlier = self.earlier.iter();
        let earlier = earlier.filter(|acted| states.contains(&acted.state));
        let mut people: Vec<String> = earlier.flat_map(|acted| acted.people.clone()).collect();
        let key = [
            Value::Text(&self.caller.tenant),
            Value::Uuid(instance),
            Value::Texts(states),
        ];
        for row in self.spi.run(&statements::DECIDERS, &key).rows() {
            match row.text(0) {
                Ok(person) => people.push(person),
                Err(report) => {
                    self.error.get_or_insert(report);
                }
            }
        }
        people
    }

    fn has_verdict(&mut self) -> bool {
        let (Some(instance), Material::Stored { version, .. }) = (self.instance, &self.material)
        else {
            return false;
        };
        let key = [
            Value::Text(&self.caller.tenant),
            Value::Uuid(instance),
            Value::Int(*version),
        ];
        self.spi.run(&statements::VERDICT, &key).count() > 0
    }

    fn lease(&mut self) -> Lease {
        let Some(presented) = self.lease else {
            return Lease::Absent;
        };
        if let Some(why) = self.lost {
            return Lease::Lost(why.to_owned());
        }
        match presented.check(self.spi, &self.caller.tenant) {
            Ok(answer) => answer,
            Err(report) => {
                self.error.get_or_insert(report);
                Lease::Lost(String::new())
            }
        }
    }

    fn value(&mut self, path: &str, at: &Standing<'_>) -> Option<String> {
        if self.error.is_some() {
            return None;
        }
        self.look_up(path, at).unwrap_or_else(|report| {
            self.error = Some(report);
            None
        })
    }

    fn balance(&mut self, resource: &str) -> Option<i64> {
        if self.error.is_some() {
            return None;
        }
        let tenant = &self.caller.tenant;
        match store::read_resource(self.spi, tenant, resource) {
            Ok(balance) => balance,
            Err(report) => {
                self.error = Some(report);
                None
            }
        }
    }

    fn test(&mut self, guard: &str, at: &Standing<'_>) -> Truth {
        if self.error.is_some() {
            return Truth::Unknown;
        }
        self.evaluate(guard, at).unwrap_or_else(|report| {
            self.error = Some(report);
            Truth::Unknown
        })
    }
}

//! Refusals of the commands that are about an application: `wf_start` and `wf_supersede_material`.

use uuid::Uuid;

use crate::check::{Checker, Wrong};
use crate::command::Start;
use crate::instance::scenes;
use crate::oracle::{self, Verdict};
use crate::refusals::{Refusal, about, seen};

pub fn start_refused(
    checker: &Checker<'_, '_>,
    start: &Start,
    refusal: &Refusal,
) -> Result<(), Wrong> {
    let (view, record, tenant) = (&*checker.view, checker.record, checker.tenant());
    let machine = view
        .round
        .library
        .find(tenant, start.definition, start.version);
    if refusal.code == "WF005" {
        return match machine {
            Some(_) => Err("WF005 for a definition that is there".to_owned()),
            None => Ok(()),
        };
    }
    let machine = machine.ok_or("refused about a definition that is not there")?;
    let detail = &refusal.detail;
    let application = view.application(record, tenant, &start.business_key);
    let named = application.filter(|id| detail["application_id"] == id.to_string());
    match refusal.code.as_str() {
        "WF002" => {
            let id = named.ok_or("WF002 about another application")?;
            let actual = detail["actual"]["material_version"].as_i64();
            let (versions, _) = view.materials(record, tenant, id);
            let differs = versions.iter().any(|version| {
                actual == Some(i64::from(*version))
                    && start.material.as_ref() != view.content(record, id, *version)
            });
            if differs && start.material.is_some() {
                Ok(())
            } else {
                Err(format!("WF002, where {versions:?} may have been in force"))
            }
        }
        "WF018" => {
            let id = named.ok_or("WF018 about another application")?;
            let running = view
                .instances_of(record, id)
                .into_iter()
                .find(|(id, sight)| {
                    detail["instance_id"] == id.to_string() && sight.machine.name == machine.name
                });
            let (_, sight) = running.ok_or("WF018 about an instance that cannot be there")?;
            let node = seen(&sight, detail)?[0];
            if node.closed || machine.concurrent {
                return Err("WF018 about an instance that is in nobody's way".to_owned());
            }
            Ok(())
        }
        "WF011" => {
            let versions = match application {
                Some(id) => view.materials(record, tenant, id).0,
                None => Vec::new(),
            };
            let known = versions
                .iter()
                .filter_map(|version| view.content(record, application?, *version));
            let refused = known.chain(start.material.as_ref()).any(|material| {
                let scene = scenes(machine, checker.command(), material, &[]).remove(0);
                oracle::start(&scene, 1) == Verdict::Refused("WF011")
            });
            if refused {
                Ok(())
            } else {
                Err("WF011, where the model starts".to_owned())
            }
        }
        code => Err(format!("a start cannot be refused with {code}")),
    }
}

pub fn supersede_refused(
    checker: &Checker<'_, '_>,
    application: Uuid,
    expected: i32,
    refusal: &Refusal,
) -> Result<(), Wrong> {
    let (view, record) = (&*checker.view, checker.record);
    let (versions, maybe_absent) = view.materials(record, checker.tenant(), application);
    if refusal.code == "WF005" {
        return if versions.is_empty() || maybe_absent {
            Ok(())
        } else {
            Err("WF005 for what must be there".to_owned())
        };
    }
    let detail = &refusal.detail;
    if refusal.code == "WF002" {
        let actual = detail["actual"]["material_version"].as_i64();
        let stale = versions
            .iter()
            .any(|version| actual == Some(i64::from(*version)) && *version != expected);
        let told = detail["expected"]["material_version"] == expected
            && detail["application_id"] == application.to_string();
        if !stale || !told {
            return Err(format!("WF002, where {versions:?} may have been in force"));
        }
        return not_too_old_material(checker, application, expected, actual);
    }
    if !versions.contains(&expected) {
        return Err(format!(
            "refused over an instance, where {versions:?} may have been in force"
        ));
    }
    let instances = view.instances_of(record, application);
    let refusing = instances.iter().any(|(id, sight)| {
        let nodes = seen(sight, detail);
        about(detail, *id, application).is_ok()
            && nodes.unwrap_or_default().iter().any(|node| {
                let verdicts = checker.verdicts(sight, node);
                verdicts.iter().any(
                    |verdict| matches!(verdict, Verdict::Refused(code) if *code == refusal.code),
                )
            })
    });
    if refusing {
        Ok(())
    } else {
        Err("no visible instance refuses this material so".to_owned())
    }
}

/// The same for the material that a supersede expects.
fn not_too_old_material(
    checker: &Checker<'_, '_>,
    application: Uuid,
    expected: i32,
    actual: Option<i64>,
) -> Result<(), Wrong> {
    let isolation = checker.view.round.transaction(checker.at).isolation;
    if !isolation.keeps_snapshot() || actual >= Some(i64::from(expected)) {
        return Ok(());
    }
    let known = checker.view.model.applications.get(&application);
    let awaited = known.and_then(|known| known.versions.get(expected as usize - 1));
    match awaited {
        Some(version) if checker.view.certain(version.made, checker.record.span) => Err(format!(
            "WF002 from an old snapshot; material {expected} had been committed before the call"
        )),
        _ => Ok(()),
    }
}

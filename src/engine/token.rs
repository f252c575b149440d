//! Identity tokens: where the keys are, and what a token proves to this server.
//!
//! The keys are in a file outside the database (`workflow.token_keys`), so that no statement, log,
//! statistics view, dump or standby ever carries one. It is read again whenever it changes.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use workflow_core::refusal::{Reason, Refusal};
use workflow_core::token::{Keys, Proven};

use crate::engine::failure::Failure;
use crate::engine::identity::check_name;
use crate::pg::report::{self, Report};
use crate::settings;

/// A key set is small; anything longer is another file.
const LONGEST_FILE: u64 = 1 << 20;

/// What tells one content of a file from another.
#[derive(Clone, PartialEq)]
struct Edition {
    path: String,
    device: u64,
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

thread_local! {
    static KEYS: RefCell<Option<(Edition, Rc<Keys>)>> = const { RefCell::new(None) };
}

/// What a token proves now; WF007 in the same words whatever is wrong with it.
pub fn verify(token: &str) -> Result<Proven, Failure> {
    let Some(audience) = settings::token_audience()? else {
        return Err(refused());
    };
    let keys = match keys()? {
        Ok(keys) => keys,
        Err(wrong) => {
            // The operator's business, not the caller's.
            report::log(&format!("workflow: the key file cannot be used: {wrong}"));
            return Err(refused());
        }
    };
    let proven = keys
        .verify(token, &audience)
        .filter(is_current)
        .ok_or_else(refused)?;
    let names = [&proven.tenant, &proven.actor];
    if names
        .into_iter()
        .chain(proven.roles.iter().flatten())
        .any(|name| check_name("a claim", name).is_err())
    {
        return Err(refused());
    }
    Ok(proven)
}

/// Whether what was proved earlier in a transaction still is.
pub fn is_current(proven: &Proven) -> bool {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .is_ok_and(|now| (now.as_secs() as i64) < proven.expires_at)
}

/// The one answer to every token that does not prove anything, and to none at all.
pub fn refused() -> Failure {
    Refusal::new(Reason::NotAuthorized, "no valid identity token").into()
}

fn keys() -> Result<Result<Rc<Keys>, String>, Report> {
    let Some(path) = settings::token_keys()? else {
        return Ok(Err("workflow.token_keys names none".into()));
    };
    Ok(read_keys(path))
}

fn read_keys(path: String) -> Result<Rc<Keys>, String> {
    let file = fs::metadata(&path).map_err(|error| error.kind().to_string())?;
    let edition = Edition {
        path,
        device: file.dev(),
        inode: file.ino(),
        length: file.len(),
        changed: (file.ctime(), file.ctime_nsec()),
    };
    let known = KEYS.with_borrow(|known| {
        let (of, keys) = known.as_ref()?;
        (*of == edition).then(|| Rc::clone(keys))
    });
    if let Some(keys) = known {
        return Ok(keys);
    }
    if !file.is_file() || file.len() > LONGEST_FILE {
        return Err("it is no file of a key set's size".into());
    }
    let set = fs::read_to_string(&edition.path).map_err(|error| error.kind().to_string())?;
    let keys = Keys::parse(&set)?;
    // As the server asks of its own private keys.
    let forbidden = if file.uid() == 0 { 0o037 } else { 0o077 };
    if keys.has_secret() && file.mode() & forbidden != 0 {
        return Err("it holds a shared secret, and others may read it: chmod 600".into());
    }
    let keys = Rc::new(keys);
    KEYS.set(Some((edition, Rc::clone(&keys))));
    Ok(keys)
}

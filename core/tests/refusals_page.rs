//! `docs/refusals.md` is the catalogue, printed. `UPDATE_DOCS=1 cargo test -p workflow-core` writes it.

use std::fmt::Write;
use std::path::Path;

use workflow_core::refusal::CATALOGUE;

const HEAD: &str = "\
# Refusals

A refusal is a command that lost or was not allowed. It is never an accident, and always explained:

| field of the error | holds |
|---|---|
| SQLSTATE | the code below |
| MESSAGE | the reason, a colon, a sentence |
| CONSTRAINT NAME | the reason |
| DETAIL | one line of JSON: `code`, `reason`, `http_status`, `retryable`, and as far as they apply `instance_id`, `application_id`, `task_id`, `expected` and `actual` (`state`, `revision`, `material_version`), `already_in_target`, `winner` (`revision`, `event`, `to_state`, `at`, `same_command`, `actor`), and keys of the reason |
| HINT | what to do |

With `on_refusal => 'return'` the same comes back as a row (`code`, `reason`, `detail`) and is kept in
`workflow.refusals` with the caller's transaction. Every refusal of either kind also writes one line
to the server log (`workflow.log_refusals`).

`winner.actor` is there only for those who may read `workflow.timeline`. Nothing of another tenant,
no material and no comment is ever in a refusal.

| code | reason | HTTP | when | what to do |
|---|---|---|---|---|
";

const TAIL: &str = "
`busy` is safe to retry: nothing happened. `attempts` and `retry_after_ms` say how often it was
decided and when to try again. Errors of PostgreSQL itself pass through as they are: 22004 (a NULL
where a value is needed, named in the message), 22023 (a value that no command could accept), 25006
(read-only transaction or standby, before anything else), 40001 (only under REPEATABLE READ and
SERIALIZABLE), 40P01, 42501, 57014, 23xxx with their constraint, and a 55P03 of the caller's own
`lock_timeout`. 27000 says that a trigger of the user's re-entered or swallowed a command. 0A000 says
that the library and the installed extension are of different versions, or that something is not
built yet.

The order of the checks is fixed, so that the same command always gets the same answer: arguments,
replay of the request key, tenant and existence, edge in the definition, role, lease, material,
revision, closed, state, task and votes, guards, resources.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for entry in CATALOGUE {
        let _ = writeln!(
            page,
            "| {} | `{}` | {} | {} | {} |",
            entry.code.as_str(),
            entry.slug,
            entry.http_status,
            entry.when,
            entry.hint
        );
    }
    page + TAIL
}

#[test]
fn the_page_is_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/refusals.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).expect("docs/refusals.md can be written");
    }
    let stored = std::fs::read_to_string(&path).expect("docs/refusals.md can be read");
    assert_eq!(
        stored, page,
        "docs/refusals.md is not the catalogue: UPDATE_DOCS=1 writes it anew"
    );
}

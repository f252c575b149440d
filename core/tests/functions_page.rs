//! `docs/functions.md` is what the install script says of its functions and views, printed.
//! `UPDATE_DOCS=1 cargo test -p workflow-core` writes it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Functions and views

What `\\df+ wf_*` and `\\dv+ workflow.*` show, printed from the install script. Arguments are best
given by name. The last ones are the same everywhere: `on_refusal` (`raise`, or `return` for a
refusal as a row), and `tenant`, `actor`, `roles`, `identity_token`, which say on whose behalf the
call is made ([security](security.md)). The codes are in [refusals](refusals.md).
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The parts of the install script, in their order.
fn parts() -> Vec<String> {
    read("Makefile")
        .lines()
        .find_map(|line| line.strip_prefix("SQL_PARTS = "))
        .expect("the Makefile has SQL_PARTS")
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// The text of an SQL literal that `sql` begins with.
fn literal(sql: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = sql.strip_prefix('\'')?;
    loop {
        let end = rest.find('\'')?;
        text.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(more) => {
                text.push('\'');
                rest = more;
            }
            None => return Some(text),
        }
    }
}

/// The comment on an object, with or without argument types behind its name.
fn comment(sql: &str, kind: &str, name: &str) -> String {
    let start = format!("COMMENT ON {kind} {name}");
    sql.match_indices(&start)
        .map(|(at, _)| &sql[at + start.len()..])
        .filter(|rest| rest.starts_with(' ') || rest.starts_with('('))
        .find_map(|rest| {
            let at = rest.find(" IS ")?;
            literal(rest[at + 4..].trim_start())
        })
        .unwrap_or_else(|| panic!("{kind} {name} has no comment"))
}

/// A name, as far as it goes.
fn name(sql: &str) -> &str {
    let end = sql
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .unwrap_or(sql.len());
    &sql[..end]
}

/// What stands between a function's name and its language or body.
fn signature(sql: &str) -> String {
    let end = [" LANGUAGE ", "\n    LANGUAGE ", "\nLANGUAGE ", " AS $"]
        .iter()
        .filter_map(|word| sql.find(word))
        .min()
        .expect("a function has a language");
    sql[..end].trim_end().to_owned()
}

fn page() -> String {
    let mut page = String::from(HEAD);
    for part in parts() {
        let sql = read(&format!("sql/{part}.sql"));
        let mut chapter = String::new();
        for kind in ["FUNCTION", "PROCEDURE"] {
            let create = format!("CREATE {kind} wf_");
            for (at, _) in sql.match_indices(&create) {
                let object = &sql[at + create.len() - 3..];
                let name = name(object);
                let text = comment(&sql, kind, name);
                let shape = signature(object);
                let _ = write!(chapter, "\n### {name}\n\n```sql\n{shape}\n```\n\n{text}\n");
            }
        }
        for (at, create) in sql.match_indices("CREATE VIEW ") {
            let name = name(&sql[at + create.len()..]);
            let text = comment(&sql, "VIEW", name);
            let _ = write!(chapter, "\n### {name}\n\nA view. {text}\n");
        }
        if !chapter.is_empty() {
            let _ = write!(page, "\n## {part}\n{chapter}");
        }
    }
    page
}

#[test]
fn the_page_is_the_install_script() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join("docs/functions.md"), &page)
            .expect("docs/functions.md can be written");
    }
    assert_eq!(
        read("docs/functions.md"),
        page,
        "docs/functions.md is not the install script: UPDATE_DOCS=1 cargo test -p workflow-core writes it"
    );
}

/// Every link of the table of contents leads somewhere.
#[test]
fn the_contents_lead_to_pages() {
    let contents = read("docs/README.md");
    for link in contents
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
    {
        assert!(
            root().join("docs").join(link).exists(),
            "docs/README.md links to {link}, which is not there"
        );
    }
}

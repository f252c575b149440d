//! The page of results.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Finding;
use crate::servers::Result;

const HEAD: &str = "\
# What the wrong ways break

`make faults` runs each of these wrong ways to arbitrate on real servers, beside the right one, and counts
what it breaks. It fails if a wrong way shows no damage, or the right way any. This page is written by it
(`UPDATE_DOCS=1 make faults`).

";

/// Writes it.
pub fn write(servers: &str, findings: &[Finding]) -> Result<()> {
    let mut page = format!("{HEAD}Run on {servers}.\n\n");
    page.push_str("| wrong way | what it does | damage | counted | the right way | damage |\n");
    page.push_str("|---|---|---:|---|---|---:|\n");
    for finding in findings {
        let fault = finding.fault;
        writeln!(
            page,
            "| {} | {} | **{}** of {} | {} | {} | {} of {} |",
            fault.name,
            fault.wrong.what,
            finding.wrong.count,
            finding.wrong.of,
            fault.unit,
            fault.right.what,
            finding.right.count,
            finding.right.of,
        )?;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::write(root.join("../../docs/faults.md"), page)?;
    Ok(())
}

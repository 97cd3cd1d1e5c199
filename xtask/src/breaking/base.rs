//! What the working description is compared with.

use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace;

/// Where the description is in the repository.
const DESCRIPTION: &str = "openapi/modelarts.yaml";

/// The newest release. None before there is one, as what was never released is what no
/// client was generated from; and none in a clone without tags.
pub fn default() -> Option<String> {
    git(&["describe", "--tags", "--abbrev=0", "HEAD"]).ok()
}

/// The description as it was.
pub fn description(revision: &str) -> Result<String> {
    git(&["show", &format!("{revision}:{DESCRIPTION}")])
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(workspace::root())
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

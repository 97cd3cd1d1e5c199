//! What the working description is compared with.

use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace;

/// Where the description is in the repository.
const DESCRIPTION: &str = "openapi/modelarts.yaml";

/// The newest release; before there is one, where this branch left the main one, or on
/// the main one the commit before. None in a clone that has no history, and where that
/// revision had no description.
pub fn default() -> Option<String> {
    let head = git(&["rev-parse", "HEAD"]).ok()?;
    let tag = git(&["describe", "--tags", "--abbrev=0", "HEAD"]);
    let fork = ["origin/HEAD", "main"]
        .iter()
        .filter_map(|main| git(&["merge-base", "HEAD", main]).ok())
        .find(|fork| *fork != head);
    let base = tag
        .ok()
        .or(fork)
        .or_else(|| git(&["rev-parse", "--verify", "--quiet", "HEAD^"]).ok())?;
    description(&base).is_ok().then_some(base)
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

//! Redocly's linter on the description: rules of the standard itself, beside our
//! own in `xtask spec`. It comes from npm, by a lock file.

use std::process::Command;

use anyhow::Result;

use super::{Outcome, checks::passes};
use crate::{node, workspace};

/// Where npm puts it.
pub const PACKAGE: &str = "node_modules/@redocly/cli";

pub fn run() -> Result<Outcome> {
    if let Some(why) = unavailable() {
        return Ok(why);
    }
    node::install(&workspace::lint(), PACKAGE, node::Optional::LeftOut)?;
    passes(command().args(["lint", "--config", "redocly.yaml", "../modelarts.yaml"]))
}

/// Redocly, in the directory of its settings.
pub fn command() -> Command {
    let mut command = Command::new("node");
    command
        .arg(format!("{PACKAGE}/bin/cli.js"))
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .current_dir(workspace::lint());
    command
}

/// `.ci/run` installs Node where it may, and does not begin without a new enough one.
/// Without it our own rules still run.
pub fn unavailable() -> Option<Outcome> {
    let (major, minor) = node::OLDEST;
    let why = match node::version() {
        None => "npm is not installed".to_owned(),
        Some(version) if version < node::OLDEST => {
            format!(
                "node {}.{} is older than {major}.{minor}",
                version.0, version.1
            )
        }
        Some(_) => return None,
    };
    Some(Outcome::Skipped {
        why,
        also_in_ci: false,
    })
}

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

/// `.ci/run` installs Node where it may. Without it our own rules still run.
pub fn unavailable() -> Option<Outcome> {
    let Some(version) = node::version() else {
        return Some(Outcome::Skipped {
            why: "npm is not installed".into(),
            also_in_ci: false,
        });
    };
    (version < node::OLDEST).then(|| Outcome::Skipped {
        why: format!(
            "node {}.{} is older than {}.{}, and the distribution may have no newer one",
            version.0,
            version.1,
            node::OLDEST.0,
            node::OLDEST.1
        ),
        also_in_ci: true,
    })
}

//! Redocly's linter on the description: rules of the standard itself, beside our
//! own in `xtask spec`. It comes from npm, by a lock file. Without Node our own rules still run.

use anyhow::Result;

use super::outcome::{Outcome, passes};
use crate::{
    plain,
    tools::{node, redocly},
    workspace,
};

const LINT: [&str; 3] = ["lint", "--config", "redocly.yaml"];

pub fn run() -> Result<Outcome> {
    if let Some(why) = node::unavailable() {
        return Ok(Outcome::Skipped {
            why,
            also_in_ci: false,
        });
    }
    let described = passes(redocly::command()?.args(LINT).arg("../modelarts.yaml"))?;
    let Outcome::Passed = described else {
        return Ok(described);
    };
    let file = workspace::plain();
    plain::write(&workspace::description(), &file)?;
    passes(
        redocly::command()?
            .args(LINT)
            .arg(file)
            // Nothing refers to the lists of known values there.
            .args(["--skip-rule", "no-unused-components"]),
    )
}

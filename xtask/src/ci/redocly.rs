//! Runs Redocly's linter on the description, which checks the rules of OpenAPI. `xtask spec` checks
//! the rules of this project. Redocly is installed from npm, in the version that a lock file pins.
//! If Node is missing, only this check is skipped.

use anyhow::Result;

use crate::outcome::{Outcome, passes};
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
            // In the plain variant, no reference points to the lists of known values.
            .args(["--skip-rule", "no-unused-components"]),
    )
}

//! Runs Redocly's linter on the description, for the rules of the standard; the rules of this
//! project are in `xtask spec`. A lock file pins Redocly, which comes from npm. If Node is missing,
//! only this check is skipped.

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
            // The plain variant does not refer to the lists of known values.
            .args(["--skip-rule", "no-unused-components"]),
    )
}

//! Redocly's linter on the description: rules of the standard itself, beside our
//! own in `xtask spec`. It comes from npm, by a lock file. Without Node our own rules still run.

use anyhow::Result;

use super::outcome::{Outcome, passes};
use crate::tools::{node, redocly};

pub fn run() -> Result<Outcome> {
    if let Some(why) = node::unavailable() {
        return Ok(Outcome::Skipped {
            why,
            also_in_ci: false,
        });
    }
    passes(redocly::command()?.args(["lint", "--config", "redocly.yaml", "../modelarts.yaml"]))
}

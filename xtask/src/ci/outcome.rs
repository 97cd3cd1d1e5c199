//! The definition of a check, and its outcome.

use std::{process::Command, time::Duration};

use anyhow::{Context, Result};

/// One check.
pub struct Check {
    pub name: &'static str,
    /// The description of the check in its headline.
    pub about: &'static str,
    pub run: fn() -> Result<Outcome>,
}

/// The outcome of a check that could be run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// The reason of the failure, for the table.
    Failed(String),
    Skipped {
        why: String,
        /// True if the check may be skipped in CI as well, which needs a good reason.
        also_in_ci: bool,
    },
}

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub outcome: Outcome,
    pub took: Duration,
}

impl Row {
    pub fn is_failure(&self, in_ci: bool) -> bool {
        match self.outcome {
            Outcome::Passed => false,
            Outcome::Failed(_) => true,
            Outcome::Skipped { also_in_ci, .. } => in_ci && !also_in_ci,
        }
    }
}

/// Runs a command and returns its outcome.
pub fn passes(command: &mut Command) -> Result<Outcome> {
    let status = command
        .status()
        .with_context(|| format!("{} could not be started", command.get_program().display()))?;
    Ok(if status.success() {
        Outcome::Passed
    } else {
        Outcome::Failed(status.to_string())
    })
}

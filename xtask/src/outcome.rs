//! Definition and outcome of a check.

use std::{process::Command, time::Duration};

use anyhow::{Context, Result};

/// Check of `cargo xtask ci`.
pub struct Check {
    pub name: &'static str,
    /// Description of the check, which is printed before it runs.
    pub about: &'static str,
    pub run: fn() -> Result<Outcome>,
}

/// Outcome of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// The check failed. The value is the reason.
    Failed(String),
    Skipped {
        why: String,
        /// True if the check may be skipped even in CI.
        also_in_ci: bool,
    },
}

/// Row of the table of results.
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

/// Runs a command. The outcome is a success if the command succeeds.
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

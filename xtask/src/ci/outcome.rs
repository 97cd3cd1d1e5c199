//! Checks and how they ended.

use std::{process::Command, time::Duration};

use anyhow::{Context, Result};

/// One check.
pub struct Check {
    pub name: &'static str,
    /// Shown in the headline.
    pub about: &'static str,
    pub run: fn() -> Result<Outcome>,
}

/// Outcome of a check, if it could be run at all.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// With what to say in the table.
    Failed(String),
    Skipped {
        why: String,
        /// True if CI may skip it too; the reason must then be a good one.
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

/// Runs a command and says how it ended.
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

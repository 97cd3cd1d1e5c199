//! `Report`: the results of the checks.

use std::fmt::{Display, Write};

use modelarts_ext::Error;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    output::Document,
    terminal::{Emphasis, Terminal},
    wording,
};

/// Results of all checks.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// Number of checks with a problem.
    pub(super) problems: usize,
    /// Number of checks with a warning.
    warnings: usize,
    /// Results, in the order of the checks.
    checks: Vec<Check>,
}

/// Result of one check.
#[derive(Debug, Serialize, JsonSchema)]
struct Check {
    /// Subject of the check.
    check: Subject,
    #[serde(flatten)]
    finding: Finding,
}

/// Subject of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Subject {
    /// The file of the contexts, and the selected context.
    Settings,
    /// Permissions of files with secrets.
    Files,
    /// Region.
    Region,
    /// Address of the service.
    Endpoint,
    /// Source and form of the credentials, and their acceptance by the service.
    Credentials,
    /// Project.
    Project,
    /// Response of the service to a call.
    Service,
    /// Difference of the clocks of this machine and of the service.
    Clock,
    /// Address of OBS.
    Obs,
    /// Bucket for local code and data.
    Bucket,
    /// Writing and deleting an object.
    Upload,
    /// The python3 that runs jobs on this machine.
    Python,
    /// Container view of jobs on this machine.
    Container,
    /// Outputs of jobs on this machine that were not delivered.
    Storage,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// Nothing to do.
    Ok,
    /// Some commands will fail, or may fail soon.
    Warning,
    /// Commands fail.
    Problem,
    /// Not checked: a part that the check needs is missing, or it does not apply to this machine.
    Skipped,
}

/// Result of a check, without its subject.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Finding {
    /// Result.
    status: Status,
    /// Facts that were found; never a secret.
    found: String,
    /// Advice; null if there is nothing to do.
    advice: Option<String>,
}

impl Finding {
    fn new(status: Status, found: impl Display) -> Self {
        Self { status, found: found.to_string(), advice: None }
    }

    pub(super) fn ok(found: impl Display) -> Self {
        Self::new(Status::Ok, found)
    }

    pub(super) fn warning(found: impl Display, advice: impl Display) -> Self {
        Self::new(Status::Warning, found).with_advice(advice)
    }

    pub(super) fn problem(found: impl Display, advice: impl Display) -> Self {
        Self::new(Status::Problem, found).with_advice(advice)
    }

    pub(super) fn skipped(reason: impl Display) -> Self {
        Self::new(Status::Skipped, reason)
    }

    /// Creates a problem from an error. The advice is removed from the end of the text.
    pub(super) fn error(error: &Error) -> Self {
        let mut found = wording::for_users(&error.to_string());
        let advice = error.advice().map(wording::for_users);
        let advice = advice.as_deref().map(|advice| advice.trim().trim_end_matches('.'));
        let advice = advice.filter(|advice| {
            let cut = found.len().checked_sub(advice.len());
            let (text, end) = cut.and_then(|cut| found.split_at_checked(cut)).unzip();
            end.is_some_and(|end| end.eq_ignore_ascii_case(advice))
                && text.is_some_and(|text| text.ends_with("; "))
        });
        if let Some(advice) = advice {
            found.truncate(found.len() - advice.len() - "; ".len());
        }
        Self { status: Status::Problem, found, advice: advice.map(str::to_owned) }
    }

    /// Sets the advice if there is none.
    pub(super) fn with_advice(mut self, advice: impl Display) -> Self {
        self.advice.get_or_insert_with(|| advice.to_string());
        self
    }
}

impl Report {
    pub(super) fn add(&mut self, check: Subject, finding: Finding) {
        match finding.status {
            Status::Problem => self.problems += 1,
            Status::Warning => self.warnings += 1,
            Status::Ok | Status::Skipped => {}
        }
        self.checks.push(Check { check, finding });
    }

    /// Adds subjects that were not checked, all for the same reason.
    pub(super) fn skip(&mut self, subjects: &[Subject], reason: &str) {
        for subject in subjects {
            self.add(*subject, Finding::skipped(reason));
        }
    }
}

fn count(number: usize, noun: &str) -> String {
    match number {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

impl Document for Report {
    fn text(&self, _: bool, _: Option<u16>) -> String {
        const INDENT: &str = "\n               ";
        let mut text = String::new();
        for Check { check, finding } in &self.checks {
            let (sign, emphasis) = match finding.status {
                Status::Ok => ("✓", Emphasis::Good),
                Status::Warning => ("!", Emphasis::Waiting),
                Status::Problem => ("✗", Emphasis::Bad),
                Status::Skipped => ("-", Emphasis::Dim),
            };
            let name = serde_json::to_value(check).unwrap_or_default();
            let name = name.as_str().unwrap_or_default();
            let sign = Terminal::styled(sign, emphasis);
            let found = finding.found.replace('\n', INDENT);
            let _ = writeln!(text, "{sign} {name:<11}  {found}");
            if let Some(advice) = &finding.advice {
                let advice = format!("→ {advice}").replace('\n', INDENT);
                let _ = writeln!(text, "{}{advice}", &INDENT[1..]);
            }
        }
        let (problems, warnings) =
            (count(self.problems, "problem"), count(self.warnings, "warning"));
        text + &format!("{problems}, {warnings}")
    }
}

//! Errors of the check, with the lines of the file.

use modelarts_ext::{Error, error::Violation};

use crate::{commands::create::draft::Draft, failure::Failure};

impl Draft {
    /// Returns the error of a job that was not created. Violations are listed with the lines of the
    /// file, and with the mistakes of the file itself.
    pub(crate) fn refusal(&self, error: Error) -> Failure {
        match error.violations() {
            [] => Failure::NotCreated(error),
            _ if error.attempts() > 0 => Failure::NotCreated(error),
            violations => self.unchecked(violations),
        }
    }

    /// Returns the error for these violations, and those of the file.
    pub(crate) fn unchecked(&self, violations: &[Violation]) -> Failure {
        let all = self.all_violations(violations);
        let rules = match all.len() {
            1 => "a rule".to_owned(),
            count => format!("{count} rules"),
        };
        let lines: String =
            all.iter().map(|violation| format!("\n  {}", self.located(violation))).collect();
        let text = format!("the job breaks {rules}, so nothing was sent:{lines}");
        Failure::Unchecked(text, all)
    }

    /// Returns the mistakes of the file, and the violations of the check that they do not explain.
    pub(crate) fn all_violations(&self, checked: &[Violation]) -> Vec<Violation> {
        let mut all = self.file.as_ref().map_or_else(Vec::new, |file| file.violations.clone());
        let in_file = all.len();
        for violation in checked {
            let field = violation.field();
            let name = field.rsplit(['.', ']']).next().unwrap_or_default();
            let is_explained = all[..in_file].iter().any(|mistake| {
                // The value is missing because its field is misspelt, or because it was left out.
                mistake.field() == field
                    || (violation.value().is_none()
                        && !name.is_empty()
                        && mistake.advice().contains(&format!("{name}?")))
            });
            if !is_explained {
                all.push(violation.clone());
            }
        }
        all
    }

    /// Returns a violation with its file and line.
    pub(crate) fn located(&self, violation: &Violation) -> String {
        match self.line(violation) {
            Some((file, line)) => format!("{file}:{line}: {violation}"),
            None => violation.to_string(),
        }
    }

    /// Returns the file and the line of a violation; `None` if it is not in the file.
    pub(crate) fn line(&self, violation: &Violation) -> Option<(&str, u64)> {
        let file = self.file.as_ref()?;
        Some((file.name(), file.line(violation)?))
    }
}

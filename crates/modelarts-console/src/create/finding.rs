//! `Finding`: a rule that a form breaks, with the control that contains the wrong value.

use modelarts_ext::{Error, error::Violation, validation::Warning};
use serde::Serialize;

#[derive(Clone, Debug)]
pub(super) struct Control {
    /// Name of the control in the form.
    pub(super) name: String,
    pub(super) label: String,
}

impl Control {
    pub(super) fn new(name: impl Into<String>, label: impl Into<String>) -> Self {
        Self { name: name.into(), label: label.into() }
    }
}

/// Controls of the form, by the body fields that they set.
#[derive(Clone, Debug, Default)]
pub(super) struct Controls {
    /// Controls of fields and of all fields inside them.
    around: Vec<(String, Control)>,
    /// Controls of fields, but not of the fields inside them.
    exact: Vec<(&'static str, Control)>,
}

impl Controls {
    pub(super) fn add(&mut self, path: &str, control: Control) {
        self.around.push((path.to_owned(), control));
    }

    /// Adds the control of a field, but not of the fields inside it.
    pub(super) fn add_exact(&mut self, path: &'static str, control: Control) {
        self.exact.push((path, control));
    }

    /// Returns the control of a field: the control of the field itself, otherwise of the nearest
    /// enclosing field, otherwise of the first field inside it.
    pub(super) fn find(&self, path: &str) -> Option<&Control> {
        if let Some((_, control)) = self.exact.iter().find(|(known, _)| *known == path) {
            return Some(control);
        }
        let path = normal(path);
        let around = |outer: &str, inner: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let outer = self.around.iter().filter(|(known, _)| around(&normal(known), &path));
        let nearest = outer.max_by_key(|(known, _)| known.len());
        let inner = || self.around.iter().find(|(known, _)| around(&path, &normal(known)));
        nearest.or_else(inner).map(|(_, control)| control)
    }
}

/// Returns a path with `map.key` instead of `map["key"]`.
fn normal(path: &str) -> String {
    path.replace("[\"", ".").replace("\"]", "")
}

/// A rule that a form breaks, or advice that it does not follow.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    /// Name of the control; empty if the form has no control for the field.
    pub(super) field: String,
    /// Label of the control, or the path of the field.
    pub(super) label: String,
    /// Path of the field in the body; empty for a rule of the form itself.
    pub(super) path: String,
    /// The rule, or the advice of a warning.
    pub(super) rule: String,
    /// Error code with which the service rejects such a job.
    pub(super) code: Option<String>,
    pub(super) advice: String,
}

impl Finding {
    /// Creates the finding of a rule that only the form has.
    pub(super) fn own(control: &Control, rule: &str, advice: &str) -> Self {
        Self {
            field: control.name.clone(),
            label: control.label.clone(),
            path: String::new(),
            rule: rule.to_owned(),
            code: None,
            advice: advice.to_owned(),
        }
    }

    /// Creates the finding of a rejected value. In the error message, the rule follows the path.
    pub(super) fn of_text(control: &Control, path: &str, error: &Error) -> Self {
        let message = error.to_string();
        let rule = match path {
            "" => message.as_str(),
            path => match message.split_once(&format!("{path} = ")) {
                Some((_, rest)) => rest.split_once(": ").map_or(rest, |(_, rule)| rule),
                None => message.as_str(),
            },
        };
        let (rule, advice) = rule.split_once("; ").unwrap_or((rule, ""));
        Self { path: path.to_owned(), ..Self::own(control, rule, advice) }
    }

    pub(super) fn of_violation(violation: &Violation, control: Option<&Control>) -> Self {
        Self {
            code: violation.code().map(str::to_owned),
            ..Self::at(violation.field(), control, violation.rule(), violation.advice())
        }
    }

    pub(super) fn of_warning(warning: &Warning, control: Option<&Control>) -> Self {
        Self::at(warning.field(), control, warning.advice(), "")
    }

    fn at(path: &str, control: Option<&Control>, rule: &str, advice: &str) -> Self {
        let control = control.cloned().unwrap_or_else(|| Control::new("", path));
        Self { path: path.to_owned(), ..Self::own(&control, rule, advice) }
    }

    /// Returns the rule with the error code and the advice, in one line.
    pub(super) fn text(&self) -> String {
        let code = self.code.as_ref().map(|code| format!(" ({code})"));
        let advice = match self.advice.as_str() {
            "" => String::new(),
            advice => format!("; {advice}"),
        };
        format!("{}{}{advice}", self.rule, code.unwrap_or_default())
    }
}

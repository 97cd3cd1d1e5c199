//! The spec of a stored algorithm, and its requirements for jobs.

use serde_json::Value;

use crate::{
    error::violation::Actual,
    validation::{
        draft::Draft,
        json_path::Located,
        report::Report,
        rules::{
            external_facts::{
                ALGORITHM_EXISTS, DATA_FITS_ALGORITHM, JOB_FITS_ALGORITHM, PARAMETER_CHOSEN,
                PARAMETER_IN_RANGE, PARAMETER_REQUIRED, PARAMETER_TYPED,
            },
            parameters::Constraint,
        },
    },
};

/// The spec of an algorithm: channels, hyper-parameters and requirements for the flavor.
///
/// A job with the algorithm must fit the spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlgorithmSpec {
    inputs: Vec<Channel>,
    outputs: Vec<Channel>,
    parameters: Vec<Parameter>,
    /// True if jobs may add hyper-parameters.
    is_open: bool,
    requirements: Vec<Requirement>,
    /// True if the service does not have the algorithm.
    is_missing: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Channel {
    name: String,
    /// The kinds of data that the channel admits, `obs` or `modelarts_dataset`. Empty means any.
    kinds: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Parameter {
    name: String,
    value: Option<String>,
    editable: bool,
    constraint: Constraint,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

impl AlgorithmSpec {
    /// Reads the answer of `ShowAlgorithmByUuid`. Missing fields set no requirement.
    #[must_use]
    pub fn from_json(answer: &Value) -> Self {
        let answer = Located::root(answer);
        let config = answer.at("job_config");
        Self {
            inputs: channels(&config.at("inputs")),
            outputs: channels(&config.at("outputs")),
            parameters: config
                .at("parameters")
                .items()
                .iter()
                .filter_map(parameter)
                .collect(),
            // Otherwise a job may only set the hyper-parameters of the algorithm.
            is_open: config.at("parameters_customization").is_true(),
            requirements: answer
                .at("resource_requirements")
                .items()
                .iter()
                .filter_map(requirement)
                .collect(),
            is_missing: false,
        }
    }

    /// The spec of an algorithm that the service does not have.
    pub(crate) fn missing() -> Self {
        Self {
            is_missing: true,
            ..Self::default()
        }
    }

    pub(crate) fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Adds all contradictions between job and algorithm to the report.
    pub(crate) fn check(&self, draft: &Draft<'_>, report: &mut Report) {
        if !draft.has_stored_algorithm() {
            return;
        }
        if self.is_missing {
            let id = draft.at("algorithm.id");
            report.add(
                ALGORITHM_EXISTS.basis,
                id.path(),
                id.actual(),
                "must be an algorithm that the service has",
                "correct the id, or create the algorithm first",
            );
            return;
        }
        check_channels(&self.inputs, &draft.at("algorithm.inputs"), "input", report);
        check_channels(
            &self.outputs,
            &draft.at("algorithm.outputs"),
            "output",
            report,
        );
        self.check_parameters(&draft.at("algorithm.parameters"), report);
    }

    fn check_parameters(&self, list: &Located<'_>, report: &mut Report) {
        let given = list.items();
        for field in &given {
            let Some(name) = field.at("name").text() else {
                continue;
            };
            let value = field.at("value");
            match self.parameters.iter().find(|known| known.name == name) {
                Some(known) => known.check(&value, report),
                None if self.is_open => {}
                None => report.add(
                    JOB_FITS_ALGORITHM.basis,
                    field.at("name").path(),
                    field.at("name").actual(),
                    match self.parameters.as_slice() {
                        [] => "must not be given, because the algorithm has no hyper-parameters"
                            .to_owned(),
                        known => format!(
                            "must be a hyper-parameter of the algorithm: {}",
                            names(known.iter().map(|known| known.name.as_str())),
                        ),
                    },
                    "leave it out",
                ),
            }
        }
        for known in &self.parameters {
            let is_given = given.iter().any(|field| field.at("name").is(&known.name));
            if !is_given && known.constraint.required && known.value.is_none() {
                report.add(
                    PARAMETER_REQUIRED.basis,
                    format!("{}[{:?}]", list.path(), known.name),
                    Actual::Missing,
                    "must be given, because the algorithm requires this hyper-parameter and has \
                     no default for it",
                    "give it a value",
                );
            }
        }
    }
}

impl Parameter {
    fn check(&self, field: &Located<'_>, report: &mut Report) {
        let value = field.text().unwrap_or_default();
        let same = self.value.as_deref().unwrap_or_default() == value;
        let (rule, requirement, advice) = if !self.editable && !same {
            (
                JOB_FITS_ALGORITHM,
                "must not be changed, because the algorithm fixes this hyper-parameter",
                "leave it out",
            )
        } else if self.constraint.required && value.is_empty() {
            (
                PARAMETER_REQUIRED,
                "must have a value, because the algorithm requires one",
                "give it a value",
            )
        } else if value.is_empty() {
            return;
        } else if !self.constraint.admits_type(value) {
            (
                PARAMETER_TYPED,
                "must be of the type that the algorithm states",
                "correct the value",
            )
        } else if !self.constraint.admits_choice(value) {
            (
                PARAMETER_CHOSEN,
                "must be one of the choices of the algorithm",
                "choose one of them",
            )
        } else if !self.constraint.admits_number(value) {
            (
                PARAMETER_IN_RANGE,
                "must lie in the range of the algorithm",
                "choose a value in the range",
            )
        } else {
            return;
        };
        let mut admitted = Vec::new();
        admitted.extend(self.constraint.kind.clone());
        if !self.constraint.valid_range.is_empty() {
            admitted.push(self.constraint.valid_range.join(", "));
        }
        let advice = match admitted.is_empty() {
            true => advice.to_owned(),
            false => format!("{advice} ({})", admitted.join(": ")),
        };
        report.add(
            rule.basis,
            field.path(),
            field.actual(),
            requirement,
            advice,
        );
    }
}

fn check_channels(known: &[Channel], list: &Located<'_>, direction: &str, report: &mut Report) {
    let given = list.items();
    for field in &given {
        let name = field.at("name");
        let Some(channel) = name
            .text()
            .and_then(|name| known.iter().find(|channel| channel.name == name))
        else {
            report.add(
                JOB_FITS_ALGORITHM.basis,
                name.path(),
                name.actual(),
                format!("must be an {direction} of the algorithm"),
                match known.is_empty() {
                    true => format!("leave it out; the algorithm has no {direction}s"),
                    false => format!(
                        "choose one of its {direction}s: {}",
                        names(known.iter().map(|channel| channel.name.as_str())),
                    ),
                },
            );
            continue;
        };
        let kind = match field.at("remote.dataset").is_given() {
            true => "modelarts_dataset",
            false => "obs",
        };
        if !channel.kinds.is_empty() && !channel.kinds.iter().any(|admitted| admitted == kind) {
            report.add(
                DATA_FITS_ALGORITHM.basis,
                field.at("remote").path(),
                field.at("remote").actual(),
                "must be data of a kind that the algorithm admits",
                format!("give {}", channel.kinds.join(" or ")),
            );
        }
    }
    for channel in known {
        if !given.iter().any(|field| field.at("name").is(&channel.name)) {
            report.add(
                JOB_FITS_ALGORITHM.basis,
                format!("{}[{:?}]", list.path(), channel.name),
                Actual::Missing,
                format!("must be given, because the algorithm has an {direction} of this name"),
                "add it",
            );
        }
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn channels(list: &Located<'_>) -> Vec<Channel> {
    let read = |field: &Located<'_>| {
        // Answers of the service have either name.
        let constraints = ["remote_constraints", "remote_constraint"];
        let kinds = constraints.iter().flat_map(|name| field.at(name).items());
        Some(Channel {
            name: field.at("name").text()?.to_owned(),
            kinds: kinds
                .filter_map(|kind| kind.at("data_type").text().map(str::to_owned))
                .collect(),
        })
    };
    list.items().iter().filter_map(read).collect()
}

fn parameter(field: &Located<'_>) -> Option<Parameter> {
    Some(Parameter {
        name: field.at("name").text()?.to_owned(),
        value: field.at("value").text().map(str::to_owned),
        editable: field.at("constraint.editable").value() != Some(&Value::Bool(false)),
        constraint: Constraint::read(&field.at("constraint")),
    })
}

fn requirement(field: &Located<'_>) -> Option<Requirement> {
    // Requests have `values`; answers have `value` in the documents (`openapi/SOURCES.md`, D-16).
    let values = ["values", "value"].map(|name| field.at(name));
    Some(Requirement {
        key: field.at("key").text()?.to_owned(),
        values: values
            .iter()
            .flat_map(Located::items)
            .filter_map(|value| value.text().map(str::to_owned))
            .collect(),
    })
}

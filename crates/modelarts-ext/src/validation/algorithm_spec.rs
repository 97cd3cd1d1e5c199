//! The spec of an algorithm that the service keeps, and the demands that it makes of a job.

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

/// The spec of an algorithm, which its jobs must fit: channels, hyper-parameters, flavors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlgorithmSpec {
    inputs: Vec<Channel>,
    outputs: Vec<Channel>,
    parameters: Vec<Parameter>,
    open: bool,
    requirements: Vec<Requirement>,
    /// There is no such algorithm.
    missing: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Channel {
    name: String,
    /// The kinds of data that it admits, `obs` or `modelarts_dataset`; none: any.
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
    /// Reads the answer of `ShowAlgorithmByUuid`. What is missing demands nothing.
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
            // Without it a job may only set what the algorithm has.
            open: config.at("parameters_customization").is_true(),
            requirements: answer
                .at("resource_requirements")
                .items()
                .iter()
                .filter_map(requirement)
                .collect(),
            missing: false,
        }
    }

    /// An algorithm that the service does not have.
    pub(crate) fn missing() -> Self {
        Self {
            missing: true,
            ..Self::default()
        }
    }

    pub(crate) fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Finds what contradicts the algorithm.
    pub(crate) fn check(&self, draft: &Draft<'_>, report: &mut Report) {
        if !draft.has_stored_algorithm() {
            return;
        }
        if self.missing {
            let id = draft.at("algorithm.id");
            report.add(
                ALGORITHM_EXISTS.basis,
                id.path(),
                id.actual(),
                "the service has the algorithm",
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
                None if self.open => {}
                None => report.add(
                    JOB_FITS_ALGORITHM.basis,
                    field.at("name").path(),
                    field.at("name").actual(),
                    format!(
                        "the hyper-parameters are those of the algorithm: {}",
                        self.names()
                    ),
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
                    "the algorithm requires this hyper-parameter and has no default for it",
                    "give it a value",
                );
            }
        }
    }

    fn names(&self) -> String {
        match self.parameters.as_slice() {
            [] => "none".into(),
            known => {
                let names: Vec<_> = known.iter().map(|known| known.name.as_str()).collect();
                names.join(", ")
            }
        }
    }
}

impl Parameter {
    fn check(&self, field: &Located<'_>, report: &mut Report) {
        let value = field.text().unwrap_or_default();
        let same = self.value.as_deref().unwrap_or_default() == value;
        let (rule, says, advice) = if !self.editable && !same {
            (
                JOB_FITS_ALGORITHM,
                "the algorithm does not let jobs change this hyper-parameter",
                "leave it out",
            )
        } else if self.constraint.required && value.is_empty() {
            (
                PARAMETER_REQUIRED,
                "the algorithm requires a value",
                "give it a value",
            )
        } else if value.is_empty() {
            return;
        } else if !self.constraint.admits_type(value) {
            (
                PARAMETER_TYPED,
                "the value is of the type that the algorithm names",
                "correct the value",
            )
        } else if !self.constraint.admits_choice(value) {
            (
                PARAMETER_CHOSEN,
                "the value is one of the choices of the algorithm",
                "choose one of them",
            )
        } else if !self.constraint.admits_number(value) {
            (
                PARAMETER_IN_RANGE,
                "the value lies in the range of the algorithm",
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
        report.add(rule.basis, field.path(), field.actual(), says, advice);
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
                format!("the algorithm has an {direction} of this name"),
                match known.is_empty() {
                    true => format!("leave it out; the algorithm has no {direction}"),
                    false => format!("name it as the algorithm does: {}", names(known)),
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
                "the algorithm admits data of this kind",
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
                format!("the algorithm has an {direction} of this name"),
                "give it",
            );
        }
    }
}

fn names(channels: &[Channel]) -> String {
    let names: Vec<_> = channels
        .iter()
        .map(|channel| channel.name.as_str())
        .collect();
    names.join(", ")
}

fn channels(list: &Located<'_>) -> Vec<Channel> {
    let read = |field: &Located<'_>| {
        // The service writes both names.
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
    // Requests have `values`; documents have `value` in answers (SOURCES D-16).
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

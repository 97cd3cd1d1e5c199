//! The spec of a stored algorithm, and its requirements for jobs.

use modelarts_api::{
    decode,
    request_path::{create_training_job::algorithm, input, parameter},
    types::{Algorithm, AlgorithmJobConfig, Parameter, ParameterConstraint, ResourceRequirement},
};
use serde_json::Value;

use crate::{
    error::violation::Actual,
    validation::{
        draft::Draft,
        json_path::{Located, has_content},
        report::Report,
        rules::{
            parameters::{admits_choice, admits_number, admits_type, choices},
            rule,
        },
    },
};

/// Spec of an algorithm: its channels, hyper-parameters, and requirements for the flavor.
///
/// A job that uses the algorithm must fit the spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlgorithmSpec {
    algorithm: Algorithm,
    /// `true` if the algorithm does not exist in the service.
    is_missing: bool,
}

impl From<Algorithm> for AlgorithmSpec {
    fn from(algorithm: Algorithm) -> Self {
        Self { algorithm, is_missing: false }
    }
}

impl AlgorithmSpec {
    /// Parses the response of `ShowAlgorithmByUuid`.
    ///
    /// List elements that cannot be decoded are ignored. A response without `job_config` sets no
    /// requirements for channels and hyper-parameters. If any other value cannot be decoded, the
    /// spec has no requirements.
    #[must_use]
    pub fn from_json(answer: &Value) -> Self {
        let mut answer = answer.clone();
        let inputs = answer.pointer_mut("/job_config/inputs");
        let inputs = inputs.and_then(Value::as_array_mut).into_iter().flatten();
        for input in inputs.filter_map(Value::as_object_mut) {
            // The service uses either of two names for this key.
            let [name, other_name] = ["remote_constraints", "remote_constraint"];
            if !input.get(name).is_some_and(has_content)
                && let Some(constraints) = input.remove(other_name)
            {
                input.insert(name.to_owned(), constraints);
            }
        }
        let decoded = decode::body::<Algorithm>(answer.to_string().as_bytes());
        decoded.map(|(algorithm, _)| algorithm).unwrap_or_default().into()
    }

    /// Returns the spec of an algorithm that does not exist in the service.
    pub(crate) fn missing() -> Self {
        Self { is_missing: true, ..Self::default() }
    }

    pub(crate) fn requirements(&self) -> &[ResourceRequirement] {
        &self.algorithm.resource_requirements
    }

    /// Adds all contradictions between the job and the algorithm to the report.
    pub(crate) fn check(&self, job: Draft<'_>, report: &mut Report) {
        if !job.has_stored_algorithm() {
            return;
        }
        if self.is_missing {
            let id = job.at(algorithm::ID);
            report.add_in_words_of(rule("algorithm-exists"), id.path(), id.actual());
            return;
        }
        let Some(config) = self.algorithm.job_config.as_deref() else {
            return;
        };
        let inputs = config.inputs.iter().filter_map(|input| {
            let kinds = input.remote_constraints.iter();
            let kinds = kinds.filter_map(|kind| given(Some(kind.data_type.as_ref()?.as_str())));
            Some((given(input.name.as_deref())?, kinds.collect()))
        });
        let inputs: Vec<Channel<'_>> = inputs.collect();
        let outputs = config.outputs.iter();
        let outputs = outputs.filter_map(|output| Some((given(output.name.as_deref())?, vec![])));
        let outputs: Vec<Channel<'_>> = outputs.collect();
        check_channels(&inputs, &job.at(algorithm::INPUTS), "input", report);
        check_channels(&outputs, &job.at(algorithm::OUTPUTS), "output", report);
        check_parameters(config, &job.at(algorithm::PARAMETERS), report);
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// Name of a channel, and the kinds of data that it accepts: `obs` or `modelarts_dataset`. If the
/// list is empty, the channel accepts any kind.
type Channel<'a> = (&'a str, Vec<&'a str>);

fn check_channels(known: &[Channel<'_>], list: &Located<'_>, direction: &str, report: &mut Report) {
    let channels = list.items();
    for field in channels.iter() {
        let name = field.at(input::NAME);
        let Some((_, kinds)) = known.iter().find(|(known, _)| name.is(known)) else {
            let advice = match known {
                [] => format!("leave it out; the algorithm has no {direction}s"),
                known => {
                    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
                    format!("choose one of its {direction}s: {}", names.join(", "))
                }
            };
            let requirement = format!("must be an {direction} of the algorithm");
            report.add(rule("job-fits-algorithm"), &name, requirement, advice);
            continue;
        };
        let kind = match field.has(input::remote::DATASET) {
            true => "modelarts_dataset",
            false => "obs",
        };
        if !kinds.is_empty() && !kinds.contains(&kind) {
            let (rule, remote) = (rule("data-fits-algorithm"), field.at(input::REMOTE));
            let advice = format!("give {}", kinds.join(" or "));
            report.add(rule, &remote, &*rule.requirement, advice);
        }
    }
    for (known, _) in known {
        if !channels.iter().any(|field| field.at(input::NAME).is(known)) {
            report.add(
                rule("job-fits-algorithm"),
                &list.entry(known),
                format!("must be given, because the algorithm has an {direction} of this name"),
                "add it",
            );
        }
    }
}

fn check_parameters(config: &AlgorithmJobConfig, list: &Located<'_>, report: &mut Report) {
    let known = config.parameters.iter();
    let known = known.filter_map(|known| Some((given(known.name.as_deref())?, known)));
    let known: Vec<_> = known.collect();
    let parameters = list.items();
    for field in parameters.iter() {
        let name = field.at(parameter::NAME);
        let Some(text) = name.text() else {
            continue;
        };
        if let Some((_, known)) = known.iter().find(|(known, _)| *known == text) {
            check_parameter(known, &field.at(parameter::VALUE), report);
        } else if config.parameters_customization != Some(true) {
            let requirement = match known.as_slice() {
                [] => "must not be given, because the algorithm has no hyper-parameters".to_owned(),
                known => {
                    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
                    let names = names.join(", ");
                    format!("must be a hyper-parameter of the algorithm: {names}")
                }
            };
            report.add(rule("job-fits-algorithm"), &name, requirement, "leave it out");
        }
    }
    for (name, known) in known {
        let is_given = parameters.at(parameter::NAME).iter().any(|field| field.is(name));
        let constraint = known.constraint.as_ref();
        let is_required = constraint.is_some_and(|it| it.required == Some(true));
        if is_required && !is_given && given(known.value.as_deref()).is_none() {
            let path = list.entry(name);
            report.add_in_words_of(rule("parameter-given"), path.path(), Actual::Missing);
        }
    }
}

fn check_parameter(known: &Parameter, field: &Located<'_>, report: &mut Report) {
    let value = field.text().unwrap_or_default();
    let none = ParameterConstraint::default();
    let constraint = known.constraint.as_ref().unwrap_or(&none);
    let is_changed = known.value.as_deref().unwrap_or_default() != value;
    let rule = if constraint.editable == Some(false) && is_changed {
        rule("parameter-fixed")
    } else if constraint.required == Some(true) && value.is_empty() {
        rule("parameter-not-empty")
    } else if value.is_empty() {
        return;
    } else if !admits_type(constraint, value) {
        rule("parameter-typed-by-algorithm")
    } else if !admits_choice(constraint, value) {
        rule("parameter-chosen-by-algorithm")
    } else if !admits_number(constraint, value) {
        rule("parameter-in-range-of-algorithm")
    } else {
        return;
    };
    let kind = constraint.type_.as_ref().map(|kind| kind.as_str());
    let range = choices(constraint).join(", ");
    let admitted = [given(kind), given(Some(&range))];
    let admitted: Vec<_> = admitted.into_iter().flatten().collect();
    let advice = match admitted.is_empty() {
        true => rule.advice.clone(),
        false => format!("{} ({})", rule.advice, admitted.join(": ")),
    };
    report.add(rule, field, &*rule.requirement, advice);
}

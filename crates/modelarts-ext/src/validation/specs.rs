//! Specs of stored algorithms and of flavors, and checks of a job against a spec.

use modelarts_api::{
    decode,
    request_path::{
        create_training_job::{
            algorithm,
            spec::{
                log_export_path,
                resource::{FLAVOR_ID, NODE_COUNT},
            },
        },
        input, parameter,
    },
    types::{
        Algorithm, AlgorithmJobConfig, Parameter, ParameterConstraint, ResourceRequirement,
        ResourceRequirementKey, ShowTrainingJobFlavorsResponse, TrainingFlavor,
    },
};
use serde_json::Value;

use crate::{
    error::violation::Actual,
    spelling::near_names,
    validation::{
        draft::Draft,
        json_path::{Located, has_content},
        report::{Report, Warning},
        rules::{
            parameters::{admits_choice, admits_number, admits_type, choices},
            resources::POOL_FLAVOR_PREFIX,
            rule,
        },
    },
};

/// Spec of an algorithm: channels, hyper-parameters, and requirements for the flavor.
///
/// A job that uses the algorithm must meet the spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlgorithmSpec {
    algorithm: Algorithm,
    is_missing: bool,
}

impl From<Algorithm> for AlgorithmSpec {
    fn from(algorithm: Algorithm) -> Self {
        Self { algorithm, is_missing: false }
    }
}

impl AlgorithmSpec {
    /// Creates a spec from the response of `ShowAlgorithmByUuid`.
    ///
    /// Ignores list elements that cannot be decoded. If another value cannot be decoded, the spec
    /// is empty. Without `job_config`, it has no requirements on channels and hyper-parameters.
    #[must_use]
    pub fn from_json(answer: &Value) -> Self {
        let mut answer = answer.clone();
        let inputs = answer.pointer_mut("/job_config/inputs");
        let inputs = inputs.and_then(Value::as_array_mut).into_iter().flatten();
        for input in inputs.filter_map(Value::as_object_mut) {
            // The service uses two names for this key.
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

    pub(crate) fn missing() -> Self {
        Self { is_missing: true, ..Self::default() }
    }

    pub(crate) fn requirements(&self) -> &[ResourceRequirement] {
        &self.algorithm.resource_requirements
    }

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

/// Name of a channel, and the accepted kinds of data. No kind means any kind.
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

/// Spec of a flavor: kind, number of cards, maximum number of nodes, and disk size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlavorSpec {
    kind: Option<String>,
    cards: i64,
    max_nodes: Option<i64>,
    disk_gb: Option<u64>,
    /// Ids of the flavors of the public pool, if they do not include this flavor.
    existing: Option<Vec<String>>,
}

impl From<&TrainingFlavor> for FlavorSpec {
    fn from(flavor: &TrainingFlavor) -> Self {
        let info = flavor.flavor_info.as_deref();
        let gpus = info.and_then(|info| info.gpu.as_ref()?.unit_num);
        let npus = info.and_then(|info| info.npu.as_ref()?.unit_num);
        let disk = info.and_then(|info| info.disk.as_ref()?.size);
        let kind = flavor.flavor_type.as_ref().map(ToString::to_string);
        Self {
            kind: kind.filter(|kind| !kind.is_empty()),
            cards: gpus.max(npus).unwrap_or_default(),
            max_nodes: flavor.max_num.or(info.and_then(|info| info.max_num)),
            disk_gb: disk.and_then(|size| u64::try_from(size).ok()),
            existing: None,
        }
    }
}

impl FlavorSpec {
    /// Creates a spec from an element of `flavors` in the response of `ShowTrainingJobFlavors`. A
    /// missing field is not a limit. If the flavor cannot be decoded, the spec has no limits.
    #[must_use]
    pub fn from_json(flavor: &Value) -> Self {
        let decoded = decode::body::<TrainingFlavor>(flavor.to_string().as_bytes());
        decoded.map_or_else(|_| Self::default(), |(flavor, _)| Self::from(&flavor))
    }

    /// Returns the spec of the flavor with this id, if a `ShowTrainingJobFlavors` response has it.
    #[must_use]
    pub fn find(answer: &Value, id: &str) -> Option<Self> {
        let flavors = answer.get("flavors")?.as_array()?;
        let flavor = flavors
            .iter()
            .find(|flavor| flavor.get("flavor_id").and_then(Value::as_str) == Some(id))?;
        Some(Self::from_json(flavor))
    }

    /// Returns the spec of a flavor, or `None` if an empty or incomplete response does not have it.
    pub(crate) fn look_up(answer: &ShowTrainingJobFlavorsResponse, id: &str) -> Option<Self> {
        let flavors = answer.flavors.iter();
        let ids = flavors.filter_map(|flavor| Some((flavor.flavor_id.as_deref()?, flavor)));
        let ids: Vec<_> = ids.filter(|(id, _)| !id.is_empty()).collect();
        if let Some((_, flavor)) = ids.iter().find(|(known, _)| *known == id) {
            return Some(Self::from(*flavor));
        }
        let total = answer.total_count.and_then(|count| usize::try_from(count).ok());
        let is_whole = !ids.is_empty() && total.is_none_or(|total| total <= answer.flavors.len());
        let ids = ids.into_iter().map(|(id, _)| id.to_owned());
        is_whole.then(|| Self { existing: Some(ids.collect()), ..Self::default() })
    }

    /// Returns the size of the disk at `/cache`, in GB. Returns `None` if the size is unknown.
    #[must_use]
    pub fn disk_gb(&self) -> Option<u64> {
        self.disk_gb
    }

    pub(crate) fn check(
        &self,
        job: Draft<'_>,
        algorithm: Option<&AlgorithmSpec>,
        report: &mut Report,
    ) {
        let flavor = job.at(FLAVOR_ID);
        if let Some(existing) = &self.existing {
            // The response lists the flavors of the public pool. No source states that it includes
            // flavors of dedicated pools (`openapi/SOURCES.md`, D-67).
            let id = flavor.text().unwrap_or_default();
            if !id.starts_with(POOL_FLAVOR_PREFIX) {
                let existing: Vec<&str> = existing.iter().map(String::as_str).collect();
                let rule = rule("flavor-exists");
                report.add(rule, &flavor, &*rule.requirement, near_names(id, &existing));
            }
            return;
        }
        let nodes = job.at(NODE_COUNT);
        let count = nodes.integer().unwrap_or(1);
        if let Some(most) = self.max_nodes
            && count > most
        {
            let requirement = match most {
                1 => "must be 1, because the flavor is not for distributed jobs".to_owned(),
                most => format!("must be at most {most} with this flavor"),
            };
            let rule = rule("nodes-of-flavor");
            report.add(rule, &nodes, requirement, &*rule.advice);
        }
        for requirement in algorithm.map_or(&[][..], AlgorithmSpec::requirements) {
            let Some(key) = &requirement.key else {
                continue;
            };
            let (field, actual) = match key {
                ResourceRequirementKey::FlavorType => (&flavor, self.kind.as_deref()),
                ResourceRequirementKey::DeviceDistributedMode => {
                    (&flavor, Some(mode(self.cards > 1)))
                }
                ResourceRequirementKey::HostDistributedMode => (&nodes, Some(mode(count > 1))),
                _ => continue,
            };
            // The field is named `values` in requests and, according to the documents, `value` in
            // responses (`openapi/SOURCES.md`, D-16).
            let values = requirement.values.iter().chain(&requirement.value);
            let values = values.map(String::as_str).filter(|value| !value.is_empty());
            let values: Vec<_> = values.collect();
            let admits = |actual: &str| {
                values.is_empty()
                    || values.iter().any(|value| {
                        // An algorithm for several cards or nodes also runs on one card or node.
                        value.eq_ignore_ascii_case(actual)
                            || (actual == "singular" && *value == "multiple")
                    })
            };
            if let Some(actual) = actual.filter(|actual| !admits(actual)) {
                let rule = rule("flavor-fits-algorithm");
                let values = values.join(" or ");
                let requirement =
                    format!("must fit the algorithm: {key} is {actual}, and {values} is required");
                report.add(rule, field, requirement, &*rule.advice);
            }
        }
        let kind = self.kind.as_deref();
        let offers_logs = kind.is_none_or(|kind| ["CPU", "GPU"].contains(&kind));
        let logs = job.at(log_export_path::OBS_URL);
        if logs.is_given() && !offers_logs {
            report.warnings.push(Warning::at(
                &logs,
                "should be given with CPU and GPU flavors only, because others do not offer \
                 persistent logs",
            ));
        }
    }
}

fn mode(several: bool) -> &'static str {
    match several {
        true => "multiple",
        false => "singular",
    }
}

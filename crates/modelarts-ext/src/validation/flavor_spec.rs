//! The spec of a flavor, and its limits for jobs.

use modelarts_api::{
    decode,
    request_path::create_training_job::spec::{
        log_export_path,
        resource::{FLAVOR_ID, NODE_COUNT},
    },
    types::{ResourceRequirementKey, ShowTrainingJobFlavorsResponse, TrainingFlavor},
};
use serde_json::Value;

use crate::{
    spelling::near_names,
    validation::{
        algorithm_spec::AlgorithmSpec,
        draft::Draft,
        report::{Report, Warning},
        rules::{resources::POOL_FLAVOR_PREFIX, rule},
    },
};

/// Spec of a flavor: its kind, number of cards, maximum number of nodes, and disk size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlavorSpec {
    kind: Option<String>,
    cards: i64,
    max_nodes: Option<i64>,
    disk_gb: Option<u64>,
    /// The flavors of the public pool, if this flavor is not among them.
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
    /// Parses one element of `flavors` in the response of `ShowTrainingJobFlavors`. Missing fields
    /// set no limit, and a flavor that cannot be decoded sets none either.
    #[must_use]
    pub fn from_json(flavor: &Value) -> Self {
        let decoded = decode::body::<TrainingFlavor>(flavor.to_string().as_bytes());
        decoded.map_or_else(|_| Self::default(), |(flavor, _)| Self::from(&flavor))
    }

    /// Finds the flavor with this id in the whole response.
    #[must_use]
    pub fn find(answer: &Value, id: &str) -> Option<Self> {
        let flavors = answer.get("flavors")?.as_array()?;
        let flavor = flavors
            .iter()
            .find(|flavor| flavor.get("flavor_id").and_then(Value::as_str) == Some(id))?;
        Some(Self::from_json(flavor))
    }

    /// Finds the flavor with this id in the response of the service. Returns `None` if the response
    /// lacks the flavor but is inconclusive, because it is empty or incomplete.
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

    /// Returns the size of the disk at `/cache`, in GB.
    #[must_use]
    pub fn disk_gb(&self) -> Option<u64> {
        self.disk_gb
    }

    /// Adds all contradictions between the job, the flavor and the algorithm to the report.
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
                        // An algorithm for several cards or nodes also runs on a single one.
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

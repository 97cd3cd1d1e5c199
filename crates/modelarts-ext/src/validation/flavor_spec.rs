//! The spec of a flavor, and its limits for jobs.

use serde_json::Value;

use crate::validation::{
    algorithm_spec::AlgorithmSpec,
    draft::Draft,
    json_path::Located,
    report::{Report, Warning},
    rules::{
        external_facts::{FLAVOR_EXISTS, FLAVOR_FITS_ALGORITHM, NODES_OF_FLAVOR},
        resources::POOL_FLAVOR_PREFIX,
    },
};

const NODES: &str = "spec.resource.node_count";
const FLAVOR: &str = "spec.resource.flavor_id";

/// The spec of a flavor: kind, number of cards, limit on nodes, size of the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlavorSpec {
    kind: Option<String>,
    cards: i64,
    max_nodes: Option<i64>,
    disk_gb: Option<u64>,
    /// The flavors of the public pool, if this one is not among them.
    existing: Option<String>,
}

impl FlavorSpec {
    /// Reads one of the `flavors` in the answer of `ShowTrainingJobFlavors`. Missing fields set no
    /// limit.
    #[must_use]
    pub fn from_json(flavor: &Value) -> Self {
        let flavor = Located::root(flavor);
        let info = flavor.at("flavor_info");
        let cards = ["gpu.unit_num", "npu.unit_num"].map(|path| number(&info.at(path)));
        Self {
            kind: flavor.at("flavor_type").text().map(str::to_owned),
            cards: cards.into_iter().flatten().max().unwrap_or_default(),
            max_nodes: number(&flavor.at("max_num")).or_else(|| number(&info.at("max_num"))),
            disk_gb: number(&info.at("disk.size")).and_then(|size| u64::try_from(size).ok()),
            existing: None,
        }
    }

    /// Reads the flavor with this id from the whole answer.
    #[must_use]
    pub fn find(answer: &Value, id: &str) -> Option<Self> {
        let flavors = answer.get("flavors")?.as_array()?;
        let flavor = flavors
            .iter()
            .find(|flavor| flavor.get("flavor_id").and_then(Value::as_str) == Some(id))?;
        Some(Self::from_json(flavor))
    }

    /// The spec of a flavor that is not in the answer. `None` if the answer is empty or has only a
    /// part of the flavors, and so does not rule the flavor out.
    pub(crate) fn missing(answer: &Value) -> Option<Self> {
        let answer = Located::root(answer);
        let flavors = answer.at("flavors").items();
        let ids: Vec<_> = flavors
            .iter()
            .filter_map(|flavor| flavor.at("flavor_id").text())
            .collect();
        let total = number(&answer.at("total_count")).and_then(|count| usize::try_from(count).ok());
        let is_whole = !ids.is_empty() && total.is_none_or(|total| total <= flavors.len());
        is_whole.then(|| Self {
            existing: Some(ids.join(", ")),
            ..Self::default()
        })
    }

    /// The size of the disk at `/cache`, in GB.
    #[must_use]
    pub fn disk_gb(&self) -> Option<u64> {
        self.disk_gb
    }

    /// Adds all contradictions between job, flavor and algorithm to the report.
    pub(crate) fn check(
        &self,
        draft: &Draft<'_>,
        algorithm: Option<&AlgorithmSpec>,
        report: &mut Report,
    ) {
        if let Some(existing) = &self.existing {
            let flavor = draft.at(FLAVOR);
            // The list is that of the public pool. No source lists flavors of dedicated pools in it
            // (`openapi/SOURCES.md`, D-67).
            if flavor
                .text()
                .is_some_and(|id| id.starts_with(POOL_FLAVOR_PREFIX))
            {
                return;
            }
            report.add(
                FLAVOR_EXISTS.basis,
                flavor.path(),
                flavor.actual(),
                "must be a flavor that the public pool offers",
                format!("choose one of these: {existing}"),
            );
            return;
        }
        let nodes = draft.at(NODES);
        let count = nodes.integer().unwrap_or(1);
        if let Some(most) = self.max_nodes
            && count > most
        {
            report.add(
                NODES_OF_FLAVOR.basis,
                nodes.path(),
                nodes.actual(),
                match most {
                    1 => "must be 1, because the flavor is not for distributed jobs".to_owned(),
                    most => format!("must be at most {most} with this flavor"),
                },
                "ask for fewer nodes, or choose another flavor",
            );
        }
        for requirement in algorithm.map_or(&[][..], AlgorithmSpec::requirements) {
            let (field, is) = match requirement.key.as_str() {
                "flavor_type" => (draft.at(FLAVOR), self.kind.as_deref()),
                "device_distributed_mode" => (draft.at(FLAVOR), Some(mode(self.cards > 1))),
                "host_distributed_mode" => (draft.at(NODES), Some(mode(count > 1))),
                _ => continue,
            };
            let admits = |is: &str| {
                requirement.values.is_empty()
                    || requirement.values.iter().any(|value| {
                        // An algorithm for several cards or nodes runs on one, too.
                        value.eq_ignore_ascii_case(is) || (is == "singular" && value == "multiple")
                    })
            };
            if is.is_some_and(|is| !admits(is)) {
                report.add(
                    FLAVOR_FITS_ALGORITHM.basis,
                    field.path(),
                    field.actual(),
                    format!(
                        "must fit the algorithm: {} is {}, and {} is required",
                        requirement.key,
                        is.unwrap_or_default(),
                        requirement.values.join(" or "),
                    ),
                    "choose a flavor and a number of nodes that fit",
                );
            }
        }
        let logs = draft.at("spec.log_export_path.obs_url");
        let is_offered = self
            .kind
            .as_deref()
            .is_none_or(|kind| ["CPU", "GPU"].contains(&kind));
        if logs.is_given() && !is_offered {
            report.warnings.push(Warning::new(
                logs.path(),
                logs.actual(),
                "should be given with CPU and GPU flavors only, because others do not offer \
                 persistent logs",
            ));
        }
    }
}

/// A number, which the service also writes as text.
fn number(field: &Located<'_>) -> Option<i64> {
    field.integer().or_else(|| field.text()?.parse().ok())
}

fn mode(several: bool) -> &'static str {
    match several {
        true => "multiple",
        false => "singular",
    }
}

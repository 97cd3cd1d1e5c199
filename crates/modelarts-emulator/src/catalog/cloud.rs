//! The two clouds that offer this API, and their differences.

use std::ops::RangeInclusive;

use crate::catalog::operations::Operation;

/// The cloud to emulate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cloud {
    /// Open Telekom Cloud, with 25 of the operations and two kinds of jobs.
    Otc,
    /// Huawei Cloud, with all operations and kinds of jobs.
    #[default]
    Huawei,
}

/// Operations that Open Telekom Cloud documents (SOURCES O). Huawei Cloud offers them as well.
#[rustfmt::skip]
const COMMON_OPERATIONS: [Operation; 25] = {
    use Operation as O;
    [
        O::CreateTrainingJob, O::ListTrainingJobs, O::ShowTrainingJobDetails,
        O::ChangeTrainingJobDescription, O::DeleteTrainingJob, O::StopTrainingJob,
        O::ListTrainingJobEvents, O::ShowTrainingJobLogsPreview, O::ShowObsUrlOfTrainingJobLogs,
        O::ShowTrainingJobMetrics, O::ShowTrainingJobEngines, O::ShowTrainingJobFlavors,
        O::CreateAlgorithm, O::ListAlgorithms, O::ShowAlgorithmByUuid, O::ChangeAlgorithm,
        O::DeleteAlgorithm, O::ShowSearchAlgorithms, O::ShowAutoSearchTrials,
        O::ShowAutoSearchPerTrial, O::ShowAutoSearchParamsAnalysis,
        O::ShowAutoSearchParamAnalysisResultPath, O::ShowAutoSearchTrialEarlyStop,
        O::ShowAutoSearchYamlTemplatesInfo, O::ShowAutoSearchYamlTemplateContent,
    ]
};

impl Cloud {
    /// Returns true if the cloud offers this operation.
    pub(crate) fn has(self, operation: Operation) -> bool {
        self == Self::Huawei || COMMON_OPERATIONS.contains(&operation)
    }

    /// Returns true if the cloud offers an operation at this path, or if neither cloud does.
    pub(crate) fn has_path(self, path: &str) -> bool {
        let steps = || path.split('/').skip(3);
        let is_here = |operation: &&Operation| {
            let own = operation.path().split('/').skip(1);
            own.clone().count() == steps().count()
                && own
                    .zip(steps())
                    .all(|(own, step)| own == step || own.starts_with('{'))
        };
        let mut here = Operation::ALL.iter().filter(is_here).peekable();
        here.peek().is_none() || here.any(|operation| self.has(*operation))
    }

    /// Returns true if the cloud may offer an undocumented API at this path. For Open Telekom
    /// Cloud, all paths of training management are known, but not those of other parts of
    /// ModelArts.
    pub(crate) fn may_have(self, path: &str) -> bool {
        let Some(first) = path.split('/').nth(3) else {
            return true;
        };
        let mut known = Operation::ALL.iter().map(|operation| operation.path());
        let training = first == "gallery-algorithm-publication"
            || known.any(|known| known.split('/').nth(1) == Some(first));
        self == Self::Huawei || !training
    }

    /// Returns the values of `kind` that the service defines. The emulator rejects all except `job`
    /// and `hetero_job` with 501.
    pub(crate) const fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Otc => &["job", "visualization_job"],
            Self::Huawei => &[
                "job",
                "visualization_job",
                "federated_pool_job",
                "edge_job",
                "hetero_job",
                "mrs_job",
                "autosearch_job",
                "diag_job",
            ],
        }
    }

    /// Returns the allowed values of the annotation `fault-tolerance/job-retry-num`, from the user
    /// guide of each cloud (SOURCES, rule `retries-in-range`).
    pub(crate) const fn retries(self) -> RangeInclusive<i64> {
        match self {
            Self::Otc => 1..=3,
            Self::Huawei => 1..=128,
        }
    }

    /// Returns the region, which is also the project name in token logins.
    pub(crate) const fn region(self) -> &'static str {
        match self {
            Self::Otc => "eu-de",
            Self::Huawei => "cn-north-4",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_cloud_has_the_operations_that_the_description_gives_it() {
        let root: Value =
            serde_saphyr::from_str(include_str!("../../../../openapi/modelarts.yaml")).unwrap();
        let items = root["paths"].as_object().unwrap().iter();
        let operations = items.flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().values();
            methods.map(move |operation| (path, operation))
        });
        let mut checked = 0;
        for (path, described) in operations.filter(|(_, it)| it["operationId"].is_string()) {
            let id = described["operationId"].as_str().unwrap();
            let clouds = described["x-clouds"].as_array().unwrap();
            let first = path.split('/').nth(3);
            let mut modelled = Operation::ALL.iter().map(|it| it.path());
            let is_known = modelled.any(|known| known.split('/').nth(1) == first);
            for (cloud, name) in [(Cloud::Huawei, "huawei"), (Cloud::Otc, "otc")] {
                let there = match Operation::ALL.iter().find(|it| it.id() == id) {
                    Some(operation) => cloud.has(*operation),
                    None if is_known => cloud.may_have(path),
                    // The emulator has no operation in this part of the service, so that it denies
                    // none.
                    None => continue,
                };
                assert_eq!(there, clouds.contains(&json!(name)), "{id} of {name}");
            }
            checked += 1;
        }
        assert!(checked >= 55, "{checked}");
    }

    #[test]
    fn other_parts_of_modelarts_are_not_denied() {
        for path in [
            "/v2/p/pools",
            "/v2/p/job/training-job-engines/x",
            "/v2/p",
            "/v2/",
        ] {
            assert!(Cloud::Otc.may_have(path), "{path}");
        }
        for path in ["/v2/p/training-jobs/x/other", "/v2/p/algorithms/x/y"] {
            assert!(!Cloud::Otc.may_have(path), "{path}");
            assert!(Cloud::Huawei.may_have(path), "{path}");
        }
    }
}

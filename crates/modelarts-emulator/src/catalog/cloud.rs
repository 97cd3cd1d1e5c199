//! The two clouds that offer this API, and their differences.

use std::ops::RangeInclusive;

use modelarts_api::Operation;

use crate::catalog::operations::{modelled, relative_path};

/// The cloud to emulate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Cloud {
    /// Open Telekom Cloud, with 25 of the operations and two kinds of jobs.
    Otc,
    /// Huawei Cloud, with all operations and kinds of jobs.
    #[default]
    Huawei,
}

impl Cloud {
    /// Returns the name of the cloud in the API description.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Otc => "otc",
            Self::Huawei => "huawei",
        }
    }

    pub(crate) fn has(self, operation: &Operation) -> bool {
        operation.clouds.contains(&self.name())
    }

    /// Returns `false` if the emulator implements operations at this path for the other cloud only.
    pub(crate) fn has_path(self, path: &str) -> bool {
        let steps = || path.split('/').skip(3);
        let is_here = |operation: &&Operation| {
            let own = relative_path(operation).split('/').skip(1);
            own.clone().count() == steps().count()
                && own.zip(steps()).all(|(own, step)| own == step || own.starts_with('{'))
        };
        let mut here = modelled().filter(is_here).peekable();
        here.peek().is_none() || here.any(|operation| self.has(operation))
    }

    /// Returns `true` if the cloud may offer an undocumented API at this path.
    pub(crate) fn may_have(self, path: &str) -> bool {
        let Some(first) = path.split('/').nth(3) else {
            return true;
        };
        let mut known = modelled().map(relative_path);
        let training = first == "gallery-algorithm-publication"
            || known.any(|known| known.split('/').nth(1) == Some(first));
        self == Self::Huawei || !training
    }

    /// Returns the values of `kind` on the cloud. The emulator runs only `job` and `hetero_job`.
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

    /// Returns the range of `fault-tolerance/job-retry-num` (SOURCES, rule `retries-in-range`).
    pub(crate) const fn retries(self) -> RangeInclusive<i64> {
        match self {
            Self::Otc => 1..=3,
            Self::Huawei => 1..=128,
        }
    }

    /// Returns the region, which is also the default name of projects.
    pub(crate) const fn region(self) -> &'static str {
        match self {
            Self::Otc => "eu-de",
            Self::Huawei => "cn-north-4",
        }
    }
}

#[cfg(test)]
mod tests {
    use modelarts_api::OPERATIONS;

    use super::*;

    #[test]
    fn operations_that_are_not_modelled_are_not_denied_by_their_cloud() {
        let is_known = |operation: &&Operation| {
            let first = |operation| relative_path(operation).split('/').nth(1);
            modelled().any(|known| first(known) == first(operation))
        };
        for operation in OPERATIONS.iter().filter(is_known) {
            for cloud in [Cloud::Huawei, Cloud::Otc] {
                if modelled().all(|known| known.id != operation.id) {
                    let there = cloud.may_have(operation.path);
                    assert_eq!(there, cloud.has(operation), "{} of {cloud:?}", operation.id);
                }
            }
        }
        let in_both = OPERATIONS.iter().filter(|it| Cloud::Otc.has(it)).count();
        assert!(in_both >= 25, "{in_both}");
    }

    #[test]
    fn other_parts_of_modelarts_are_not_denied() {
        for path in ["/v2/p/pools", "/v2/p/job/training-job-engines/x", "/v2/p", "/v2/"] {
            assert!(Cloud::Otc.may_have(path), "{path}");
        }
        for path in ["/v2/p/training-jobs/x/other", "/v2/p/algorithms/x/y"] {
            assert!(!Cloud::Otc.may_have(path), "{path}");
            assert!(Cloud::Huawei.may_have(path), "{path}");
        }
    }
}

//! The two clouds that speak this API, and where they differ.

use std::ops::RangeInclusive;

/// Whose service the emulator is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cloud {
    /// Open Telekom Cloud.
    #[default]
    Otc,
    /// Huawei Cloud.
    Huawei,
}

impl Cloud {
    /// Values of `kind` that the service knows. All but `job` and `hetero_job` are refused with 501.
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

    /// Values of the annotation `fault-tolerance/job-retry-num` (domain.md section 4).
    pub(crate) const fn retries(self) -> RangeInclusive<i64> {
        match self {
            Self::Otc => 1..=3,
            Self::Huawei => 1..=128,
        }
    }

    /// The region, which is also the name of the project that token logins ask for.
    pub(crate) const fn region(self) -> &'static str {
        match self {
            Self::Otc => "eu-de",
            Self::Huawei => "cn-north-4",
        }
    }
}

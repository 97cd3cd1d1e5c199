//! Conditions of a search, held against a job that is at hand.

use std::time::SystemTime;

use modelarts_api::types::{FilterKey, FilterOperator};

use crate::jobs::{filter::Filter, job::Job};

impl Filter {
    /// Whether the condition holds for this job, as it was when it was last looked at.
    /// `None` where the details of a job do not tell, such as for the id of its user
    /// or for a key that this crate does not know.
    ///
    /// * `like`: the text contains the value; upper and lower case are different.
    /// * `in`: the value is one of these; `not`: it is none of these. Phases and kinds
    ///   are compared without regard to case, all else exactly.
    /// * `between`: both ends are included.
    ///
    /// The service does not say in all of this how it compares; the emulator does it
    /// in the same way.
    #[must_use]
    pub fn matches(&self, job: &Job) -> Option<bool> {
        if self.operator == FilterOperator::Between {
            return self.spans(job.created_at()?);
        }
        let value = self.value_of(job)?;
        let regardless = matches!(self.key, FilterKey::Phase | FilterKey::Kind);
        let same =
            |wanted: &String| *wanted == value || regardless && wanted.eq_ignore_ascii_case(&value);
        Some(match self.operator {
            FilterOperator::Like => self.values.iter().all(|part| value.contains(part.as_str())),
            FilterOperator::Not => !self.values.iter().any(same),
            _ => self.values.iter().any(same),
        })
    }

    fn spans(&self, time: SystemTime) -> Option<bool> {
        if self.key != FilterKey::CreateTime {
            return None;
        }
        let [start, end] = self.values.as_slice() else {
            return None;
        };
        let at = |text: &str| Some(SystemTime::from(text.parse::<jiff::Timestamp>().ok()?));
        Some((at(start)?..=at(end)?).contains(&time))
    }

    /// What the condition is about. A job that is in no pool, or under no experiment,
    /// has an empty text there.
    fn value_of(&self, job: &Job) -> Option<String> {
        let details = job.details();
        let metadata = details.metadata.as_ref();
        let spec = details.spec.as_ref();
        let algorithm = details.algorithm.as_ref();
        Some(match &self.key {
            FilterKey::Id => job.id().to_owned(),
            FilterKey::Name => job.name().to_owned(),
            FilterKey::Phase => job.phase().to_string(),
            FilterKey::Kind => details.kind.as_ref()?.to_string(),
            FilterKey::AlgorithmName => algorithm?.name.clone().unwrap_or_default(),
            FilterKey::AlgorithmId => algorithm?.id.clone().unwrap_or_default(),
            FilterKey::PoolId => spec?.resource.as_ref()?.pool_id.clone().unwrap_or_default(),
            FilterKey::RuntimeType => spec?.runtime_type.as_ref()?.to_string(),
            FilterKey::Priority => spec?.schedule_policy.as_ref()?.priority?.to_string(),
            FilterKey::TrainingExperimentId => metadata?
                .training_experiment_reference
                .as_ref()
                .and_then(|experiment| experiment.id.clone())
                .unwrap_or_default(),
            FilterKey::Other(key) if key == "user_name" => metadata?.user_name.clone()?,
            _ => return None,
        })
    }
}

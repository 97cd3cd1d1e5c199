//! Conditions for the job search.

use std::{fmt::Display, marker::PhantomData, time::SystemTime};

use modelarts_api::types::{FilterKey, FilterOperator, JobFilter, JobKind, Phase};

use crate::error::Error;

/// One condition of a search. All conditions of a search must hold.
///
/// ```
/// use modelarts_ext::{Filter, types::Phase};
///
/// let running = Filter::phase().is_in([Phase::Running, Phase::Pending]);
/// let mine = Filter::name().like("bert");
/// # let _ = (running, mine);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    key: FilterKey,
    operator: FilterOperator,
    values: Vec<String>,
}

/// A key that takes a set of values of type `T`.
#[must_use]
pub struct OneOf<T>(FilterKey, PhantomData<T>);

/// A key that is searched for a part of its text.
#[must_use]
pub struct Like(FilterKey);

/// A key that takes a range of times.
#[must_use]
pub struct Between(FilterKey);

impl Filter {
    /// The phase of the job.
    pub fn phase() -> OneOf<Phase> {
        OneOf(FilterKey::Phase, PhantomData)
    }

    /// The kind of the job.
    pub fn kind() -> OneOf<JobKind> {
        OneOf(FilterKey::Kind, PhantomData)
    }

    /// The id of the job.
    pub fn id() -> OneOf<String> {
        OneOf(FilterKey::Id, PhantomData)
    }

    /// The IAM id of the user who made the job.
    pub fn user_id() -> OneOf<String> {
        OneOf(FilterKey::UserId, PhantomData)
    }

    /// The name of the job.
    pub fn name() -> Like {
        Like(FilterKey::Name)
    }

    /// The name of the algorithm that the job runs.
    pub fn algorithm_name() -> Like {
        Like(FilterKey::AlgorithmName)
    }

    /// When the job was made.
    pub fn create_time() -> Between {
        Between(FilterKey::CreateTime)
    }

    /// A condition that this crate does not know.
    #[must_use]
    pub fn raw(
        key: impl Into<FilterKey>,
        operator: FilterOperator,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            key: key.into(),
            operator,
            values: values.into_iter().map(Into::into).collect(),
        }
    }

    /// What would make the service ignore the condition and find everything: it
    /// takes blank values for no condition at all.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.values.is_empty() || self.values.iter().any(|value| value.trim().is_empty()) {
            return Err(Error::invalid(format!(
                "filter {}: a blank value, which the service takes for no condition at all; leave \
                 the filter out to find everything",
                self.key
            )));
        }
        Ok(())
    }

    pub(crate) fn into_body(self) -> Result<JobFilter, Error> {
        JobFilter::builder()
            .key(self.key)
            .operator(self.operator)
            .value(self.values)
            .try_into()
            .map_err(|error| Error::invalid(format!("filter: {error}")))
    }
}

impl<T: Display> OneOf<T> {
    /// It is one of these.
    #[must_use]
    pub fn is_in(self, values: impl IntoIterator<Item = impl Into<T>>) -> Filter {
        self.with(FilterOperator::In, values)
    }

    /// It is this.
    #[must_use]
    pub fn is(self, value: impl Into<T>) -> Filter {
        self.with(FilterOperator::In, [value])
    }

    /// It is none of these.
    #[must_use]
    pub fn is_not_in(self, values: impl IntoIterator<Item = impl Into<T>>) -> Filter {
        self.with(FilterOperator::Not, values)
    }

    fn with(
        self,
        operator: FilterOperator,
        values: impl IntoIterator<Item = impl Into<T>>,
    ) -> Filter {
        let values = values.into_iter().map(|value| value.into().to_string());
        Filter::raw(self.0, operator, values)
    }
}

impl Like {
    /// It contains this text.
    #[must_use]
    pub fn like(self, text: impl Into<String>) -> Filter {
        Filter::raw(self.0, FilterOperator::Like, [text.into()])
    }
}

impl Between {
    /// It lies between two times, both included.
    #[must_use]
    pub fn between(self, start: SystemTime, end: SystemTime) -> Filter {
        let text = |time| {
            jiff::Timestamp::try_from(time)
                .unwrap_or_default()
                .to_string()
        };
        Filter::raw(self.0, FilterOperator::Between, [text(start), text(end)])
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn json(filter: Filter) -> serde_json::Value {
        serde_json::to_value(filter.into_body().unwrap()).unwrap()
    }

    #[test]
    fn conditions_are_written_as_the_service_reads_them() {
        assert_eq!(
            json(Filter::phase().is_in([Phase::Running, Phase::Pending])),
            json!({"key": "phase", "operator": "in", "value": ["Running", "Pending"]})
        );
        assert_eq!(
            json(Filter::phase().is_not_in([Phase::Failed])),
            json!({"key": "phase", "operator": "not", "value": ["Failed"]})
        );
        assert_eq!(
            json(Filter::name().like("bert")),
            json!({"key": "name", "operator": "like", "value": ["bert"]})
        );
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        assert_eq!(
            json(Filter::create_time().between(start, start + Duration::from_millis(1500))),
            json!({"key": "create_time", "operator": "between",
                   "value": ["2026-01-15T08:30:45Z", "2026-01-15T08:30:46.5Z"]})
        );
        assert_eq!(
            json(Filter::raw("cluster", FilterOperator::In, ["a"])),
            json!({"key": "cluster", "operator": "in", "value": ["a"]})
        );
    }

    #[test]
    fn blank_conditions_are_refused_by_name() {
        let none: [Phase; 0] = [];
        assert_eq!(
            Filter::phase().is_in(none).check().unwrap_err().to_string(),
            "filter phase: a blank value, which the service takes for no condition at all; leave \
             the filter out to find everything"
        );
        assert!(Filter::name().like(" ").check().is_err());
        assert!(Filter::name().like("x").check().is_ok());
    }
}

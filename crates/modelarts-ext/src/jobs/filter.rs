//! `Filter`: a condition of the job search, sent to the service or evaluated locally.

use std::{fmt::Display, marker::PhantomData, time::Duration};

use modelarts_api::types::{FilterKey, FilterOperator, JobFilter, JobKind, Phase, RuntimeType};

use crate::{error::Error, jobs::job::Job, timestamp::Timestamp};

/// Maximum number of values, stated only by the vendor's Terraform provider (SOURCES T).
pub(super) const MAX_VALUES: usize = 10;
pub(super) const MAX_SPAN: Duration = Duration::from_secs(31 * 24 * 3600);

/// Condition of a search for jobs. A search returns the jobs that meet all its conditions.
///
/// The vendor's Terraform provider permits 20 conditions in a search, with 10 values each.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use modelarts_ext::{Filter, types::Phase};
///
/// let now = SystemTime::now();
/// let alive = Filter::phase().is_in([Phase::Running, Phase::Pending]);
/// let mine = Filter::name().like("bert");
/// let lately = Filter::create_time().after(now - Duration::from_secs(3600));
/// # let _ = (alive, mine, lately);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    key: FilterKey,
    operator: FilterOperator,
    values: Vec<String>,
    range: Option<(Timestamp, Timestamp)>,
    problem: Option<String>,
}

/// Key of conditions that compare a value of type `T` with a set of values.
#[must_use]
pub struct SetKey<T>(FilterKey, PhantomData<T>);

/// Key of conditions on a string: that it contains a text, or equals none of several strings.
#[must_use]
pub struct TextKey(FilterKey);

/// Key of conditions on a time range.
#[must_use]
pub struct TimeKey(FilterKey);

impl Filter {
    /// Filters by the phase of the job.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::{Filter, types::Phase};
    ///
    /// let is_active = Filter::phase().is_in([Phase::Pending, Phase::Running]);
    /// let jobs = client.training_jobs().list().filter(is_active).collect(100).await?;
    /// println!("{} jobs wait or run", jobs.len());
    /// # Ok(()) }
    /// ```
    pub fn phase() -> SetKey<Phase> {
        SetKey(FilterKey::Phase, PhantomData)
    }

    /// Filters by the kind of the job.
    pub fn kind() -> SetKey<JobKind> {
        SetKey(FilterKey::Kind, PhantomData)
    }

    /// Filters by the id of the job.
    pub fn id() -> SetKey<String> {
        SetKey(FilterKey::Id, PhantomData)
    }

    /// Filters by the IAM id of the user who created the job.
    pub fn user_id() -> SetKey<String> {
        SetKey(FilterKey::UserId, PhantomData)
    }

    /// Filters by the name of the user who created the job. Some releases reject this key.
    pub fn user_name() -> SetKey<String> {
        SetKey(FilterKey::from("user_name"), PhantomData)
    }

    /// Filters by the id of the algorithm that the job runs.
    pub fn algorithm_id() -> SetKey<String> {
        SetKey(FilterKey::AlgorithmId, PhantomData)
    }

    /// Filters by the id of the dedicated pool in which the job runs.
    pub fn pool_id() -> SetKey<String> {
        SetKey(FilterKey::PoolId, PhantomData)
    }

    /// Filters by the id of the experiment of the job.
    pub fn training_experiment_id() -> SetKey<String> {
        SetKey(FilterKey::TrainingExperimentId, PhantomData)
    }

    /// Filters by the runtime type of the job, such as debugging.
    pub fn runtime_type() -> SetKey<RuntimeType> {
        SetKey(FilterKey::RuntimeType, PhantomData)
    }

    /// Filters by the priority of the job in its pool, 1 to 3.
    pub fn priority() -> SetKey<u8> {
        SetKey(FilterKey::Priority, PhantomData)
    }

    /// Filters by the name of the job.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::Filter;
    ///
    /// let sweep = client.training_jobs().list().filter(Filter::name().like("sweep-"));
    /// for job in sweep.collect(100).await? {
    ///     println!("{job}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn name() -> TextKey {
        TextKey(FilterKey::Name)
    }

    /// Filters by the name of the algorithm that the job runs.
    pub fn algorithm_name() -> TextKey {
        TextKey(FilterKey::AlgorithmName)
    }

    /// Filters by the creation time of the job.
    pub fn create_time() -> TimeKey {
        TimeKey(FilterKey::CreateTime)
    }

    pub(super) fn is_on_phase(&self) -> bool {
        self.key == FilterKey::Phase
    }

    /// Creates a condition with any key. Only an empty list and blank values are rejected.
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
            range: None,
            problem: None,
        }
    }

    fn with_known_key(key: FilterKey, operator: FilterOperator, values: Vec<String>) -> Self {
        let problem = if values.len() > MAX_VALUES {
            let count = values.len();
            Some(format!("{count} values; must be at most {MAX_VALUES}"))
        } else if key == FilterKey::Priority {
            let mut values = values.iter();
            let other = values.find(|value| !["1", "2", "3"].contains(&value.as_str()));
            other.map(|value| format!("{value}; they are 1 to 3"))
        } else {
            None
        };
        Self { key, operator, values, range: None, problem }
    }

    /// Rejects values of the wrong form, and blank values, for which the service returns every job.
    fn check(&self) -> Result<(), Error> {
        if self.values.is_empty() || self.values.iter().any(|value| value.trim().is_empty()) {
            return Err(Error::invalid(format!(
                "filter {}: a blank value, which the service takes for no condition at all; leave \
                 the filter out to find everything",
                self.key
            )));
        }
        match &self.problem {
            Some(problem) => Err(Error::invalid(format!("filter {}: {problem}", self.key))),
            None => Ok(()),
        }
    }

    pub(super) fn range(&self) -> Option<(Timestamp, Timestamp)> {
        self.range
    }

    pub(super) fn body(&self) -> Result<JobFilter, Error> {
        self.check()?;
        JobFilter::builder()
            .key(self.key.clone())
            .operator(self.operator)
            .value(self.values.clone())
            .try_into()
            .map_err(|error| Error::invalid(format!("filter: {error}")))
    }
}

impl<T: Display> SetKey<T> {
    /// Matches jobs whose value is any of these values.
    #[must_use]
    pub fn is_in(self, values: impl IntoIterator<Item = impl Into<T>>) -> Filter {
        let values = values.into_iter().map(|value| value.into().to_string());
        Filter::with_known_key(self.0, FilterOperator::In, values.collect())
    }

    /// Matches jobs whose value is this value.
    #[must_use]
    pub fn is(self, value: impl Into<T>) -> Filter {
        self.is_in([value])
    }

    /// Matches jobs whose value is none of these values. No document defines the operator `not`.
    #[must_use]
    pub fn is_not_in(self, values: impl IntoIterator<Item = impl Into<T>>) -> Filter {
        let values = values.into_iter().map(|value| value.into().to_string());
        Filter::with_known_key(self.0, FilterOperator::Not, values.collect())
    }

    /// Matches jobs whose value is not this value; see [`is_not_in`](Self::is_not_in).
    #[must_use]
    pub fn is_not(self, value: impl Into<T>) -> Filter {
        self.is_not_in([value])
    }
}

impl TextKey {
    /// Matches jobs whose value contains this string.
    #[must_use]
    pub fn like(self, text: impl Into<String>) -> Filter {
        Filter::with_known_key(self.0, FilterOperator::Like, vec![text.into()])
    }

    /// Matches jobs whose value is none of these strings; see [`SetKey::is_not_in`].
    #[must_use]
    pub fn is_not_in(self, texts: impl IntoIterator<Item = impl Into<String>>) -> Filter {
        let texts = texts.into_iter().map(Into::into);
        Filter::with_known_key(self.0, FilterOperator::Not, texts.collect())
    }
}

impl TimeKey {
    /// Matches times between `start` and `end`, inclusive.
    ///
    /// A range of more than 31 days, the limit of the service, is read by several searches, each
    /// job once and in the order of the list; [`Page::total`](crate::pagination::Page::total) is
    /// then `None`. Such a range ends at the latest one minute from now, and has at most 3,720 days
    /// (120 searches). To resume such a list, keep the start; the end may differ.
    ///
    /// Several conditions on a time are combined to their common range, which must not be empty.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::{Filter, Timestamp};
    ///
    /// let start: Timestamp = "2026-01-01T00:00:00+08:00".parse()?;
    /// let end: Timestamp = "2026-02-01T00:00:00+08:00".parse()?;
    /// let january = Filter::create_time().between(start, end);
    /// let jobs = client.training_jobs().list().filter(january).collect(1000).await?;
    /// println!("{} jobs", jobs.len());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn between(self, start: impl Into<Timestamp>, end: impl Into<Timestamp>) -> Filter {
        let (start, end) = (start.into(), end.into());
        Filter {
            range: Some((start, end)),
            problem: (end < start).then(|| "the end is before the start".to_owned()),
            ..Filter::raw(self.0, FilterOperator::Between, [start.to_string(), end.to_string()])
        }
    }

    /// Matches times from `start`, inclusive, to one minute from now, because clocks differ. The
    /// start may be more than 31 days ago; see [`between`](Self::between).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # hello(&emulator, &client, "recent")?.submit().await?;
    /// use std::time::{Duration, SystemTime};
    /// use modelarts_ext::Filter;
    ///
    /// let quarter = SystemTime::now() - Duration::from_secs(90 * 24 * 3600);
    /// let recent = client.training_jobs().list().filter(Filter::create_time().after(quarter));
    /// for job in recent.oldest_first().collect(100).await? {
    ///     println!("{:?} {job}", job.created_at());
    /// #   assert_eq!(job.name(), "recent");
    /// }
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn after(self, start: impl Into<Timestamp>) -> Filter {
        self.between(start, Timestamp::MAX)
    }
}

impl Filter {
    /// Evaluates the condition for the details of a job as they were last read. Returns `None` if
    /// the details lack the value, such as the id of the user, or the key or a time is unknown.
    ///
    /// * `like`: the text contains the value, case-sensitively.
    /// * `in`: equals one of the values; `not`: equals none of them. Phases and kinds are compared
    ///   ignoring case, all other values exactly.
    /// * `between` and `after`: both ends are included.
    ///
    /// The emulator compares values in the same way. Documents specify the comparison only in part.
    #[must_use]
    pub fn matches(&self, job: &Job) -> Option<bool> {
        if self.operator == FilterOperator::Between {
            return self.contains_time(job.created_at()?);
        }
        let value = self.value_in(job)?;
        let ignore_case = matches!(self.key, FilterKey::Phase | FilterKey::Kind);
        let equals = |wanted: &String| {
            *wanted == value || ignore_case && wanted.eq_ignore_ascii_case(&value)
        };
        Some(match self.operator {
            FilterOperator::Like => self.values.iter().all(|part| value.contains(part.as_str())),
            FilterOperator::Not => !self.values.iter().any(equals),
            _ => self.values.iter().any(equals),
        })
    }

    fn contains_time(&self, time: Timestamp) -> Option<bool> {
        if self.key != FilterKey::CreateTime {
            return None;
        }
        let (start, end) = match (self.range, self.values.as_slice()) {
            (Some(range), _) => range,
            (None, [start, end]) => (Timestamp::parse(start)?, Timestamp::parse(end)?),
            _ => return None,
        };
        Some((start..=end).contains(&time))
    }

    /// Returns the value of the key, which is empty without a pool, experiment or stored algorithm.
    fn value_in(&self, job: &Job) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the condition as it is sent, or its error.
    fn sent(filter: &Filter) -> String {
        match filter.body() {
            Err(error) => error.to_string(),
            Ok(body) => {
                let body = serde_json::to_value(body).unwrap();
                format!("{} {} {}", body["key"], body["operator"], body["value"]).replace('"', "")
            }
        }
    }

    #[test]
    fn conditions_are_written_as_the_service_reads_them() {
        let start = Timestamp::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        let end = start + Duration::from_millis(1500);
        let raw = |key: &str, values: Vec<String>| Filter::raw(key, FilterOperator::In, values);
        let ids = |count: usize| (0..count).map(|id| id.to_string());
        let blank = "a blank value, which the service takes for no condition at all; leave the \
                     filter out to find everything";
        let (time, period) = (Filter::create_time, "[2026-01-15T08:30:45Z,2026-01-15T08:30:46.5Z]");
        for (filter, expected) in [
            (Filter::phase().is_in([Phase::Running, Phase::Pending]), "phase in [Running,Pending]"),
            (Filter::phase().is_not_in([Phase::Failed]), "phase not [Failed]"),
            (Filter::kind().is_not(JobKind::HeteroJob), "kind not [hetero_job]"),
            (Filter::name().like("bert"), "name like [bert]"),
            (Filter::name().is_not_in(["a", "b"]), "name not [a,b]"),
            (Filter::algorithm_name().like("res"), "algorithm_name like [res]"),
            (time().between(start, end), &format!("create_time between {period}")),
            (time().between(end, start), "filter create_time: the end is before the start"),
            (Filter::id().is_in(["x", "y"]), "id in [x,y]"),
            (Filter::id().is_in(ids(10)), "id in [0,1,2,3,4,5,6,7,8,9]"),
            (Filter::id().is_in(ids(11)), "filter id: 11 values; must be at most 10"),
            (raw("id", ids(11).collect()), "id in [0,1,2,3,4,5,6,7,8,9,10]"),
            (raw("cluster", vec!["a".into()]), "cluster in [a]"),
            (raw("cluster", vec![String::new()]), &format!("filter cluster: {blank}")),
            (Filter::user_id().is("u"), "user_id in [u]"),
            (Filter::user_name().is("ann"), "user_name in [ann]"),
            (Filter::algorithm_id().is("a"), "algorithm_id in [a]"),
            (Filter::pool_id().is("p"), "pool_id in [p]"),
            (Filter::training_experiment_id().is("e"), "training_experiment_id in [e]"),
            (Filter::runtime_type().is(RuntimeType::Debug), "runtime_type in [debug]"),
            (Filter::priority().is_in([1, 3]), "priority in [1,3]"),
            (Filter::priority().is_in([1, 4]), "filter priority: 4; they are 1 to 3"),
            (Filter::phase().is_in([Phase::Running; 0]), &format!("filter phase: {blank}")),
            (Filter::name().like(" "), &format!("filter name: {blank}")),
        ] {
            assert_eq!(sent(&filter), expected);
        }
        assert_eq!(sent(&time().between(start, start)).matches(":45Z").count(), 2);
    }
}

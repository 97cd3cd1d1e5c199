//! Metrics of a job as time series.

use std::time::Duration;

use serde::Serialize;

use crate::{
    error::{Error, ErrorKind},
    jobs::job::JobHandle,
    timestamp::Timestamp,
};

const INTERVAL: Duration = Duration::from_secs(60);

/// Time series of a metric of a task, such as `cpuUsage`, in percent.
///
/// The service returns one value per minute since the start of the job, or -1 for a missing value.
///
/// ```
/// use std::time::Duration;
/// use modelarts_ext::{Timestamp, jobs::MetricSeries};
///
/// let start = Timestamp::UNIX_EPOCH;
/// let series = MetricSeries::new("cpuUsage", start, [-1.0, 40.0, 60.0]);
/// assert_eq!(series.last(), Some((start + Duration::from_secs(120), 60.0)));
/// assert_eq!(series.mean(), Some(50.0));
/// ```
///
/// As JSON, a series is an object with the metric and its points; the value of a gap is `null`:
///
/// ```json
/// {"metric": "cpuUsage", "points": [{"time": "2026-01-15T08:30:45Z", "value": 40.0}]}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricSeries {
    metric: String,
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    time: Timestamp,
    value: Option<f64>,
}

impl MetricSeries {
    /// Creates a series from values of the service, one for each minute from `start` on.
    pub fn new(
        metric: impl Into<String>,
        start: impl Into<Timestamp>,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        let start = start.into();
        let points = (0..).zip(values).filter_map(|(index, value)| {
            Some(Point {
                time: start + INTERVAL.checked_mul(index)?,
                value: (value.is_finite() && value >= 0.0).then_some(value),
            })
        });
        Self { metric: metric.into(), points: points.collect() }
    }

    /// Returns the name of the metric, such as `gpuUtil`.
    #[must_use]
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Returns the values with their times; the value of a gap is `None`.
    pub fn points(&self) -> impl DoubleEndedIterator<Item = (Timestamp, Option<f64>)> {
        self.points.iter().map(|point| (point.time, point.value))
    }

    /// Returns the values with their times. Gaps are omitted.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = (Timestamp, f64)> {
        self.points().filter_map(|(time, value)| Some((time, value?)))
    }

    /// Returns the newest value with its time, or `None` if the series has no values.
    #[must_use]
    pub fn last(&self) -> Option<(Timestamp, f64)> {
        self.values().next_back()
    }

    /// Returns the largest value, or `None` if the series has no values.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        self.values().map(|(_, value)| value).reduce(f64::max)
    }

    /// Returns the mean of the values without gaps, or `None` if the series has no values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let (count, sum) =
            self.values().fold((0_u32, 0.0), |(count, sum), (_, value)| (count + 1, sum + value));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Returns `true` if the series has no values, such as for a device that the machine lacks.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.values().next().is_none()
    }
}

impl JobHandle {
    /// Reads the usage of the machine of a task, such as `worker-0`, in percent for each minute.
    ///
    /// The response has no times, and the service keeps three days (`openapi/SOURCES.md`, G). No
    /// source states which days are returned for a longer job, so the times are then unreliable.
    ///
    /// Makes one call, and another call for the start of the job if the job had not
    /// [started](crate::jobs::Job::started_at) when it was last read; both within
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout).
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// for series in job.metrics("worker-0").await? {
    ///     println!("{}: mean {:?} %, max {:?} %", series.metric(), series.mean(), series.max());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_ready`] before the start and before the first values.
    pub async fn metrics(&self, task: impl Into<String>) -> Result<Vec<MetricSeries>, Error> {
        let deadline = self.client().deadline();
        let metrics = self.fetch_metrics(task.into());
        deadline.limit("metrics were being requested", metrics).await
    }

    async fn fetch_metrics(&self, task: String) -> Result<Vec<MetricSeries>, Error> {
        let not_ready = || Error::new(ErrorKind::NotReady, "the job has not begun to run");
        let start = match self.job().and_then(|job| job.started_at()) {
            Some(start) => start,
            None => self.get().await?.started_at().ok_or_else(not_ready)?,
        };
        let (project, id) = self.ids();
        let answer = self.client().call(|api| {
            let call = api.show_training_job_metrics().project_id(project);
            call.training_job_id(id).task_id(task).send()
        });
        let series = answer.await?.into_inner().metrics.into_iter();
        Ok(series
            .map(|series| {
                let metric = series.metric.map(|metric| metric.to_string());
                MetricSeries::new(metric.unwrap_or_default(), start, series.value)
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_times_and_gaps() {
        let start = Timestamp::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        let series = MetricSeries::new("memUsage", start, [-1.0, -1.0, 3.5, -1.0, 0.0, f64::NAN]);
        let at = |minute: u64| start + Duration::from_secs(60 * minute);
        assert_eq!(
            series.points().collect::<Vec<_>>(),
            [
                (at(0), None),
                (at(1), None),
                (at(2), Some(3.5)),
                (at(3), None),
                (at(4), Some(0.0)),
                (at(5), None),
            ]
        );
        assert_eq!(series.values().collect::<Vec<_>>(), [(at(2), 3.5), (at(4), 0.0)]);
        assert_eq!(series.metric(), "memUsage");
        assert_eq!(series.last(), Some((at(4), 0.0)));
        assert_eq!(series.max(), Some(3.5));
        assert_eq!(series.mean(), Some(1.75));
        assert!(!series.is_blank());
    }

    #[test]
    fn a_device_that_is_not_there_has_no_values() {
        let series = MetricSeries::new("npuUtil", Timestamp::UNIX_EPOCH, [-1.0; 5]);
        assert!(series.is_blank());
        assert_eq!(series.points().count(), 5);
        assert_eq!((series.last(), series.max(), series.mean()), (None, None, None));
    }
}

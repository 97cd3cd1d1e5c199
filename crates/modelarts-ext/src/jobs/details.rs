//! Accessors of `Job` over its details: times, runs, exit codes, logs. All of them read the last
//! answer about the job, and none calls the service.

use std::time::{Duration, SystemTime};

use modelarts_api::types::{JobTask, RunningRecord};

use crate::{clock::from_epoch_millis, jobs::job::Job};

impl Job {
    /// Start of the first run. `None` as long as the job has not run.
    ///
    /// As of the last answer about the job, so it costs no call: [`wait`](Self::wait) for its
    /// end, or [refresh](Self::refresh) it, to know more.
    #[must_use]
    pub fn started_at(&self) -> Option<SystemTime> {
        // The service says 0 for a job that never ran.
        let start = self.status()?.start_time.filter(|start| *start > 0)?;
        Some(from_epoch_millis(start))
    }

    /// Time from the creation of the job to its first run. `None` as long as it has not run.
    #[must_use]
    pub fn time_queued(&self) -> Option<Duration> {
        // The start is cut to whole seconds, so it may lie before the creation.
        let waited = self.started_at()?.duration_since(self.created_at()?);
        Some(waited.unwrap_or_default())
    }

    /// Time that the job has run, up to its end if it has ended. `None` as long as it has not run.
    ///
    /// As of the last answer about the job, so it costs no call: [`wait`](Self::wait) for its
    /// end, or [refresh](Self::refresh) it, to know more.
    #[must_use]
    pub fn time_run(&self) -> Option<Duration> {
        self.started_at()?;
        let millis = u64::try_from(self.status()?.duration?).ok()?;
        Some(Duration::from_millis(millis))
    }

    /// The runs of the job, one for each start, with what ended them. Newer releases of
    /// the service return them. Their times are seconds, and an end may lie before its
    /// start.
    #[must_use]
    pub fn runs(&self) -> &[RunningRecord] {
        self.status().map_or(&[], |status| &status.running_records)
    }

    /// Number of restarts of the job. `None` where the service does not return it.
    #[must_use]
    pub fn restarts(&self) -> Option<usize> {
        self.runs().len().checked_sub(1)
    }

    /// Tasks that have ended: their names and exit codes. The service lists only the first task
    /// that failed (`openapi/SOURCES.md`, T). There are none as long as no task has ended.
    ///
    /// As of the last answer about the job, so it costs no call: [`wait`](Self::wait) for its
    /// end, or [refresh](Self::refresh) it, to know more.
    pub fn exit_codes(&self) -> impl Iterator<Item = (&str, i64)> {
        let statuses = self
            .status()
            .map_or(&[][..], |status| &status.task_statuses);
        statuses
            .iter()
            .filter_map(|status| Some((status.task.as_deref()?, status.exit_code?)))
    }

    /// The OBS directories that the logs are written to, where the job asked for it: the
    /// job's own, and those of the tasks of a heterogeneous job.
    pub fn log_dirs(&self) -> impl Iterator<Item = &str> {
        let details = self.details();
        let tasks = details.tasks.iter().filter_map(task_log_dir);
        self.own_log_dir().into_iter().chain(tasks)
    }

    fn own_log_dir(&self) -> Option<&str> {
        let spec = self.details().spec.as_ref()?;
        let dir = spec.log_export_path.as_ref()?.obs_url.as_deref();
        dir.filter(|dir| !dir.is_empty())
    }

    /// Location of the log of a task, such as
    /// `obs://bucket/logs/modelarts-job-<id>-worker-0.log`, where the job asked for it: in
    /// the directory of the tasks of this role, such as `worker`, or else in the job's own.
    #[must_use]
    pub fn log_object(&self, task: &str) -> Option<String> {
        let role = task.rsplit_once('-').map_or(task, |(role, _)| role);
        let has_role = |task: &&JobTask| task.role.as_ref().is_some_and(|it| *it == role.into());
        let of_role = self.details().tasks.iter().find(has_role);
        let dir = of_role.and_then(task_log_dir).or(self.own_log_dir())?;
        let dir = dir.trim_end_matches('/');
        Some(format!("{dir}/modelarts-job-{}-{task}.log", self.id()))
    }
}

/// The log directory of a role of a heterogeneous job.
fn task_log_dir(tasks: &JobTask) -> Option<&str> {
    let dir = tasks.log_export_path.as_ref()?.obs_url.as_deref();
    dir.filter(|dir| !dir.is_empty())
}

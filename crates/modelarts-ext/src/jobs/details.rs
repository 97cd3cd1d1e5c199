//! Accessors of `Job` for its details, from the last response about the job.

use std::time::Duration;

use modelarts_api::types::{JobResource, JobTask, RunningRecord};

use crate::{jobs::job::Job, timestamp::Timestamp};

impl Job {
    /// Returns the time at which the job started running, or `None` if it has not started.
    #[must_use]
    pub fn started_at(&self) -> Option<Timestamp> {
        // The service returns 0 for a job that never ran.
        let start = self.status()?.start_time.filter(|start| *start > 0)?;
        Some(Timestamp::from_epoch_millis(start))
    }

    /// Returns the time from the creation to the first start, or `None` if the job has not started.
    #[must_use]
    pub fn time_queued(&self) -> Option<Duration> {
        // The start is truncated to whole seconds, so it may precede the creation.
        Some(self.started_at()?.duration_since(self.created_at()?))
    }

    /// Returns the running time in whole seconds, or `None` if the job has not started.
    #[must_use]
    pub fn time_run(&self) -> Option<Duration> {
        self.started_at()?;
        let millis = u64::try_from(self.status()?.duration?).ok()?;
        Some(Duration::from_millis(millis))
    }

    /// Returns the number of accelerator cards on all nodes, or `None` if the details do not state
    /// it, as for a dedicated pool. It is 0 for a flavor without cards. A container with a custom
    /// size can have a part of a card.
    #[must_use]
    pub fn cards(&self) -> Option<f64> {
        let resource = self.resource()?;
        let container = resource.main_container_allocated_resources.as_ref();
        let of_node = match container.and_then(|container| container.accelerator_num) {
            Some(cards) => cards,
            None => {
                let info = resource.flavor_detail.as_ref()?.flavor_info.as_ref()?;
                let gpus = info.gpu.as_ref().map(|gpu| gpu.unit_num);
                let npus = info.npu.as_ref().map(|npu| npu.unit_num);
                // A flavor has GPUs, NPUs, or neither.
                let cards = [gpus, npus].into_iter().flatten();
                number(cards.sum::<Option<i64>>()?)?
            }
        };
        Some(of_node * number(resource.node_count.unwrap_or(1))?)
    }

    /// Returns the product of [cards](Self::cards) and [running time](Self::time_run) in hours.
    #[must_use]
    pub fn card_hours(&self) -> Option<f64> {
        Some(self.cards()? * self.time_run()?.as_secs_f64() / 3600.0)
    }

    /// Returns the billing code of the flavor, if the details state it, as for the public pool.
    #[must_use]
    pub fn billing_code(&self) -> Option<&str> {
        self.resource()?.flavor_detail.as_ref()?.billing.as_ref()?.code.as_deref()
    }

    fn resource(&self) -> Option<&JobResource> {
        self.details().spec.as_ref()?.resource.as_deref()
    }

    /// Returns the runs of the job, one for each start, with the reasons for their ends. Only newer
    /// releases of the service return runs. Times are in seconds; an end may precede its start.
    #[must_use]
    pub fn runs(&self) -> &[RunningRecord] {
        self.status().map_or(&[], |status| &status.running_records)
    }

    /// Returns the number of restarts, or `None` if the details contain no runs.
    #[must_use]
    pub fn restarts(&self) -> Option<usize> {
        self.runs().len().checked_sub(1)
    }

    /// Returns the names and exit codes of the tasks that have ended. The service is known to list
    /// only the first task that failed (`openapi/SOURCES.md`, T).
    pub fn exit_codes(&self) -> impl Iterator<Item = (&str, i64)> {
        let statuses = self.status().map_or(&[][..], |status| &status.task_statuses);
        statuses.iter().filter_map(|status| Some((status.task.as_deref()?, status.exit_code?)))
    }

    /// Returns the OBS directories for logs: those of the job and of its heterogeneous tasks.
    pub fn log_dirs(&self) -> impl Iterator<Item = &str> {
        let tasks = self.details().tasks.iter().filter_map(task_log_dir);
        self.job_log_dir().into_iter().chain(tasks)
    }

    fn job_log_dir(&self) -> Option<&str> {
        let spec = self.details().spec.as_ref()?;
        let dir = spec.log_export_path.as_ref()?.obs_url.as_deref();
        dir.filter(|dir| !dir.is_empty())
    }

    /// Returns the OBS path of the log of a task, such as
    /// `obs://bucket/logs/modelarts-job-<id>-worker-0.log`, or `None` without a log directory.
    #[must_use]
    pub fn log_object(&self, task: &str) -> Option<String> {
        let role = task.rsplit_once('-').map_or(task, |(role, _)| role);
        let has_role = |task: &&JobTask| task.role.as_ref().is_some_and(|it| it == role);
        let of_role = self.details().tasks.iter().find(has_role);
        let dir = of_role.and_then(task_log_dir).or(self.job_log_dir())?;
        let dir = dir.trim_end_matches('/');
        Some(format!("{dir}/modelarts-job-{}-{task}.log", self.id()))
    }
}

fn number(count: i64) -> Option<f64> {
    i32::try_from(count).ok().map(f64::from)
}

fn task_log_dir(tasks: &JobTask) -> Option<&str> {
    let dir = tasks.log_export_path.as_ref()?.obs_url.as_deref();
    dir.filter(|dir| !dir.is_empty())
}

//! Live state of jobs: one poller for each job, for all pages that show it.
//!
//! [`Watches::job`] follows the phase and the events of a job, [`Watches::list`] a list of jobs,
//! and [`Watches::log`] logs, which may be large, so they are read only while a page shows them.
//! The stream of the logs has the phase and the events too, and replaces the polls of the job.
//! `pool` ends all of them some time after the last page has left. `spool` keeps the lines of logs
//! in files of a temporary directory.

pub(crate) mod job;
pub(crate) mod lists;
pub(crate) mod log;
pub(crate) mod pool;
pub(crate) mod spool;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use modelarts_ext::JobHandle;

use crate::live::{
    job::JobWatch,
    lists::ListWatch,
    log::LogWatch,
    pool::{Pool, Viewer},
};

/// Time after which a poller without viewers ends.
const LINGER: Duration = Duration::from_secs(30);

/// The pollers of the site.
pub(crate) struct Watches {
    interval: Duration,
    jobs: Pool<JobWatch>,
    logs: Pool<LogWatch>,
    lists: Pool<ListWatch>,
}

impl Watches {
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            jobs: Pool::new(LINGER),
            logs: Pool::new(LINGER),
            lists: Pool::new(LINGER),
        }
    }

    /// Follows the phase and the events of a job.
    pub(crate) fn job(&self, job: &JobHandle) -> Viewer<JobWatch> {
        let interval = self.interval;
        let make = || JobWatch::new(job.clone());
        self.jobs.view(job.id(), make, |watch: Arc<JobWatch>| watch.poll(interval))
    }

    /// Follows the logs of all tasks of a job.
    pub(crate) fn log(&self, job: &JobHandle) -> Viewer<LogWatch> {
        let interval = self.interval;
        let make = || LogWatch::new(job.clone());
        self.logs.view(job.id(), make, |watch: Arc<LogWatch>| watch.poll(self.job(job), interval))
    }

    /// Follows a list of jobs with the key of its search and page.
    pub(crate) fn list<F>(
        &self,
        key: &str,
        poll: impl FnOnce(Arc<ListWatch>) -> F,
    ) -> Viewer<ListWatch>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.lists.view(key, || ListWatch::new(None), poll)
    }

    /// Ends all pollers.
    pub(crate) fn close(&self) {
        self.jobs.close();
        self.logs.close();
        self.lists.close();
    }
}

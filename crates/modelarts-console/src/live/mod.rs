//! Live state of jobs: one poller per job serves all pages that show the job.
//!
//! [`Watches::job`] follows the phase and the events of a job, and [`Watches::list`] a list of
//! jobs. [`Watches::log`] follows logs, which may be large, so they are read only while a page
//! shows them. The stream of the logs also has the phase and the events, and replaces the polls of
//! the job. `pool` ends each poller some time after its last page was closed. `spool` stores log
//! lines in files of a temporary directory.

pub(crate) mod curves;
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

/// Pollers of the site.
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

    /// Follows a list of jobs. `key` identifies the search and the page.
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

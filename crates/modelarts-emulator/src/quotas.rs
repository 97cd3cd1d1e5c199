//! How much a project may have.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Jobs of a project, unless said otherwise (domain.md section 5).
const JOBS: i64 = 10_000;

/// The quotas of all projects, by project and resource.
#[derive(Debug)]
pub(crate) struct Quotas {
    jobs: i64,
    set: Mutex<HashMap<(String, &'static str), i64>>,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            jobs: JOBS,
            set: Mutex::default(),
        }
    }
}

impl Quotas {
    pub(crate) fn with_jobs(jobs: u32) -> Self {
        Self {
            jobs: i64::from(jobs),
            set: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, project: &str, resource: &'static str) -> Option<i64> {
        let set = self.set.lock();
        let set = set.get(&(project.to_owned(), resource)).copied();
        set.or((resource == "job-num").then_some(self.jobs))
    }

    pub(crate) fn set(&self, project: &str, resource: &'static str, quota: i64) {
        self.set
            .lock()
            .insert((project.to_owned(), resource), quota);
    }

    /// How many jobs the project may have.
    pub(crate) fn jobs(&self, project: &str) -> usize {
        let jobs = self.get(project, "job-num").unwrap_or(self.jobs);
        usize::try_from(jobs).unwrap_or(0)
    }
}

//! Condition that ends a wait before the end of the job.

use std::{fmt, sync::Arc};

use crate::jobs::job::Job;

/// Condition on a job that was read.
#[derive(Clone)]
pub(in crate::jobs) struct Condition(Arc<dyn Fn(&Job) -> bool + Send + Sync>);

impl Condition {
    pub(super) fn new(condition: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(condition))
    }

    pub(super) fn holds(&self, job: &Job) -> bool {
        (self.0)(job)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condition")
    }
}

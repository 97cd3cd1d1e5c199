//! Batch job of a cluster that runs a job.

use serde::{Deserialize, Serialize};

/// Batch job of Slurm that runs a job, and the part of its journal that has been applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Submission {
    /// Number of earlier submissions of the job.
    pub(crate) number: u32,
    /// Id in Slurm. `None` until the response of `sbatch` is known.
    pub(crate) slurm_id: Option<String>,
    /// Ids in Slurm of the earlier submissions.
    pub(crate) earlier: Vec<String>,
    /// Number of bytes of the journal that have been applied.
    pub(crate) read: u64,
    pub(crate) run: BatchRun,
    /// Last reported reason for the wait of the job.
    pub(crate) reason: String,
}

/// Run of the program of a submission, according to the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BatchRun {
    /// The program has not started.
    #[default]
    None,
    /// The program has started on the nodes.
    Open,
    /// The program has recorded the end of the job.
    Ended,
}

impl Submission {
    /// Returns the submission that follows this one.
    pub(crate) fn next(self) -> Self {
        let mut earlier = self.earlier;
        earlier.extend(self.slurm_id);
        Self { number: self.number + 1, earlier, ..Self::default() }
    }
}

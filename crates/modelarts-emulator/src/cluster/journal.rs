//! Journal of a submission: the changes of its job, which the program of the submission writes, and
//! which the emulator applies to its own job.

use serde::{Deserialize, Serialize};

use crate::{
    job::{History, Job, event::Event, state::JobState, submission::BatchRun},
    metrics::MinuteRows,
    tuning::trial::Trial,
};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The batch job with this id has started on its nodes.
    Started {
        slurm_id: String,
    },
    /// The cluster runs the job again, for the reason that ends the last record.
    Requeued(Change),
    Changed(Change),
    Usage(MinuteRows),
    /// The job has ended. No entry follows.
    Ended,
}

/// Change of a job: its new state, and what has been added since the last change.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) state: JobState,
    pub(super) history: History,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<Event>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) trials: Vec<Trial>,
    /// Number of trials of the current run.
    #[serde(default)]
    pub(super) trial_count: usize,
}

impl Entry {
    /// Applies the entry to a job. `job.submission` must be set.
    pub(super) fn apply(self, job: &mut Job) {
        let Some(mut submission) = job.submission.take() else { return };
        match self {
            Self::Started { slurm_id } => {
                submission.slurm_id = Some(slurm_id);
                submission.run = BatchRun::Open;
            }
            Self::Requeued(mut change) => {
                let record = job.history.records.last();
                // The emulator has recorded this when it saw the job in the queue.
                if let Some(end) = record.and_then(|record| record.end.clone()) {
                    change.events.clear();
                    let records = &mut change.history.records;
                    records.last_mut().map(|record| record.end.insert(end));
                }
                change.apply(job);
            }
            Self::Changed(change) => change.apply(job),
            Self::Usage(_) => {}
            Self::Ended => submission.run = BatchRun::Ended,
        }
        job.submission = Some(submission);
    }
}

impl Change {
    fn apply(self, job: &mut Job) {
        job.state = match (job.state, self.state) {
            (state, _) if state.is_final() => state,
            // A request has stopped the job, which the program does not know yet.
            (JobState::Terminating, JobState::Queuing | JobState::Running) => job.state,
            (JobState::Terminating, state) if state.is_final() => JobState::Terminated,
            (_, state) => state,
        };
        let images = std::mem::take(&mut job.history.images);
        job.history = History { images, ..self.history };
        job.events.extend(self.events);
        job.trials.truncate(self.trial_count);
        for mut trial in self.trials {
            trial.changed = true;
            match job.trials.iter_mut().find(|known| known.index == trial.index) {
                Some(known) => {
                    trial.stop |= known.stop && known.id == trial.id;
                    *known = trial;
                }
                None => job.trials.push(trial),
            }
        }
    }
}

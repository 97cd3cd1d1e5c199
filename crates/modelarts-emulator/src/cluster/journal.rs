//! Journal of a submission: the changes of its job, which the program of the submission writes, and
//! which the emulator applies to its own job.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    cluster::layout::append,
    job::{History, Job, event::Event, state::JobState, submission::BatchRun},
    metrics::MinuteRows,
    state::EmulatorState,
    tuning::trial::{Trial, TrialStatus},
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
    /// The job has ended. An entry follows only if the cluster runs the job again.
    Ended,
}

/// Change of a job: its new state, and what has been added since the last change.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Change {
    state: JobState,
    history: History,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<Event>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trials: Vec<Trial>,
    /// Number of trials of the current run.
    #[serde(default)]
    trial_count: usize,
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
                // The emulator has written these events when it saw the job in the queue.
                if std::mem::take(&mut submission.is_requeued) {
                    change.events.clear();
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

/// Writer of a journal, which reads the changes from the state of the program.
pub(super) struct Recorder {
    pub(super) path: PathBuf,
    pub(super) state: Arc<EmulatorState>,
    pub(super) id: String,
    /// State that was written last.
    last: Option<(JobState, History)>,
    /// Number of events that were written.
    events: usize,
    trials: HashMap<usize, TrialMark>,
    /// First minute of each pod that may have changed since it was written.
    minutes: HashMap<String, i64>,
}

/// Properties of a trial that change with it: its id, reports, status and whether it must stop.
type TrialMark = (String, usize, TrialStatus, bool);

impl Recorder {
    pub(super) fn new(path: PathBuf, state: Arc<EmulatorState>, id: String) -> Self {
        Self {
            path,
            state,
            id,
            last: None,
            events: 0,
            trials: HashMap::new(),
            minutes: HashMap::new(),
        }
    }

    /// Writes what has changed. `entry` is the kind of the entry.
    pub(super) fn record(&mut self, entry: fn(Change) -> Entry) -> io::Result<()> {
        let look = |job: &Job| ((job.state, job.history.clone()), job.trials.clone());
        let Some((new_state, trials)) = self.state.store.read(&self.id, look) else {
            return Ok(());
        };
        let mut events = self.state.store.events(&self.id).unwrap_or_default();
        let new = events.split_off(self.events.min(events.len()));
        let trial_count = trials.len();
        let is_new = |trial: &Trial| {
            let mark = (trial.id.clone(), trial.reports.len(), trial.status, trial.stop);
            self.trials.insert(trial.index, mark.clone()) != Some(mark)
        };
        let trials: Vec<Trial> = trials.into_iter().filter(is_new).collect();
        if new.is_empty() && trials.is_empty() && self.last.as_ref() == Some(&new_state) {
            return Ok(());
        }
        self.events += new.len();
        let (state, history) = self.last.insert(new_state).clone();
        append(&self.path, &entry(Change { state, history, events: new, trials, trial_count }))
    }

    /// Writes the usage that was measured since the last call.
    pub(super) fn record_usage(&mut self) -> io::Result<()> {
        let tasks = self.state.store.read(&self.id, |job| job.tasks().collect::<Vec<_>>());
        for task in tasks.unwrap_or_default() {
            let pod = format!("modelarts-job-{}-{task}", self.id);
            let from = self.minutes.get(&pod).copied().unwrap_or_default();
            let measured = self.state.work.metrics.rows(&pod, from).unwrap_or_default();
            if let Some(minutes) = measured
                && let Some((last, ..)) = minutes.rows.last()
            {
                self.minutes.insert(pod, *last);
                append(&self.path, &Entry::Usage(minutes))?;
            }
        }
        Ok(())
    }
}

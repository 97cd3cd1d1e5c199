//! Writer of the journal of a submission.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use crate::{
    cluster::{
        journal::{Change, Entry},
        layout::append,
    },
    job::{History, Job, state::JobState},
    state::EmulatorState,
    tuning::trial::{Trial, TrialStatus},
};

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

/// Properties of a trial that change with it: its id, last report, status and whether it must stop.
type TrialMark = (String, u32, TrialStatus, bool);

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
        let is_new = |trial: &&Trial| self.trials.get(&trial.index) != Some(&mark(trial));
        let look = |job: &Job| Change {
            state: job.state,
            history: job.history.clone(),
            events: Vec::new(),
            trials: job.trials.iter().filter(is_new).cloned().collect(),
            trial_count: job.trials.len(),
        };
        let Some(mut change) = self.state.store.read(&self.id, look) else { return Ok(()) };
        let mut events = self.state.store.events(&self.id).unwrap_or_default();
        let count = events.len();
        change.events = events.split_off(self.events.min(count));
        let last = Some((change.state, change.history.clone()));
        if change.events.is_empty() && change.trials.is_empty() && self.last == last {
            return Ok(());
        }
        let marks: Vec<_> = change.trials.iter().map(|trial| (trial.index, mark(trial))).collect();
        append(&self.path, &entry(change))?;
        self.events = count;
        self.last = last;
        self.trials.extend(marks);
        Ok(())
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
                let last = *last;
                append(&self.path, &Entry::Usage(minutes))?;
                self.minutes.insert(pod, last);
            }
        }
        Ok(())
    }
}

fn mark(trial: &Trial) -> TrialMark {
    let iteration = trial.reports.last().map_or(0, |report| report.iteration);
    (trial.id.clone(), iteration, trial.status, trial.stop)
}

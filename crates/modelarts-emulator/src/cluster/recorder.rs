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
        let look = |job: &Job| ((job.state, job.history.clone()), job.trials.clone());
        let Some((new_state, trials)) = self.state.store.read(&self.id, look) else {
            return Ok(());
        };
        let mut events = self.state.store.events(&self.id).unwrap_or_default();
        let new = events.split_off(self.events.min(events.len()));
        let trial_count = trials.len();
        let mark = |trial: &Trial| {
            let iteration = trial.reports.last().map_or(0, |report| report.iteration);
            (trial.id.clone(), iteration, trial.status, trial.stop)
        };
        let is_new = |trial: &Trial| self.trials.get(&trial.index) != Some(&mark(trial));
        let trials: Vec<Trial> = trials.into_iter().filter(is_new).collect();
        if new.is_empty() && trials.is_empty() && self.last.as_ref() == Some(&new_state) {
            return Ok(());
        }
        let (state, history) = new_state.clone();
        let marks: Vec<_> = trials.iter().map(|trial| (trial.index, mark(trial))).collect();
        let count = new.len();
        append(&self.path, &entry(Change { state, history, events: new, trials, trial_count }))?;
        self.events += count;
        self.last = Some(new_state);
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

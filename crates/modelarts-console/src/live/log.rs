//! `LogWatch`: logs of all tasks of a job, which are written to a spool.

use std::{
    collections::HashMap,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::StreamExt;
use modelarts_ext::{
    Job, JobHandle, LogItem, Timestamp,
    jobs::{follow::JobUpdate, logs::RepeatedLines},
};
use tokio::{sync::watch, time::Instant};

use crate::{
    display,
    live::{
        job::{JobWatch, random_epoch, slow},
        pool::Viewer,
        spool::{NewLine, Spool},
    },
    problem::Problem,
};

const CHUNK: usize = 4096;
/// Time after the end of a job in which the service may still return new lines and events.
const LATE: Duration = Duration::from_secs(600);

/// Logs of all tasks of one job, followed for all pages that show them.
pub(crate) struct LogWatch {
    handle: JobHandle,
    state: watch::Sender<LogState>,
}

#[derive(Clone)]
pub(crate) struct LogState {
    /// Random number of the line series. A new number means that all lines are read again.
    pub(crate) epoch: u64,
    /// Spool with the lines; `None` before the first poll.
    pub(crate) spool: Option<Arc<Spool>>,
    /// Reason why the logs currently cannot be read.
    pub(crate) problem: Option<Problem>,
    /// `true` if the job has ended and all lines were read.
    pub(crate) has_ended: bool,
    /// `true` after the first poll, successful or not.
    is_loaded: bool,
}

impl LogState {
    /// Returns the total number of lines of all tasks.
    pub(crate) fn lines(&self) -> u64 {
        self.spool.as_ref().map_or(0, |spool| spool.lines(None))
    }
}

pub(crate) fn storage_problem(error: &io::Error) -> Problem {
    Problem::new(
        axum::http::StatusCode::INTERNAL_SERVER_ERROR,
        "The log cannot be stored",
        format!("the temporary files of the log cannot be used: {error}"),
    )
    .with_advice("make space in the directory of temporary files, then reload the page")
}

impl LogWatch {
    pub(crate) fn new(handle: JobHandle) -> Self {
        Self {
            handle,
            state: watch::Sender::new(LogState {
                epoch: random_epoch(),
                spool: None,
                problem: None,
                has_ended: false,
                is_loaded: false,
            }),
        }
    }

    pub(crate) fn state(&self) -> LogState {
        self.state.borrow().clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<LogState> {
        self.state.subscribe()
    }

    /// Waits for the first lines or the first error, and returns the state.
    pub(crate) async fn loaded(&self) -> LogState {
        let mut changes = self.changes();
        // The sender is a field of this value, so the wait never fails.
        let loaded = changes.wait_for(|state| state.is_loaded).await;
        loaded.map_or_else(|_| self.state(), |state| state.clone())
    }

    fn change(&self, change: impl FnOnce(&mut LogState)) {
        self.state.send_modify(change);
    }

    /// Follows the logs until the job has vanished.
    pub(crate) async fn poll(self: Arc<Self>, job: Viewer<JobWatch>, interval: Duration) {
        loop {
            job.loaded().await;
            let read = self.read(&job, interval).await;
            let is_read = read.is_ok();
            self.change(|state| {
                state.is_loaded = true;
                state.has_ended = is_read;
                state.problem = read.err();
            });
            if is_read {
                // Waits until the job runs again.
                job.wait_for(|state| state.has_ended || state.is_vanished).await;
                job.wait_for(|state| !state.has_ended || state.is_vanished).await;
            } else {
                tokio::time::sleep(slow(interval)).await;
                job.wait_for(|state| state.interruption.is_none()).await;
            }
            if job.state().is_vanished {
                return;
            }
        }
    }

    /// Reads the logs from the beginning until the job has ended. The stream also has the phase and
    /// the events of the job, so `watch` does not poll them in the meantime.
    async fn read(&self, watch: &JobWatch, interval: Duration) -> Result<(), Problem> {
        let spool = Spool::create().map_err(|error| storage_problem(&error))?;
        let spool = Arc::new(spool);
        self.change(|state| {
            state.epoch = random_epoch();
            state.spool = Some(Arc::clone(&spool));
        });
        let mut updates = self.handle.updates().interval(interval);
        let known = watch.state().job;
        // Before the job has run, no line can be an old one; after its end, no line is new.
        let is_new =
            known.as_ref().is_some_and(|job| job.started_at().is_none() && !job.is_final());
        let has_ended = known.as_ref().is_some_and(|job| job.is_final());
        let pause = if has_ended { Duration::MAX } else { interval / 2 };
        if known.is_some_and(|job| has_ended_before(&job, LATE)) {
            // The service has no lines and events of such a job that it would not return now.
            updates = updates.quiet(Duration::ZERO);
        }
        let mut feed = watch.feed();
        // An interruption also ends the wait for the first lines.
        let updates = updates.report_interruptions().follow();
        let mut updates = updates.ready_chunks(CHUNK);
        let mut logs: HashMap<String, TaskLog> = HashMap::new();
        while let Some(chunk) = updates.next().await {
            let mut lines: Vec<NewLine> = Vec::new();
            let mut others = Vec::new();
            let mut failure = None;
            for update in chunk {
                match update {
                    Ok(JobUpdate::Log { task, item }) => {
                        let log = logs.entry(task.clone());
                        let log = log.or_insert_with(|| TaskLog::new(is_new));
                        log.add(task, item, pause, &mut lines);
                    }
                    Ok(update) => {
                        if let JobUpdate::Phase(job) = &update {
                            spool.add_tasks(job.tasks());
                        }
                        // Lines that were written meanwhile come later.
                        if let JobUpdate::Interrupted { .. } = &update {
                            logs.values_mut().for_each(TaskLog::interrupt);
                        }
                        others.push(update);
                    }
                    Err(error) => failure = Some(error.into()),
                }
            }
            feed.take(others);
            append(&spool, lines).await?;
            self.change(|state| {
                state.is_loaded = true;
                state.problem = None;
            });
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        let mut lines = Vec::new();
        for (task, mut log) in logs {
            let times = log.repeated.end();
            log.note(&task, times, &mut lines);
        }
        append(&spool, lines).await
    }
}

/// Returns `true` if a job ended longer than `age` ago.
fn has_ended_before(job: &Job, age: Duration) -> bool {
    let last = job.runs().last().and_then(|run| display::time_of_seconds(run.end_at));
    let end = last.or_else(|| Some(job.started_at()? + job.time_run()?));
    let end = end.filter(|_| job.is_final());
    end.is_some_and(|end| Timestamp::from(SystemTime::now()).duration_since(end) > age)
}

async fn append(spool: &Arc<Spool>, lines: Vec<NewLine>) -> Result<(), Problem> {
    let spool = Arc::clone(spool);
    let stored = tokio::task::spawn_blocking(move || spool.append(lines)).await;
    let stored = stored.map_err(io::Error::other).flatten();
    stored.map_err(|error| storage_problem(&error))
}

/// Log of a task while it is read.
struct TaskLog {
    repeated: RepeatedLines,
    /// Time at which the last lines were read; `None` before the first ones.
    read: Option<Instant>,
    /// `true` if lines are read soon after they were written: there was a pause before them, so all
    /// earlier lines had been read.
    is_live: bool,
    /// `true` if the last line is one of the platform.
    is_of_platform: bool,
}

impl TaskLog {
    fn new(is_live: bool) -> Self {
        Self { repeated: RepeatedLines::default(), read: None, is_live, is_of_platform: false }
    }

    fn interrupt(&mut self) {
        (self.read, self.is_live) = (None, false);
    }

    /// Adds the next item, or the number of repetitions instead of a line that repeats.
    ///
    /// Lines that were there before come without a pause. A poll follows the one before it after an
    /// interval, of which a part has passed when its lines are taken.
    fn add(&mut self, task: String, item: LogItem, pause: Duration, lines: &mut Vec<NewLine>) {
        let now = Instant::now();
        self.is_live |= self.read.is_some_and(|read| now - read >= pause);
        self.read = Some(now);
        let (times, is_shown) = match &item {
            LogItem::Line(line) => {
                let next = self.repeated.next(line);
                (next.times, next.is_shown)
            }
            _ => (self.repeated.end(), true),
        };
        self.note(&task, times, lines);
        self.is_of_platform = item.is_of_platform();
        if is_shown {
            let arrived = self.is_live.then(|| SystemTime::now().into());
            let is_of_platform = self.is_of_platform;
            lines.push(NewLine { task, item, is_of_platform, arrived });
        }
    }

    /// Adds the line that is shown instead of repetitions. They have no numbers on the page.
    fn note(&self, task: &str, times: Option<u64>, lines: &mut Vec<NewLine>) {
        if let Some(times) = times {
            let text = format!("{}; the download has all lines", RepeatedLines::note(times));
            lines.push(NewLine {
                task: task.to_owned(),
                item: LogItem::Line(text),
                // Folded with the line that it counts.
                is_of_platform: self.is_of_platform,
                arrived: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_have_a_time_after_those_that_were_there_before() {
        let pause = Duration::from_millis(500);
        let mut log = TaskLog::new(false);
        let mut lines = Vec::new();
        // Reading a large log begins late, and takes several requests.
        for passed in [3000, 400, 0, 1000, 0, 10] {
            tokio::time::advance(Duration::from_millis(passed)).await;
            let item = LogItem::Line(format!("after {passed} ms"));
            log.add("worker-0".to_owned(), item, pause, &mut lines);
        }
        // After an interruption, lines may be old again.
        log.interrupt();
        tokio::time::advance(Duration::from_secs(60)).await;
        log.add("worker-0".to_owned(), LogItem::Line("late".to_owned()), pause, &mut lines);
        let live = lines.iter().map(|line| line.arrived.is_some()).collect::<Vec<_>>();
        assert_eq!(live, [false, false, false, true, true, true, false]);
    }

    #[test]
    fn the_number_of_repetitions_is_folded_with_its_line() {
        let mut log = TaskLog::new(true);
        let mut lines = Vec::new();
        let system = "[ModelArts Service Log]waiting";
        for text in std::iter::repeat_n(system, 20).chain(["epoch 1"]) {
            let item = LogItem::Line(text.to_owned());
            log.add("worker-0".to_owned(), item, Duration::ZERO, &mut lines);
        }
        let note = |line: &&NewLine| match &line.item {
            LogItem::Line(text) => text.contains("the download has all lines"),
            _ => false,
        };
        let notes: Vec<_> = lines.iter().filter(note).map(|line| line.is_of_platform).collect();
        assert!(!notes.is_empty() && notes.iter().all(|is_folded| *is_folded), "{notes:?}");
        assert!(!lines.last().unwrap().is_of_platform);
    }
}

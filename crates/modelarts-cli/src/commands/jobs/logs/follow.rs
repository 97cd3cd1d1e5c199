//! Following of logs until the end of the job.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream::LocalBoxStream};
use modelarts_ext::{Error, Job, LogItem, jobs::follow::JobUpdate};

use crate::{
    commands::jobs::logs::{
        filter::{LineFilter, Verdict},
        printer::LogPrinter,
    },
    failure::Failure,
    follow::{LOCAL_INTERVAL, note_connection, updates},
    session::Session,
};

/// Maximum number of items that are printed before stdout is flushed.
const CHUNK: usize = 4096;

/// State of the log of a task.
struct Followed {
    filter: LineFilter,
    /// Number of the last line; `None` if the number is not known.
    number: Option<u64>,
}

impl Followed {
    fn new(filter: LineFilter, tail: Option<usize>) -> Self {
        Self { filter, number: tail.is_none().then_some(0) }
    }

    /// Prints an item that meets the conditions. Lines before the first line with a time are
    /// printed, because the next line may arrive much later.
    fn print(
        &mut self,
        task: &str,
        item: LogItem,
        printer: &mut LogPrinter<'_>,
    ) -> Result<(), Failure> {
        self.number = match item {
            LogItem::Line(_) => self.number.map(|number| number + 1),
            _ => None,
        };
        match self.filter.decide(&item) {
            Verdict::Drop => Ok(()),
            Verdict::Keep | Verdict::Undecided => printer.print(task, item, self.number),
        }
    }
}

/// Prints the log of one task, or the logs of all tasks, until the job has ended.
pub(super) async fn follow(
    job: &Job,
    tasks: &[String],
    tail: Option<usize>,
    filter: LineFilter,
    printer: &mut LogPrinter<'_>,
) -> Result<(), Failure> {
    let mut chunks = log_updates(job, tasks, tail).ready_chunks(CHUNK);
    let mut states: HashMap<String, Followed> = HashMap::new();
    while let Some(chunk) = chunks.next().await {
        for update in chunk {
            match update {
                Ok(JobUpdate::Log { task, item }) => match states.get_mut(&task) {
                    Some(state) => state.print(&task, item, printer)?,
                    None => {
                        let mut state = Followed::new(filter.clone(), tail);
                        state.print(&task, item, printer)?;
                        states.insert(task, state);
                    }
                },
                Ok(update) => {
                    printer.flush()?;
                    note_connection(&update);
                }
                Err(error) => {
                    printer.flush()?;
                    return Err(error.into());
                }
            }
        }
        printer.flush()?;
    }
    Ok(())
}

/// Returns the log lines of a single task, otherwise the updates of the whole job.
fn log_updates<'a>(
    job: &'a Job,
    tasks: &[String],
    tail: Option<usize>,
) -> LocalBoxStream<'a, Result<JobUpdate, Error>> {
    let [task] = tasks else {
        let updates = updates(job);
        return match tail {
            Some(lines) => updates.tail_lines(lines).follow().boxed_local(),
            None => updates.follow().boxed_local(),
        };
    };
    let mut logs = job.logs(task);
    if Session::is_local(job.client()) {
        logs = logs.interval(LOCAL_INTERVAL);
    }
    if let Some(lines) = tail {
        logs = logs.tail_lines(lines);
    }
    let task = task.clone();
    logs.follow().map_ok(move |item| JobUpdate::Log { task: task.clone(), item }).boxed_local()
}

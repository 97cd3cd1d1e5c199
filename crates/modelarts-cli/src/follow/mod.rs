//! Following of a job: phases, events and log lines are printed as they arrive.
//!
//! [`follow`] prints a stream of updates with a [`Printer`] until the job has ended, the time limit
//! passes, or a signal such as Ctrl-C arrives ([`Interrupt`]). After the time limit or a signal, a
//! job on the service continues.

mod interrupt;
mod item;
mod printer;

pub(crate) use interrupt::Interrupt;
pub(crate) use item::{EventItem, Item, JobEnd, JobName, now, outcome_name};
pub(crate) use printer::{Printer, clock_time, note_connection};

use std::{pin::pin, time::Duration};

use futures::{Stream, StreamExt};
use modelarts_ext::{
    Error, JobHandle,
    jobs::follow::{JobUpdate, Updates},
};
use tokio::time::Instant;

use crate::{failure::Failure, session::Session};

/// Maximum number of updates that are printed together.
pub(crate) const CHUNK: usize = 4096;
/// Pause between two polls of a server on this machine.
pub(crate) const LOCAL_INTERVAL: Duration = Duration::from_millis(100);
/// Time for which the program waits for missing items of a server on this machine. The log of a
/// script that prints nothing counts as missing.
const LOCAL_QUIET: Duration = Duration::from_millis(500);

/// Reason why following ended.
#[derive(Debug)]
pub(crate) enum End {
    Ended,
    /// The job was deleted.
    Vanished,
    /// The user left a live view after the service had accepted the stop of the job.
    Stopping,
    /// A signal such as Ctrl-C arrived before the end of the job.
    Interrupted,
    /// The time limit passed before the end of the job.
    TimedOut,
}

/// Returns the updates of a job, with suitable pauses between polls, and with reports of connection
/// interruptions.
pub(crate) fn updates(job: &JobHandle) -> Updates {
    let updates = job.updates().report_interruptions();
    match Session::is_local(job.client()) {
        true => updates.interval(LOCAL_INTERVAL).quiet(LOCAL_QUIET),
        false => updates,
    }
}

/// Prints updates until the stream ends, `deadline` passes, or a signal arrives. Updates that
/// arrive together are written together.
pub(crate) async fn follow(
    updates: impl Stream<Item = Result<JobUpdate, Error>>,
    printer: &mut Printer<'_>,
    interrupt: &mut Interrupt,
    deadline: Option<Instant>,
) -> Result<End, Failure> {
    let end = print_updates(updates, printer, interrupt, deadline).await;
    printer.end_lines()?;
    printer.flush()?;
    end
}

async fn print_updates(
    updates: impl Stream<Item = Result<JobUpdate, Error>>,
    printer: &mut Printer<'_>,
    interrupt: &mut Interrupt,
    deadline: Option<Instant>,
) -> Result<End, Failure> {
    let mut updates = pin!(updates.ready_chunks(CHUNK));
    let mut limit = pin!(limit(deadline));
    let mut end = End::Ended;
    loop {
        let chunk = tokio::select! {
            biased;
            () = interrupt.received() => return Ok(End::Interrupted),
            () = &mut limit => return Ok(End::TimedOut),
            chunk = updates.next() => chunk,
        };
        let Some(chunk) = chunk else {
            return Ok(end);
        };
        for update in chunk {
            let update = match update {
                Ok(update) => update,
                Err(error) => return Err(error.into()),
            };
            printer.print(&update)?;
            match update {
                // A job with a phase has not vanished.
                JobUpdate::Phase(_) => end = End::Ended,
                JobUpdate::Vanished => end = End::Vanished,
                _ => {}
            }
        }
        printer.flush()?;
    }
}

/// Waits until the deadline, forever without one.
pub(crate) async fn limit(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

//! Tables that are redrawn in place.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures::{Stream, StreamExt};
use modelarts_ext::{Client, Error, Timestamp};

use crate::follow::{Interrupt, clock_time};
use crate::live::screen::{INTERRUPT, Screen};
use crate::output::{Output, Row, Stdout};
use crate::terminal::{Emphasis, Terminal};
use crate::{exit_status::ExitStatus, failure::Failure, progress::count, session::Session};

/// Returns the pause between two reads of a table.
pub(crate) fn pause(client: &Client) -> Duration {
    Duration::from_secs(if Session::is_local(client) { 1 } else { 5 })
}

/// Shows rows that are read again and again, until `q` or a signal, below a line with their number
/// or about the lost connection. Returns an error of the first read, and one that does not pass.
pub(crate) async fn table<R: Row>(
    mut screen: Screen,
    output: &Output,
    snapshots: impl Stream<Item = Result<Vec<R>, Error>>,
) -> Result<ExitStatus, Failure> {
    let (mut interrupt, mut snapshots) = (Interrupt::new(), pin!(snapshots));
    let (mut rows, mut lost): (Option<Vec<R>>, _) = (None, None);
    let status = loop {
        let shown = output.table(rows.as_deref().unwrap_or_default(), Screen::size()?.0)?;
        let jobs = rows.as_ref().map(|rows| count(rows.len() as u64, "job"));
        let keys = format!("{}, q ends", jobs.as_deref().unwrap_or("reading"));
        let state = lost.map_or_else(|| Terminal::styled(keys, Emphasis::Dim), lost_since);
        screen.draw("", &[vec![state], shown].concat())?;
        tokio::select! {
            biased;
            () = interrupt.received() => break ExitStatus::Interrupted,
            key = screen.key() => match key {
                'q' => break ExitStatus::Success,
                INTERRUPT => break ExitStatus::Interrupted,
                _ => {}
            },
            Some(read) = snapshots.next() => match (read, &rows) {
                (Ok(new), _) => (rows, lost) = (Some(new), None),
                (Err(error), Some(_)) if error.is_retryable() => {
                    lost = lost.or_else(|| Some(SystemTime::now().into()));
                }
                (Err(error), _) => return Err(error.into()),
            },
        }
    };
    drop(screen);
    let shown = output.table(&rows.unwrap_or_default(), Screen::size()?.0)?;
    let mut stdout = Stdout::lock();
    shown.iter().try_for_each(|line| stdout.line(line))?;
    stdout.flush().map(|()| status)
}

/// Returns the line about a connection that was lost at a time.
pub(crate) fn lost_since(time: Timestamp) -> String {
    let text = format!("connection lost at {}, retrying", clock_time(time));
    Terminal::styled(text, Emphasis::Waiting)
}

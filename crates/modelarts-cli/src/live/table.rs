//! Tables that are redrawn in place.

use std::pin::pin;
use std::time::{Duration, Instant, SystemTime};

use futures::{Stream, StreamExt};
use modelarts_ext::{Client, Error, Timestamp};

use crate::follow::{Interrupt, clock_time};
use crate::live::screen::{INTERRUPT, Screen};
use crate::output::{self, Output, Row, Stdout};
use crate::terminal::{Emphasis, Terminal};
use crate::{exit_status::ExitStatus, failure::Failure, progress::count, session::Session};

/// Interval at which the line above the table is drawn again.
const TICK: Duration = Duration::from_secs(1);
/// Time after which a service that does not answer is shown.
const MAX_SILENCE: Duration = Duration::from_secs(20);

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
    let (mut rows, mut lost): (Option<Vec<R>>, Option<(Timestamp, bool)>) = (None, None);
    let (mut read_at, mut tick) = (Instant::now(), tokio::time::interval(TICK));
    let status = loop {
        let shown = output.table(rows.as_deref().unwrap_or_default(), Screen::size()?.0)?;
        let hidden = (shown.len() + 1).saturating_sub(usize::from(Screen::size()?.1));
        let jobs = rows.as_ref().map(|rows| match hidden {
            0 => count(rows.len() as u64, "job"),
            hidden => format!("{}, {hidden} below", count(rows.len() as u64, "job")),
        });
        let keys = format!("{}, q ends", jobs.as_deref().unwrap_or("reading"));
        let is_late = read_at.elapsed() > MAX_SILENCE && rows.is_some();
        let state = match lost {
            Some((since, is_limit)) => lost_since(since, is_limit),
            None if is_late => {
                let text = format!("no answer for {}", output::duration(read_at.elapsed()));
                Terminal::styled(text, Emphasis::Waiting)
            }
            None => Terminal::styled(keys, Emphasis::Dim),
        };
        screen.draw("", &[vec![state], shown].concat())?;
        tokio::select! {
            biased;
            () = interrupt.received() => break ExitStatus::Interrupted,
            key = screen.key() => match key {
                'q' => break ExitStatus::Success,
                INTERRUPT => break ExitStatus::Interrupted,
                _ => {}
            },
            _ = tick.tick() => {}
            Some(read) = snapshots.next() => match (read, &rows) {
                (Ok(new), _) => (rows, lost, read_at) = (Some(new), None, Instant::now()),
                (Err(error), Some(_)) if error.is_retryable() => {
                    let since = lost.map_or_else(|| SystemTime::now().into(), |(since, _)| since);
                    lost = Some((since, error.is_throttled()));
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

/// Returns the line about a connection that was lost at a time, or about a service that limits the
/// requests since then.
pub(crate) fn lost_since(time: Timestamp, is_limit: bool) -> String {
    let what = if is_limit { "requests limited since" } else { "connection lost at" };
    let text = format!("{what} {}, retrying", clock_time(time));
    Terminal::styled(text, Emphasis::Waiting)
}

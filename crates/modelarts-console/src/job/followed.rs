//! `FollowedJob` and `Position`: a job with its poller, and the position of a page in the stream.

use std::fmt;

use modelarts_ext::Job;

use crate::{
    live::{
        job::{JobState, JobWatch},
        log::LogState,
        pool::Viewer,
    },
    problem::Problem,
    site::{State, absent},
};

/// A job with the state of its poller, which runs while this value exists.
pub(crate) struct FollowedJob {
    /// Viewer that keeps the poller running.
    #[expect(dead_code, reason = "the job is followed while it exists")]
    watch: Viewer<JobWatch>,
    pub(crate) state: JobState,
    pub(crate) job: Job,
}

impl FollowedJob {
    /// Follows the job with an id from an address, and waits for the first poll. The status of the
    /// problem is 404 if the job does not exist or the id is malformed.
    pub(crate) async fn follow(state: &State, id: &str) -> Result<Self, Problem> {
        let watch = state.watches.job(&state.handle(id)?);
        let known = watch.loaded().await;
        match (known.is_vanished, &known.job, &known.interruption) {
            (false, Some(job), _) => Ok(Self { job: job.clone(), watch, state: known }),
            (false, None, Some(problem)) => Err(problem.clone()),
            _ => Err(absent(id)),
        }
    }
}

/// Position of a page in the stream of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// Number of the event series, number of changes of the job, and number of events.
    pub(crate) epoch: u64,
    pub(crate) head: u64,
    pub(crate) events: usize,
    /// Number of the line series, and number of lines.
    pub(crate) log_epoch: u64,
    pub(crate) lines: u64,
}

impl Position {
    /// Returns the position of a page that shows this state.
    pub(crate) fn of(state: &JobState, log: Option<&LogState>) -> Self {
        Self {
            epoch: state.epoch,
            head: state.head,
            events: state.events.len(),
            log_epoch: log.map_or(0, |log| log.epoch),
            lines: log.map_or(0, LogState::lines),
        }
    }

    /// Parses a position. Returns `None` if the text is not a position.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let position = Self {
            epoch: u64::from_str_radix(parts.next()?, 16).ok()?,
            head: parts.next()?.parse().ok()?,
            events: parts.next()?.parse().ok()?,
            log_epoch: u64::from_str_radix(parts.next()?, 16).ok()?,
            lines: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(position)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:x}-{}-{}-{:x}-{}",
            self.epoch, self.head, self.events, self.log_epoch, self.lines
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back() {
        let position =
            Position { epoch: u64::MAX, head: 2, events: 30, log_epoch: 17, lines: 2_000_000 };
        assert_eq!(position.to_string(), "ffffffffffffffff-2-30-11-2000000");
        assert_eq!(Position::parse(&position.to_string()), Some(position));
        for text in ["", "1", "1-2-3-4", "1-2-3-4-5-6", "x-2-3-4-5", "-1-2-3-4-5"] {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }
}

//! `ExitStatus`: the exit codes of the program.

use clap::ValueEnum;
use modelarts_ext::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

/// An exit code.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExitCode {
    /// The exit code.
    pub(crate) code: u8,
    /// Its meaning.
    pub(crate) meaning: &'static str,
    /// Next step of the caller.
    pub(crate) advice: &'static str,
}

/// Result of a command, which determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The command succeeded, or the job completed.
    Success,
    /// The service rejected the request, or the network or this machine caused an error.
    Refused,
    /// The command line, a file or a setting is wrong.
    Usage,
    /// The check found violations; nothing was sent.
    Unchecked,
    /// The job, or another resource of the service, does not exist.
    NotFound,
    /// The job failed.
    Failed,
    /// The job ended abnormally.
    Abnormal,
    /// The job was stopped by its user or by the automatic stop.
    Terminated,
    /// The job was deleted while the command waited for it.
    Vanished,
    /// The job completed, and files of its outputs could not be received.
    Incomplete,
    /// The time limit of the command passed.
    TimedOut,
    /// Ctrl-C or another signal ended the command. A job on the service continues.
    Interrupted,
    /// The reader of stdout closed it before the outcome of the job was known. The code is 128 +
    /// SIGPIPE, which a shell reports for other programs in this case.
    BrokenPipe,
    /// Exit code of a failed task, for `--exit-code task`.
    Task(u8),
}

impl ExitStatus {
    /// All exit codes except those of tasks.
    pub(crate) const ALL: &[ExitCode] = &[
        Self::Success.means("completed, or the command succeeded", "Go on."),
        Self::Refused.means(
            "refused by the service, the network or this machine",
            "Read the message; `modelarts doctor` checks settings and connection.",
        ),
        Self::Usage.means("wrong arguments", "Correct what the message names."),
        Self::Unchecked.means("refused by the check; nothing was sent", "Correct each violation."),
        Self::NotFound.means("no such job, or no such object", "Look at `modelarts ls`."),
        Self::Failed.means("the job failed", "Run `modelarts explain JOB`; correct the cause."),
        Self::Abnormal.means("the job ended abnormally", "Run `modelarts explain JOB`."),
        Self::Terminated.means("the job was terminated", "Ask before you submit it again."),
        Self::Vanished.means("the job was deleted meanwhile", "Ask before you submit it again."),
        Self::Incomplete.means(
            "completed, outputs incomplete",
            "Run `modelarts download JOB`, with --local for a job of this machine.",
        ),
        Self::TimedOut.means("the time limit passed", "Wait again: `modelarts wait JOB`."),
        Self::Interrupted.means(
            "Ctrl-C, SIGTERM or SIGHUP; the job continues, except on this machine",
            "Follow it again: `modelarts watch JOB`.",
        ),
        Self::BrokenPipe
            .means("the reader of stdout ended before the job", "Run `modelarts wait JOB`."),
    ];

    /// Returns the exit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Unchecked => 3,
            Self::NotFound => 4,
            Self::Failed => 10,
            Self::Abnormal => 11,
            Self::Terminated => 12,
            Self::Vanished => 13,
            Self::Incomplete => 14,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
            Self::BrokenPipe => 141,
            Self::Task(code) => code,
        }
    }

    /// Returns the status of a job whose outputs were not received whole.
    pub(crate) fn with_incomplete_outputs(self) -> Self {
        match self {
            Self::Success => Self::Incomplete,
            status => status,
        }
    }

    const fn means(self, meaning: &'static str, advice: &'static str) -> ExitCode {
        ExitCode { code: self.code(), meaning, advice }
    }
}

impl From<&Outcome> for ExitStatus {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Completed | Outcome::Reached => Self::Success,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Terminated { .. } => Self::Terminated,
            Outcome::Abnormal { .. } => Self::Abnormal,
            Outcome::Vanished => Self::Vanished,
            _ => Self::Failed,
        }
    }
}

/// Source of the exit code of a command that waits for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodeSource {
    /// That of the outcome: `modelarts --help` lists the exit codes.
    Outcome,
    /// The exit code of the task that failed, if the job failed.
    Task,
}

impl ExitCodeSource {
    pub(crate) fn status(self, outcome: &Outcome) -> ExitStatus {
        match (self, outcome) {
            (Self::Task, Outcome::Failed { exit_code: Some(code), .. }) => {
                // Exit codes above 255 do not exist on Unix. A failed job whose task returned 0 is
                // not a success.
                match u8::try_from(*code) {
                    Ok(code @ 1..) => ExitStatus::Task(code),
                    _ => ExitStatus::Failed,
                }
            }
            _ => outcome.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_job_is_never_a_success() {
        for (exit_code, status) in [
            (Some(7), ExitStatus::Task(7)),
            (Some(255), ExitStatus::Task(255)),
            (Some(256), ExitStatus::Failed),
            (Some(-9), ExitStatus::Failed),
            (Some(0), ExitStatus::Failed),
            (None, ExitStatus::Failed),
        ] {
            let outcome = Outcome::Failed { exit_code, task: None, message: None };
            assert_eq!(ExitCodeSource::Task.status(&outcome), status, "{exit_code:?}");
        }
    }
}

//! `Job::status_reason`: the cause of the state of a job in a few words, for lists.

use modelarts_api::{Cause, diagnosis::Confidence};

use crate::jobs::{
    diagnosis::{facts::Facts, finding::Finding, rules::diagnose},
    exit_code::signal_name,
    job::Job,
};

impl Job {
    /// Returns the reason for the state of the job in a few words, such as `worker-0 exit code 137:
    /// likely out of memory`, without a call. `None` if the phase needs no explanation.
    ///
    /// The reason is based on the stored details only, which the rows of a list have as well.
    /// [`explain`](crate::JobHandle::explain) also reads events and logs.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # #[tokio::main]
    /// # async fn main() -> Result {
    /// # let (emulator, client) = start().await?;
    /// # let job = hello(&emulator, &client, "reason")?;
    /// # emulator.put("bucket/code/train.py", "raise SystemExit(137)\n")?;
    /// # let _ = job.submit().await?.wait().await?;
    /// use futures::TryStreamExt;
    ///
    /// let mut jobs = client.training_jobs().list().stream();
    /// while let Some(job) = jobs.try_next().await? {
    ///     println!("{} {} {}", job.name(), job.phase(), job.status_reason().unwrap_or_default());
    /// #   assert_eq!(
    /// #       job.status_reason().as_deref(),
    /// #       Some("worker-0 exit code 137: likely out of memory")
    /// #   );
    /// }
    /// # emulator.shutdown().await;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn status_reason(&self) -> Option<String> {
        let facts = Facts::of(self);
        reason(&facts, &diagnose(&facts))
    }
}

/// Returns the finding in a few words.
fn reason(facts: &Facts, finding: &Finding) -> Option<String> {
    let restarts = match facts.restarts() {
        0 => None,
        1 => Some("1 restart".to_owned()),
        count => Some(format!("{count} restarts")),
    };
    let after_restarts = |text: String| match &restarts {
        Some(restarts) => format!("{text}, after {restarts}"),
        None => text,
    };
    let place = match &facts.pool {
        Some(pool) => format!(" in {pool}"),
        None => String::new(),
    };
    match finding.cause {
        Cause::Completed | Cause::Running => restarts,
        Cause::Terminating | Cause::TerminatedByUser => None,
        Cause::Preparing => Some(after_restarts("being prepared".to_owned())),
        Cause::WaitingForResources => {
            let text = format!("waiting for resources{place}");
            Some(match facts.last_run().and_then(|run| run.reason.clone()) {
                Some(reason) => format!("{text}, after {reason}"),
                None => text,
            })
        }
        cause => {
            let task = finding.task.as_deref();
            let code = finding.exit_code.map(|code| format!("exit code {code}"));
            let subject = [task, code.as_deref()];
            let subject = subject.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let cause = match cause {
                Cause::Unknown | Cause::RestartsExhausted => other_reason(facts),
                Cause::KilledBySignal => finding.exit_code.and_then(signal_name).map(str::to_owned),
                _ => Some(cause.as_str().replace('_', " ")),
            };
            let likely = match finding.confidence {
                Confidence::Likely => "likely ",
                _ => "",
            };
            let text = match (subject.is_empty(), cause) {
                (true, None) => return restarts,
                (true, Some(cause)) => format!("{likely}{cause}"),
                (false, None) => subject,
                (false, Some(cause)) => format!("{subject}: {likely}{cause}"),
            };
            Some(after_restarts(text))
        }
    }
}

/// Returns what the details state about a state without a known cause: the message of the failed
/// task, or the detailed phase.
fn other_reason(facts: &Facts) -> Option<String> {
    let failed = facts.failed_task();
    let known = failed.exit_code.map(|code| format!("exit with {code}"));
    let message = failed.message.filter(|text| Some(text) != known.as_ref());
    let is_other = |text: &String| {
        facts.phase.as_ref().is_none_or(|phase| !phase.as_str().eq_ignore_ascii_case(text))
    };
    message.or_else(|| facts.secondary_phase.clone().filter(is_other))
}

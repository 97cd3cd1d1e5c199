//! Diagnosis of a job: the cause of its failure, its stop or its wait, with evidence and advice.
//!
//! [`JobHandle::explain`] reads the details of a job, and what its phase requires: events, the end
//! of the log of the task that failed, the memory usage, the queue. Rules determine the cause from
//! these facts: exit codes, records of restarts and faults, event texts, and the lines of logs by
//! which frameworks report errors. A diagnosis without a known cause has the cause
//! [`Unknown`](Cause::Unknown), and its evidence has the last lines of the log.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # let job = hello(&emulator, &client, "explained")?;
//! # emulator.put("bucket/code/train.py", "import apexx\n")?;
//! # let job = job.submit().await?;
//! use modelarts_ext::jobs::diagnosis::{Cause, Confidence};
//!
//! if !job.wait().await?.is_completed() {
//!     let diagnosis = job.explain().await?;
//!     println!("{diagnosis}");
//!     if diagnosis.cause == Cause::MissingModule {
//!         println!("the image lacks a package: {}", diagnosis.advice.join(" "));
//!     }
//! #   assert_eq!(diagnosis.cause, Cause::MissingModule);
//! #   assert_eq!(diagnosis.confidence, Confidence::Certain);
//! }
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! A job can be diagnosed in every phase. For a job that waits, the diagnosis has the queue of its
//! pool; for a running job, a suspected hang. [`Job::status_reason`](crate::Job::status_reason)
//! applies the rules to the row of a list, without a call.
//!
//! The causes of [`Cause::ALL`] have stable names. Texts are for people, and may change.

// `read` reads the `facts`, from which `rules` and `failure` conclude a finding; `search` finds the
// cause in a log. Causes, texts and signatures are generated from `openapi/causes.yaml`.

mod facts;
mod failure;
mod read;
mod report;
mod rules;
mod search;
#[cfg(test)]
mod tests;
mod texts;

pub use modelarts_api::{
    Cause,
    diagnosis::{Confidence, Link},
};
pub use report::{Diagnosis, Evidence, Fact};

use crate::{
    error::Error,
    jobs::{
        diagnosis::{facts::Facts, rules::diagnose},
        job::{Job, JobHandle},
    },
};

impl JobHandle {
    /// Determines why the job failed, was stopped, or waits; see the [module](self).
    ///
    /// Makes one call for the details, and for a job that failed up to seven more: events, the ends
    /// of up to four logs, memory usage; all within
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout). Of each
    /// log, the newest 5 MB are read at most. What cannot be read is part of the evidence
    /// ([`Fact::Unavailable`]). The service reports events and logs late, so a later diagnosis may
    /// have more evidence.
    ///
    /// # Errors
    /// Returns the error of the call for the details, such as one with [`Error::is_not_found`] if
    /// the job does not exist.
    pub async fn explain(&self) -> Result<Diagnosis, Error> {
        let deadline = self.client().deadline();
        let clock = &**self.client().clock();
        let job = deadline.limit(clock, "the job was being read", self.get());
        let job = job.await?;
        let facts = read::facts(&job, &deadline).await;
        Ok(Diagnosis::of(&job, &facts))
    }
}

impl Diagnosis {
    fn of(job: &Job, facts: &Facts) -> Self {
        let finding = diagnose(facts);
        let (summary, advice, links) = texts::texts(facts, &finding);
        Self {
            id: job.id().to_owned(),
            name: job.name().to_owned(),
            phase: job.phase(),
            summary,
            advice,
            links,
            cause: finding.cause,
            confidence: finding.confidence,
            task: finding.task,
            exit_code: finding.exit_code,
            evidence: finding.evidence,
        }
    }
}

//! Diagnosis of a job: the cause of its failure, its stop or its wait, with evidence and advice.
//!
//! [`JobHandle::explain`] reads the details of a job, and as its phase requires, events, the end of
//! a log, the memory usage and the queue. Rules determine the cause. Without a known one, it is
//! [`Unknown`](Cause::Unknown), with the last lines of the log as evidence.
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
//! A job can be diagnosed in every phase. [`Job::status_reason`](crate::Job::status_reason) applies
//! the rules to the row of a list, without a call.
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
    /// Makes one call, and for a failed job up to seven more (events, up to four logs of at most 5
    /// MB, memory usage), within
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout).
    /// [`Fact::Unavailable`] has what cannot be read. A later diagnosis may have more evidence.
    ///
    /// # Errors
    /// Returns the error of the call for the details.
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

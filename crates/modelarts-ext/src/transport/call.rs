//! Metadata of a call, which the transport returns with the response.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use modelarts_api::{RawResponse, decode::Skipped};

use crate::{
    clock::{Clock, since},
    credentials::authenticate::Secrets,
    error::{CallSummary, mask::Mask},
};

/// Minimum time for decoding a response, even if it arrives at the end of the time limit.
const MIN_DECODE_TIME: Duration = Duration::from_secs(1);

/// Metadata of a call, such as request id, number of attempts and duration.
///
/// The extensions of a response of the generated client contain the metadata:
///
/// ```no_run
/// # use modelarts_ext::{Client, client::CallInfo, api};
/// # async fn example(client: Client) -> Result<(), api::Error> {
/// let quotas = client.api().show_training_quotas().project_id(client.project_id()).send().await?;
/// let call = quotas.raw().extensions.get::<CallInfo>();
/// println!("request {:?}", call.and_then(CallInfo::request_id));
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct CallInfo {
    pub(crate) summary: CallSummary,
    pub(crate) status: Option<u16>,
    pub(crate) body: Bytes,
    pub(crate) skipped: Skipped,
    pub(super) secrets: Vec<Secrets>,
    pub(crate) canonical_request: Option<String>,
    pub(crate) advice: Option<String>,
    pub(crate) timeout: Duration,
    pub(super) answered_at: Option<SystemTime>,
}

impl CallInfo {
    /// Returns the name of the operation, such as `ShowTrainingJobDetails`.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.summary.operation
    }

    /// Returns the request id, which the support of the cloud needs to find the call.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.summary.request_id.as_deref()
    }

    /// Returns the number of attempts of the call.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.summary.attempts
    }

    /// Returns the duration of the call, including all attempts.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.summary.elapsed
    }

    pub(crate) fn take_from(response: &mut RawResponse) -> Self {
        response.extensions.remove().unwrap_or_default()
    }

    /// Returns a copy without the body, so that a list row does not keep the page in memory.
    pub(crate) fn without_body(&self) -> Self {
        Self { body: Bytes::new(), ..self.clone() }
    }

    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.secrets.iter().flat_map(Secrets::texts))
    }

    /// Returns `true` if decoding exceeds the time limit. Earlier clock changes have no effect.
    pub(super) fn is_late(&self, clock: &dyn Clock) -> bool {
        let left = self.timeout.saturating_sub(self.elapsed());
        self.answered_at.is_some_and(|start| since(clock, start) >= left.max(MIN_DECODE_TIME))
    }
}

impl fmt::Debug for CallInfo {
    // The body is not printed, because it may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallInfo")
            .field("request_id", &self.request_id())
            .field("attempts", &self.attempts())
            .field("elapsed", &self.elapsed())
            .finish_non_exhaustive()
    }
}

//! Observation of attempts, for metrics and audits.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

/// Attempt of a request, which an [observer](crate::ClientBuilder::on_attempt) receives when the
/// attempt has ended.
///
/// Requests to the service are attempts of a call, with their number and the pause before the next
/// one. A request for credentials or to OBS is a single attempt, and its repetition another one.
#[derive(Debug)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// Operation, such as `ShowTrainingJobDetails`. For credentials the name of the server, such as
    /// `IAM`, and for OBS the method, such as `OBS GET`.
    pub operation: &'a str,
    /// Number of the attempt in its call, from 1.
    pub number: u32,
    /// Status of the response, or the error if no usable response arrived.
    pub result: Result<u16, &'a (dyn StdError + 'static)>,
    /// Duration of the attempt. For OBS, it ends with the headers of the response.
    pub elapsed: Duration,
    /// Pause before the next attempt of the call. `None` if the call ends with this attempt.
    pub next: Option<Duration>,
}

impl<'a> Attempt<'a> {
    /// Creates the only attempt of a request.
    #[must_use]
    pub fn new(
        operation: &'a str,
        result: Result<u16, &'a (dyn StdError + 'static)>,
        elapsed: Duration,
    ) -> Self {
        Self { operation, number: 1, result, elapsed, next: None }
    }
}

/// Function that receives the attempts.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<Observe>>);

type Observe = dyn for<'a, 'b> Fn(&'a Attempt<'b>) + Send + Sync;

impl Observer {
    pub(crate) fn new(observe: impl Fn(&Attempt<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observe)))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn observe(&self, attempt: &Attempt<'_>) {
        if let Some(observe) = &self.0 {
            observe(attempt);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_set() { "Observer" } else { "no observer" })
    }
}

//! Durations of the steps of a job.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Delays that the service adds to the time for which the code runs.
///
/// The emulator adds them to the real time of runs, copies and downloads. Values come from examples
/// (`openapi/SOURCES.md`, D-159); **\[i\]** marks estimates for which no source exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Timing {
    /// Time from the accepted request to the queue: 2.4 s, as in the examples.
    pub creating: Duration,
    /// Time from the queue to the first container event: 7 s.
    pub queuing: Duration,
    /// Time from the start of the containers to Running: 3 s.
    pub starting: Duration,
    /// Time from Running to the start of the code: 1 s.
    pub first_step: Duration,
    /// Time from the end of the code to the upload of its outputs: 1 s.
    pub before_upload: Duration,
    /// Time from the last upload to the end of the containers: 4 s.
    pub after_upload: Duration,
    /// Time from the end of the containers to the final phase: 25 s.
    pub finishing: Duration,
    /// Time from the final phase to the billing event: 5 s \[i\].
    pub billing: Duration,
    /// Time from an accepted deletion to the removal of the job: 10 s \[i\].
    pub deleting: Duration,
    /// Time from the request to save an image to the saved image: 60 s \[i\].
    pub saving_image: Duration,
    /// Maximum time for processes to end after SIGTERM, before SIGKILL: 30 s.
    pub grace: Duration,
    /// Maximum time that a restarted job waits for nodes: 30 minutes.
    pub requeue: Duration,
    /// Maximum time for copying code and inputs and for installing packages: 1 hour \[i\]. The
    /// limit applies to real copies, so factors do not shorten it.
    pub preparing: Duration,
}

impl Timing {
    /// Returns the service's own delays.
    #[must_use]
    pub const fn documented() -> Self {
        Self {
            creating: Duration::from_millis(2400),
            queuing: Duration::from_secs(7),
            starting: Duration::from_secs(3),
            first_step: Duration::from_secs(1),
            before_upload: Duration::from_secs(1),
            after_upload: Duration::from_secs(4),
            finishing: Duration::from_secs(25),
            billing: Duration::from_secs(5),
            deleting: Duration::from_secs(10),
            saving_image: Duration::from_secs(60),
            grace: Duration::from_secs(30),
            requeue: Duration::from_secs(30 * 60),
            preparing: Duration::from_secs(60 * 60),
        }
    }

    /// Returns a timing without delays, and with a grace period of at most 5 s, for tests.
    #[must_use]
    pub const fn instant() -> Self {
        Self {
            creating: Duration::ZERO,
            queuing: Duration::ZERO,
            starting: Duration::ZERO,
            first_step: Duration::ZERO,
            before_upload: Duration::ZERO,
            after_upload: Duration::ZERO,
            finishing: Duration::ZERO,
            billing: Duration::ZERO,
            deleting: Duration::ZERO,
            saving_image: Duration::ZERO,
            grace: Duration::from_secs(5),
            requeue: Duration::from_secs(30 * 60),
            preparing: Duration::from_secs(60 * 60),
        }
    }

    /// Returns the service's own delays divided by `factor`. The grace period is never shorter than
    /// 5 s.
    ///
    /// A factor that is not positive and finite counts as 1.
    #[must_use]
    pub fn faster(factor: f64) -> Self {
        let factor = if factor.is_finite() && factor > 0.0 { factor } else { 1.0 };
        let scaled = |duration: Duration| {
            Duration::try_from_secs_f64(duration.as_secs_f64() / factor).unwrap_or(duration)
        };
        let documented = Self::documented();
        Self {
            creating: scaled(documented.creating),
            queuing: scaled(documented.queuing),
            starting: scaled(documented.starting),
            first_step: scaled(documented.first_step),
            before_upload: scaled(documented.before_upload),
            after_upload: scaled(documented.after_upload),
            finishing: scaled(documented.finishing),
            billing: scaled(documented.billing),
            deleting: scaled(documented.deleting),
            saving_image: scaled(documented.saving_image),
            grace: scaled(documented.grace).max(Self::instant().grace),
            requeue: scaled(documented.requeue),
            preparing: documented.preparing,
        }
    }
}

impl Default for Timing {
    /// Returns the service's own delays divided by 30, as [`Timing::faster`] does.
    fn default() -> Self {
        Self::faster(30.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_quick_but_visible() {
        let quick = Timing::default();
        let total = quick.creating
            + quick.queuing
            + quick.starting
            + quick.first_step
            + quick.before_upload
            + quick.after_upload
            + quick.finishing;
        assert!(total > Duration::from_secs(1) && total < Duration::from_secs(2), "{total:?}");
        assert_eq!(Timing::faster(1.0), Timing::documented());
        assert_eq!(Timing::faster(f64::NAN), Timing::documented());
    }
}

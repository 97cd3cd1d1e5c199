//! Durations of the steps of a job.

use std::time::Duration;

/// The delays that the service adds around the run of the code.
///
/// They are added to the real time of runs, copies and downloads. Values come from examples
/// (`openapi/SOURCES.md`, D-159); **\[i\]** marks estimates without a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// From the accepted request to the queue (Creating to Pending): 2.4 s, the first node sample.
    pub creating: Duration,
    /// From the queue to the first container event: 7 s.
    pub queuing: Duration,
    /// From started containers to Running: 3 s.
    pub starting: Duration,
    /// From Running to the start of the code: 1 s.
    pub first_step: Duration,
    /// From the end of the code to the upload of its outputs: 1 s.
    pub before_upload: Duration,
    /// From the last upload to the end of the containers: 4 s.
    pub after_upload: Duration,
    /// From the end of the containers to the final phase: 25 s.
    pub finishing: Duration,
    /// From the final phase to the billing event: 5 s \[i\].
    pub billing: Duration,
    /// From an accepted deletion to the moment the job is gone: 10 s \[i\].
    pub deleting: Duration,
    /// From the request to save an image to the saved image: 60 s \[i\].
    pub saving_image: Duration,
    /// Time for processes to end after SIGTERM, before SIGKILL: 30 s. An upper bound, not a delay:
    /// a job ends as soon as its processes have ended.
    pub grace: Duration,
    /// Time for a job that runs again to wait for nodes: 30 minutes. An upper bound as well.
    pub requeue: Duration,
    /// Time for code, inputs and packages to arrive: 1 hour \[i\]. An upper bound on real copies,
    /// so that no factor shortens it.
    pub preparing: Duration,
}

impl Timing {
    /// The service's own delays.
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

    /// No delays, for tests. The grace period is an upper bound and stays at 5 s.
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

    /// The service's own delays divided by `factor`. The grace period shrinks to no less than 5 s.
    ///
    /// A factor that is not a positive number counts as 1.
    #[must_use]
    pub fn faster(factor: f64) -> Self {
        let factor = if factor.is_finite() && factor > 0.0 {
            factor
        } else {
            1.0
        };
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
    /// Thirty times faster than the service: each step stays visible, and all of them together add
    /// about one and a half seconds to a job.
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
        assert!(
            total > Duration::from_secs(1) && total < Duration::from_secs(2),
            "{total:?}"
        );
        assert_eq!(Timing::faster(1.0), Timing::documented());
        assert_eq!(Timing::faster(f64::NAN), Timing::documented());
    }
}

//! The decisions of a submission: what follows each answer, without a request.
//!
//! A create request is sent, and its job is searched for if the request may have been executed.
//! The request is sent again only if the search finds no job, so the states are:
//!
//! ```text
//! Sent::Nothing --answer--> the end, or Unsettled --search--> the end, or Sent::Lost --> ...
//! ```

use std::{ops::ControlFlow, time::Duration};

use modelarts_api::codes;

use crate::{error::Error, jobs::create::submission::wording};

/// Requests that were sent so far.
pub(super) enum Sent {
    /// No request can have created the job.
    Nothing,
    /// Requests whose responses were lost. No search found the job, but it may not be listed yet.
    Lost {
        /// The error of the last request.
        error: Error,
        times: u32,
    },
}

/// A request that failed, and after which the job is searched for.
pub(super) struct Unsettled {
    error: Error,
    earlier: Sent,
}

/// Failure of a step.
pub(super) enum Failure {
    Answer(Error),
    /// The deadline passed before the answer.
    Late(Error),
}

/// Result of the search for a job.
pub(super) enum Found<J> {
    /// The job that a request created.
    Created(J),
    /// Only another job of the same name.
    OtherJob,
    /// A job of this name that may be that of the request, but seems to be older. Clocks that
    /// differ may be the reason.
    Unclear,
    /// No job of this name. The new job may not be listed yet.
    Absent,
}

/// The next step of a submission, or its end.
pub(super) type Next<J, Step> = ControlFlow<Result<J, Error>, Step>;

impl Sent {
    /// Returns what follows the answer to a request for the job with this name.
    pub(super) fn answered<J>(self, name: &str, answer: Result<J, Failure>) -> Next<J, Unsettled> {
        let error = match (answer, self) {
            (Ok(job), _) => return ControlFlow::Break(Ok(job)),
            (Err(Failure::Answer(error)), Self::Nothing) if !error.is_uncertain() => error,
            (Err(Failure::Answer(error)), earlier) => {
                return ControlFlow::Continue(Unsettled { error, earlier });
            }
            (Err(Failure::Late(late)), Self::Lost { error, .. }) => {
                wording::may_exist(late.after_uncertain(error), name)
            }
            (Err(Failure::Late(late)), Self::Nothing) if late.is_uncertain() => {
                wording::may_exist(late, name)
            }
            (Err(Failure::Late(late)), Self::Nothing) => wording::not_sent(late),
        };
        ControlFlow::Break(Err(error))
    }
}

impl Unsettled {
    /// Returns `true` if the service rejected the request because the name is in use, and an
    /// earlier request may have created the job of this name. The search then includes older jobs.
    pub(super) fn name_is_taken(&self) -> bool {
        let is_duplicate = self.error.code() == Some(codes::DUPLICATE_TRAINING_JOB_NAME);
        is_duplicate && matches!(self.earlier, Sent::Lost { .. })
    }

    /// Returns the time that the service requested before another request.
    pub(super) fn retry_after(&self) -> Duration {
        self.error.retry_after().unwrap_or_default()
    }

    /// Returns what follows the search. `may_repeat` receives the number of requests so far, and
    /// decides whether another one may be sent.
    pub(super) fn searched<J>(
        self,
        name: &str,
        found: Result<Found<J>, Failure>,
        may_repeat: impl FnOnce(u32) -> bool,
    ) -> Next<J, Sent> {
        let name_is_taken = self.name_is_taken();
        let Self { error, earlier } = self;
        let (lost, times) = match earlier {
            Sent::Nothing => (None, 1),
            Sent::Lost { error, times } => (Some(error), times + 1),
        };
        let (is_unclear, other_job) = match found {
            Ok(Found::Created(job)) => return ControlFlow::Break(Ok(job)),
            // The name belongs to another job, so every request was rejected.
            Ok(Found::OtherJob) if name_is_taken => return ControlFlow::Break(Err(error)),
            // An earlier request may have created a job that the search missed, because it is not
            // listed yet.
            Ok(_) if !error.is_uncertain() => {
                return ControlFlow::Break(Err(wording::may_exist(error, name)));
            }
            Ok(Found::OtherJob) => (false, true),
            Ok(Found::Unclear) => (true, false),
            Ok(Found::Absent) => (false, false),
            Err(Failure::Answer(search)) => {
                let end = match lost {
                    None if have_same_rejection(&error, &search) => wording::not_received(error),
                    lost => wording::search_failed(lost.unwrap_or(error), &search, name),
                };
                return ControlFlow::Break(Err(end));
            }
            Err(Failure::Late(late)) => {
                let late = late.after_uncertain(lost.unwrap_or(error));
                return ControlFlow::Break(Err(wording::may_exist(late, name)));
            }
        };
        if !error.is_final() && may_repeat(times) {
            ControlFlow::Continue(Sent::Lost { error, times })
        } else if is_unclear {
            ControlFlow::Break(Err(wording::may_exist(error, name)))
        } else {
            ControlFlow::Break(Err(wording::not_found(error, name, times, other_job)))
        }
    }
}

/// Returns `true` if a create request and a search failed with the same status, 401 or 404. This
/// suggests that the server is not the service, because of a proxy or a wrong endpoint.
fn have_same_rejection(create: &Error, search: &Error) -> bool {
    matches!(create.status(), Some(401 | 404)) && create.status() == search.status()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// Returns an error with this status, or one of a lost connection for status 0.
    fn error(status: u16, code: Option<&str>) -> Error {
        match status {
            0 => Error::new(ErrorKind::Connection, "cut").with_uncertainty(),
            _ => {
                let error = Error::new(ErrorKind::Service, "m").with_status(status);
                error.with_code(code.map(str::to_owned))
            }
        }
    }

    fn lost() -> Error {
        error(0, None)
    }

    fn refused() -> Error {
        error(403, Some("ModelArts.0001"))
    }

    fn taken() -> Error {
        error(400, Some(codes::DUPLICATE_TRAINING_JOB_NAME))
    }

    fn again() -> Sent {
        let error = lost();
        Sent::Lost { error, times: 1 }
    }

    /// Returns the end of a step in words: the job, or the advice of the error and whether it is
    /// uncertain.
    fn end<S>(next: Next<&str, S>) -> String {
        match next {
            ControlFlow::Continue(_) => "continues".to_owned(),
            ControlFlow::Break(Ok(job)) => job.to_owned(),
            ControlFlow::Break(Err(error)) => {
                let advice = error.solution().unwrap_or("as it is");
                let advice = advice.split([':', ';', ',']).next().unwrap_or_default();
                let uncertain = if error.is_uncertain() { " (uncertain)" } else { "" };
                format!("{advice}{uncertain}")
            }
        }
    }

    #[test]
    fn a_request_that_cannot_have_been_executed_is_not_searched_for() {
        let late = || Error::new(ErrorKind::Timeout, "late");
        let exists = "the job may exist all the same (uncertain)";
        for (sent, answer, expected) in [
            (Sent::Nothing, Ok("job"), "job"),
            (again(), Ok("job"), "job"),
            (Sent::Nothing, Err(Failure::Answer(refused())), "as it is"),
            (Sent::Nothing, Err(Failure::Answer(taken())), "as it is"),
            (Sent::Nothing, Err(Failure::Answer(lost())), "continues"),
            (again(), Err(Failure::Answer(lost())), "continues"),
            (again(), Err(Failure::Answer(refused())), "continues"),
            (Sent::Nothing, Err(Failure::Late(late())), "it was not sent"),
            (Sent::Nothing, Err(Failure::Late(late().with_uncertainty())), exists),
            (again(), Err(Failure::Late(late())), exists),
        ] {
            assert_eq!(end(sent.answered("n", answer)), expected);
        }
    }

    #[test]
    fn a_request_is_sent_again_only_after_a_search_that_found_no_job() {
        use Found::{Absent, Created, OtherJob, Unclear};
        let exists = "the job may exist all the same (uncertain)";
        let once = "it was sent once (uncertain)";
        let searched = "the search for the job failed (uncertain)";
        let same = "the search for the job was answered in the same way (uncertain)";
        let failed = |status| Err(Failure::Answer(error(status, None)));
        let unauthorized = || {
            error(401, None).with_call(crate::error::call_summary::CallSummary {
                attempts: 1,
                ..Default::default()
            })
        };
        for (line, error, earlier, found, may_repeat, expected) in [
            (line!(), lost(), Sent::Nothing, Ok(Created("job")), true, "job"),
            (line!(), taken(), again(), Ok(Created("job")), true, "job"),
            (line!(), taken(), again(), Ok(OtherJob), true, "as it is"),
            (line!(), taken(), again(), Ok(Absent), true, exists),
            (line!(), taken(), again(), Ok(Unclear), true, exists),
            (line!(), refused(), again(), Ok(OtherJob), true, exists),
            (line!(), refused(), again(), Ok(Absent), true, exists),
            (line!(), lost(), Sent::Nothing, Ok(Absent), true, "continues"),
            (line!(), lost(), Sent::Nothing, Ok(OtherJob), true, "continues"),
            (line!(), lost(), Sent::Nothing, Ok(Unclear), true, "continues"),
            (line!(), lost(), Sent::Nothing, Ok(Absent), false, once),
            (line!(), lost(), Sent::Nothing, Ok(OtherJob), false, once),
            (line!(), lost(), Sent::Nothing, Ok(Unclear), false, exists),
            (line!(), lost(), again(), Ok(Absent), false, "it was sent 2 times (uncertain)"),
            (line!(), lost().with_retryable(false), Sent::Nothing, Ok(Absent), true, once),
            (line!(), lost(), Sent::Nothing, failed(503), true, searched),
            (line!(), unauthorized(), Sent::Nothing, failed(401), true, same),
            (line!(), unauthorized(), Sent::Nothing, failed(404), true, searched),
            (line!(), unauthorized(), again(), failed(401), true, searched),
            (line!(), lost(), Sent::Nothing, Err(Failure::Late(refused())), true, exists),
        ] {
            let unsettled = Unsettled { error, earlier };
            let next = unsettled.searched("n", found, |_| may_repeat);
            assert_eq!(end(next), expected, "line {line}");
        }
    }

    #[test]
    fn requests_are_counted() {
        let unsettled = Unsettled { error: lost(), earlier: again() };
        let next = unsettled.searched::<()>("n", Ok(Found::Absent), |times| times == 2);
        assert!(matches!(next, ControlFlow::Continue(Sent::Lost { times: 2, .. })));
    }

    #[test]
    fn the_name_is_taken_only_after_a_lost_request() {
        for (error, earlier, expected) in
            [(taken(), again(), true), (taken(), Sent::Nothing, false), (refused(), again(), false)]
        {
            assert_eq!(Unsettled { error, earlier }.name_is_taken(), expected);
        }
    }

    #[test]
    fn a_pause_of_the_service_is_kept() {
        let wait = Duration::from_secs(7);
        for (error, expected) in
            [(lost(), Duration::ZERO), (lost().with_retry_after(Some(wait)), wait)]
        {
            let earlier = Sent::Nothing;
            assert_eq!(Unsettled { error, earlier }.retry_after(), expected);
        }
    }
}

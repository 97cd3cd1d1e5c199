//! Decisions of a submission: the step that follows each response. Sends no requests.
//!
//! The job of a request that may have been executed is searched for. The states are:
//!
//! ```text
//! Sent::Nothing --answer--> the end, or Unsettled --search--> the end, or Sent::Lost --> ...
//! ```
//!
//! A rejection of the variable of a random token leads to the same state, without the token.

use std::{ops::ControlFlow, time::Duration};

use modelarts_api::codes;

use crate::{error::Error, jobs::submission_token::SUBMISSION_TOKEN};

pub(super) struct Request<'a> {
    pub(super) name: &'a str,
    /// `true` if an earlier submission may have created the job that is the result: one with the
    /// token of the caller, or that of a job to adopt.
    pub(super) takes_existing: bool,
    /// `true` if the request has a token that the caller did not choose.
    pub(super) has_random_token: bool,
}

pub(super) enum Sent {
    /// No request can have created the job.
    Nothing,
    /// Requests whose responses were lost. No search found the job, but it may exist.
    Lost { error: Error, times: u32 },
}

pub(super) struct Unsettled {
    error: Error,
    earlier: Sent,
}

pub(super) enum Step {
    Search(Unsettled),
    SendWithoutToken(Sent),
}

pub(super) enum Failure {
    Answer(Error),
    Late(Error),
}

#[derive(Debug, PartialEq)]
pub(super) enum Found<J> {
    Created(J),
    /// Job of another request for certain, in words.
    OtherJob(String),
    /// Id of an equal job without a token, which may be that of the request.
    Unclear(String),
    /// No job has this name. The new job may not be listed yet.
    Absent,
}

/// Returns whose job has the name of a request, by the token of the job and that of the request.
pub(super) fn judge<J>(
    (job, id): (J, &str),
    tokens: [Option<&str>; 2],
    differences: &[String],
    adopts: bool,
) -> Found<J> {
    let other = |reason: &str| Found::OtherJob(format!("the job {id} has this name, and {reason}"));
    match (tokens, differences) {
        ([Some(one), Some(own)], _) if one == own => Found::Created(job),
        (_, []) if adopts => Found::Created(job),
        ([None, _], []) => Found::Unclear(id.to_owned()),
        ([Some(_), _], []) => other("the token of another submission"),
        (_, fields) => other(&format!("differs in {}", fields.join(", "))),
    }
}

pub(super) type Next<J, Step> = ControlFlow<Result<J, Error>, Step>;

impl Sent {
    pub(super) fn answered<J>(
        self,
        request: &Request<'_>,
        answer: Result<J, Failure>,
    ) -> Next<J, Step> {
        let name = request.name;
        let error = match (answer, self) {
            (Ok(job), _) => return ControlFlow::Break(Ok(job)),
            (Err(Failure::Answer(error)), earlier)
                if request.has_random_token
                    && !error.is_uncertain()
                    && error.to_string().contains(SUBMISSION_TOKEN) =>
            {
                return ControlFlow::Continue(Step::SendWithoutToken(earlier));
            }
            (Err(Failure::Answer(error)), Self::Nothing)
                if !error.is_uncertain() && !may_be_own(&error, request) =>
            {
                error
            }
            (Err(Failure::Answer(error)), earlier) => {
                return ControlFlow::Continue(Step::Search(Unsettled { error, earlier }));
            }
            (Err(Failure::Late(late)), Self::Lost { error, .. }) => {
                may_exist(late.after_uncertain(error), name)
            }
            (Err(Failure::Late(late)), Self::Nothing) if late.is_uncertain() => {
                may_exist(late, name)
            }
            (Err(Failure::Late(late)), Self::Nothing) => {
                late.with_solution(Some("it was not sent".into()))
            }
        };
        ControlFlow::Break(Err(error))
    }
}

/// Returns `true` for a refusal of a first request whose name may be that of its own job.
fn may_be_own(error: &Error, request: &Request<'_>) -> bool {
    error.code() == Some(codes::DUPLICATE_TRAINING_JOB_NAME)
        // An earlier attempt of the same call may have been executed.
        && (request.takes_existing || error.attempts() > 1)
}

impl Unsettled {
    pub(super) fn retry_after(&self) -> Duration {
        self.error.retry_after().unwrap_or_default()
    }

    pub(super) fn searched<J>(
        self,
        name: &str,
        found: Result<Found<J>, Failure>,
        may_repeat: impl FnOnce(u32) -> bool,
    ) -> Next<J, Sent> {
        let Self { error, earlier } = self;
        let (lost, times) = match earlier {
            Sent::Nothing => (None, 1),
            Sent::Lost { error, times } => (Some(error), times + 1),
        };
        let other_job = match found {
            Ok(Found::Created(job)) => return ControlFlow::Break(Ok(job)),
            Ok(Found::Unclear(id)) => {
                return ControlFlow::Break(Err(error.with_uncertainty().with_hint(&format!(
                    "the job {id} has this name and these settings, but no token that shows whose \
                     it is: look at the job before sending it again"
                ))));
            }
            // The name belongs to another job, so every request was rejected.
            Ok(Found::OtherJob(reason)) if !error.is_uncertain() => {
                return ControlFlow::Break(Err(error.with_hint(&reason)));
            }
            // The search may have missed a job that is not listed yet.
            Ok(Found::Absent) if !error.is_uncertain() => {
                return ControlFlow::Break(Err(may_exist(error, name)));
            }
            Ok(Found::OtherJob(reason)) => Some(reason),
            Ok(Found::Absent) => None,
            Err(Failure::Answer(search)) => {
                let status = search.status().map(|status| format!(" (HTTP {status})"));
                let status = status.unwrap_or_default();
                let reason = format!("the search for the job failed, too{status}; ");
                // A proxy rejects both calls with the same status.
                let is_proxy =
                    matches!(error.status(), Some(401 | 404) if error.status() == search.status());
                let end = match lost {
                    None if is_proxy => error.with_solution(Some(
                        "the search for the job was answered in the same way, so the create did \
                         probably not reach the service; check the endpoint"
                            .into(),
                    )),
                    lost => may_exist_because(lost.unwrap_or(error), &reason, name),
                };
                return ControlFlow::Break(Err(end));
            }
            Err(Failure::Late(late)) => {
                let late = late.after_uncertain(lost.unwrap_or(error));
                return ControlFlow::Break(Err(may_exist(late, name)));
            }
        };
        if !error.is_final() && may_repeat(times) {
            ControlFlow::Continue(Sent::Lost { error, times })
        } else {
            ControlFlow::Break(Err(not_found(error, name, times, other_job)))
        }
    }
}

fn may_exist(error: Error, name: &str) -> Error {
    may_exist_because(error, "", name)
}

fn may_exist_because(error: Error, reason: &str, name: &str) -> Error {
    error.with_uncertainty().with_solution(Some(format!(
        "{reason}the job may exist all the same: look for a job named {name:?} before sending it \
         again"
    )))
}

fn not_found(error: Error, name: &str, times: u32, other_job: Option<String>) -> Error {
    let times = match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    match other_job {
        // The name belongs to another job, so no request created one.
        Some(reason) => {
            error.with_hint(&format!("it was sent {times}; {reason}")).without_uncertainty()
        }
        None => error.with_solution(Some(format!(
            "it was sent {times}, and no job named {name:?} was found after it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{CallSummary, ErrorKind};

    /// Returns an error with this HTTP status, or the error of a lost connection for status 0.
    fn error(status: u16, code: Option<&str>) -> Error {
        match status {
            0 => Error::new(ErrorKind::Connection, "cut").with_uncertainty(),
            _ => {
                let error = Error::new(ErrorKind::Service, "m").with_status(status);
                error.with_code(code.map(str::to_owned))
            }
        }
    }

    const EXISTS: &str = "the job may exist all the same (uncertain)";

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
        Sent::Lost { error: lost(), times: 1 }
    }

    /// Returns the job, or the advice of the error with a note if the error is uncertain.
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

    fn request(takes_existing: bool, has_random_token: bool) -> Request<'static> {
        Request { name: "n", takes_existing, has_random_token }
    }

    #[test]
    fn a_request_that_cannot_have_been_executed_is_not_searched_for() {
        const SEARCH: &str = "is searched for";
        const DROP: &str = "is sent without the token";
        let late = || Error::new(ErrorKind::Timeout, "late");
        let named = || Error::new(ErrorKind::Service, SUBMISSION_TOKEN).with_code(Some("c".into()));
        let call = CallSummary { attempts: 2, ..Default::default() };
        let (random, own, none) =
            (&request(false, true), &request(true, false), &request(false, false));
        let error = |error| Err(Failure::Answer(error));
        for (line, sent, request, answer, expected) in [
            (line!(), Sent::Nothing, random, Ok("job"), "job"),
            (line!(), Sent::Nothing, random, error(refused()), "as it is"),
            (line!(), Sent::Nothing, random, error(taken()), "as it is"),
            (line!(), Sent::Nothing, none, error(taken()), "as it is"),
            (line!(), Sent::Nothing, own, error(taken()), SEARCH),
            (line!(), Sent::Nothing, random, error(taken().with_call(call)), SEARCH),
            (line!(), Sent::Nothing, random, error(named()), DROP),
            (line!(), again(), random, error(named()), DROP),
            (line!(), Sent::Nothing, own, error(named()), "as it is"),
            (line!(), Sent::Nothing, random, error(lost()), SEARCH),
            (line!(), again(), random, error(lost()), SEARCH),
            (line!(), again(), random, error(refused()), SEARCH),
            (line!(), again(), random, error(taken()), SEARCH),
            (line!(), Sent::Nothing, random, Err(Failure::Late(late())), "it was not sent"),
            (line!(), Sent::Nothing, random, Err(Failure::Late(late().with_uncertainty())), EXISTS),
            (line!(), again(), random, Err(Failure::Late(late())), EXISTS),
        ] {
            let end = match sent.answered(request, answer) {
                ControlFlow::Continue(Step::Search(_)) => SEARCH.to_owned(),
                ControlFlow::Continue(Step::SendWithoutToken(_)) => DROP.to_owned(),
                ControlFlow::Break(result) => end::<()>(ControlFlow::Break(result)),
            };
            assert_eq!(end, expected, "line {line}");
        }
    }

    #[test]
    fn a_token_shows_whose_job_is_found() {
        let differs = ["a", "b"].map(str::to_owned);
        let other = |why: &str| Found::OtherJob(format!("the job j has this name, and {why}"));
        let token = || other("the token of another submission");
        let both = || other("differs in a, b");
        let unclear = || Found::Unclear("j".to_owned());
        for (line, tokens, differences, adopts, expected) in [
            (line!(), [Some("t"), Some("t")], &differs[..0], false, Found::Created(())),
            (line!(), [Some("t"), Some("t")], &differs, false, Found::Created(())),
            (line!(), [Some("o"), Some("t")], &differs[..0], false, token()),
            (line!(), [Some("o"), Some("t")], &differs, false, both()),
            (line!(), [Some("o"), None], &differs[..0], false, token()),
            (line!(), [None, Some("t")], &differs[..0], false, unclear()),
            (line!(), [None, None], &differs[..0], false, unclear()),
            (line!(), [None, Some("t")], &differs, false, both()),
            (line!(), [None, None], &differs, false, both()),
            (line!(), [Some("o"), Some("t")], &differs[..0], true, Found::Created(())),
            (line!(), [None, Some("t")], &differs[..0], true, Found::Created(())),
            (line!(), [Some("o"), Some("t")], &differs, true, both()),
        ] {
            assert_eq!(judge(((), "j"), tokens, differences, adopts), expected, "line {line}");
        }
    }

    #[test]
    fn a_request_is_sent_again_only_after_a_search_that_found_no_job() {
        use Found::{Absent, Created};
        let unclear = "the job j has this name and these settings (uncertain)";
        let once = "it was sent once (uncertain)";
        let searched = "the search for the job failed (uncertain)";
        let same = "the search for the job was answered in the same way (uncertain)";
        let failed = |status| Err(Failure::Answer(error(status, None)));
        let other = || Ok(Found::OtherJob("other".into()));
        let equal = || Ok(Found::Unclear("j".into()));
        let call = || CallSummary { attempts: 1, ..Default::default() };
        let unauthorized = || error(401, None).with_call(call());
        for (line, error, earlier, found, may_repeat, expected) in [
            (line!(), lost(), Sent::Nothing, Ok(Created("job")), true, "job"),
            (line!(), taken(), Sent::Nothing, Ok(Created("job")), true, "job"),
            (line!(), taken(), again(), Ok(Created("job")), true, "job"),
            (line!(), taken(), Sent::Nothing, other(), true, "Choose another name"),
            (line!(), taken(), again(), other(), true, "Choose another name"),
            (line!(), taken(), again(), Ok(Absent), true, EXISTS),
            (line!(), taken(), Sent::Nothing, Ok(Absent), true, EXISTS),
            (line!(), taken(), again(), equal(), true, "Choose another name (uncertain)"),
            (line!(), refused(), again(), other(), true, "other"),
            (line!(), refused(), again(), Ok(Absent), true, EXISTS),
            (line!(), lost(), Sent::Nothing, Ok(Absent), true, "continues"),
            (line!(), lost(), Sent::Nothing, other(), true, "continues"),
            (line!(), lost(), Sent::Nothing, equal(), true, unclear),
            (line!(), lost(), Sent::Nothing, Ok(Absent), false, once),
            (line!(), lost(), Sent::Nothing, other(), false, "it was sent once"),
            (line!(), lost(), again(), Ok(Absent), true, "it was sent 2 times (uncertain)"),
            (line!(), lost().with_retryable(false), Sent::Nothing, Ok(Absent), true, once),
            (line!(), lost(), Sent::Nothing, failed(503), true, searched),
            (line!(), taken(), Sent::Nothing, failed(503), true, searched),
            (line!(), unauthorized(), Sent::Nothing, failed(401), true, same),
            (line!(), unauthorized(), Sent::Nothing, failed(404), true, searched),
            (line!(), unauthorized(), again(), failed(401), true, searched),
            (line!(), lost(), Sent::Nothing, Err(Failure::Late(refused())), true, EXISTS),
        ] {
            let unsettled = Unsettled { error, earlier };
            let next = unsettled.searched("n", found, |times| may_repeat && times < 2);
            assert_eq!(end(next), expected, "line {line}");
        }
    }
}

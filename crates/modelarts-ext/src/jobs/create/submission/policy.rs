//! Decisions of a submission: the step that follows each response. Sends no requests.
//!
//! The job of a request that may have been executed is searched for. The states are:
//!
//! ```text
//! Sent::Nothing --answer--> the end, or Unsettled --search--> the end, or Sent::Lost --> ...
//! ```

use std::{ops::ControlFlow, time::Duration};

use modelarts_api::{
    codes,
    request_path::{create_training_job::algorithm, input, output},
};
use serde_json::Value;

use crate::{
    error::{Error, display::clause},
    jobs::create::json_edit::text_at as text,
    validation::{json_path::Located, obs_path::ObsPath},
};

pub(super) enum Sent {
    /// No request can have created the job.
    Nothing,
    /// Requests whose responses were lost. No search found the job for certain, but it may exist.
    Lost { error: Error, times: u32 },
}

pub(super) struct Unsettled {
    error: Error,
    earlier: Sent,
}

pub(super) enum Failure {
    Answer(Error),
    Late(Error),
}

pub(super) enum Found<J> {
    Created(J),
    OtherJob,
    /// Job that may belong to the request, but seems to be older. Clocks may differ.
    Unclear,
    /// No job has this name. The new job may not be listed yet.
    Absent,
}

pub(super) type Next<J, Step> = ControlFlow<Result<J, Error>, Step>;

impl Sent {
    pub(super) fn answered<J>(self, name: &str, answer: Result<J, Failure>) -> Next<J, Unsettled> {
        let error = match (answer, self) {
            (Ok(job), _) => return ControlFlow::Break(Ok(job)),
            (Err(Failure::Answer(error)), Self::Nothing) if !error.is_uncertain() => error,
            (Err(Failure::Answer(error)), earlier) => {
                return ControlFlow::Continue(Unsettled { error, earlier });
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

impl Unsettled {
    /// Returns `true` if a repeated request was rejected, because its name is in use.
    pub(super) fn name_is_taken(&self) -> bool {
        let is_duplicate = self.error.code() == Some(codes::DUPLICATE_TRAINING_JOB_NAME);
        is_duplicate && matches!(self.earlier, Sent::Lost { .. })
    }

    pub(super) fn retry_after(&self) -> Duration {
        self.error.retry_after().unwrap_or_default()
    }

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
            // The search may have missed a job that is not listed yet.
            Ok(_) if !error.is_uncertain() => {
                return ControlFlow::Break(Err(may_exist(error, name)));
            }
            Ok(Found::OtherJob) => (false, true),
            Ok(Found::Unclear) => (true, false),
            Ok(Found::Absent) => (false, false),
            Err(Failure::Answer(search)) => {
                // A proxy rejects both calls with the same status.
                let is_proxy =
                    matches!(error.status(), Some(401 | 404) if error.status() == search.status());
                let end = match lost {
                    None if is_proxy => not_received(error),
                    lost => search_failed(lost.unwrap_or(error), &search, name),
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
        } else if is_unclear {
            ControlFlow::Break(Err(may_exist(error, name)))
        } else {
            ControlFlow::Break(Err(not_found(error, name, times, other_job)))
        }
    }
}

pub(super) fn nothing_sent(error: Error) -> Error {
    error.with_solution(Some("nothing was sent".into()))
}

pub(super) fn may_exist(error: Error, name: &str) -> Error {
    error.with_uncertainty().with_solution(Some(format!(
        "the job may exist all the same: look for a job named {name:?} before sending it again"
    )))
}

pub(super) fn search_failed(error: Error, search: &Error, name: &str) -> Error {
    let status = search.status().map(|status| format!(" (HTTP {status})"));
    error.with_uncertainty().with_solution(Some(format!(
        "the search for the job failed, too{}; the job may exist all the same: look for a job \
         named {name:?} before sending it again",
        status.unwrap_or_default()
    )))
}

pub(super) fn not_received(error: Error) -> Error {
    error.with_solution(Some(
        "the search for the job was answered in the same way, so the create did probably not \
         reach the service; check the endpoint"
            .into(),
    ))
}

pub(super) fn not_found(error: Error, name: &str, times: u32, other_job: bool) -> Error {
    let times = match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let end = match other_job {
        true => format!("the job named {name:?} is another one"),
        false => format!("no job named {name:?} was found after it"),
    };
    error.with_solution(Some(format!("it was sent {times}, and {end}")))
}

/// Adds the rejected path, or the channel with this path, to an error of the service.
pub(super) fn explain_path(error: Error, body: &Value) -> Error {
    let code_dir = text(body, algorithm::CODE_DIR);
    let hint = match error.code() {
        Some(codes::BOOT_FILE_DIR_ERROR) => format!(
            "check that the object {:?} exists in the code directory {code_dir:?}; names of \
             objects are case-sensitive",
            text(body, algorithm::BOOT_FILE)
        ),
        Some(codes::CODE_DIR_ERROR) => format!(
            "check that objects exist below {code_dir:?}; names of objects are case-sensitive"
        ),
        Some(codes::INVALID_CODE_DIR) => {
            format!("check that the bucket and the directory {code_dir:?} exist")
        }
        Some(codes::INVALID_OBS_PATH) => match explain_obs_path(&error, body) {
            Some(hint) => hint,
            None => return error,
        },
        _ => return error,
    };
    error.with_hint(&hint)
}

fn explain_obs_path(error: &Error, body: &Value) -> Option<String> {
    let message = error.message()?;
    let rejected = message.split_once("path:").map_or(message, |(_, path)| path);
    let rejected = rejected.split(", reason").next()?.trim();
    let rejected = ObsPath::parse(rejected)?;
    let body = Located::root(body);
    let lists = [
        ("input", algorithm::INPUTS, input::NAME, input::remote::obs::OBS_URL),
        ("output", algorithm::OUTPUTS, output::NAME, output::remote::obs::OBS_URL),
    ];
    let mut channels = lists.iter().flat_map(|(kind, list, name, path)| {
        let named = |channel: Located<'_>| {
            let text = |path| channel.at(path).text().unwrap_or_default().to_owned();
            (*kind, text(name), text(path))
        };
        let channels = body.at(list).items().into_iter();
        channels.map(named).collect::<Vec<_>>()
    });
    let (kind, name, url) =
        channels.find(|(.., url)| ObsPath::parse(url) == Some(rejected.clone()))?;
    let own = error.solution().and(error.known_code());
    let own = own.map_or(String::new(), |row| format!("{}; ", clause(row.advice)));
    Some(format!("{own}{url:?} is the path of the {kind} {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

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
            error(401, None)
                .with_call(crate::error::CallSummary { attempts: 1, ..Default::default() })
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

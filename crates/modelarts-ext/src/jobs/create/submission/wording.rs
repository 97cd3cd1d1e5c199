//! Advice of the errors of a submission.

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

/// Returns the error of a look-up or a check, after which no create request was sent.
pub(super) fn nothing_sent(error: Error) -> Error {
    error.with_solution(Some("nothing was sent".into()))
}

/// Returns the error of a create request that was not sent in time.
pub(super) fn not_sent(late: Error) -> Error {
    late.with_solution(Some("it was not sent".into()))
}

/// Returns the error of a submission that leaves open if the job with this name exists.
pub(super) fn may_exist(error: Error, name: &str) -> Error {
    error.with_uncertainty().with_solution(Some(format!(
        "the job may exist all the same: look for a job named {name:?} before sending it again"
    )))
}

/// Returns the error of a creation whose job could not be searched for.
pub(super) fn search_failed(error: Error, search: &Error, name: &str) -> Error {
    let status = search.status().map(|status| format!(" (HTTP {status})"));
    error.with_uncertainty().with_solution(Some(format!(
        "the search for the job failed, too{}; the job may exist all the same: look for a job \
         named {name:?} before sending it again",
        status.unwrap_or_default()
    )))
}

/// Returns the error of a creation that something before the service answered.
pub(super) fn not_received(error: Error) -> Error {
    error.with_solution(Some(
        "the search for the job was answered in the same way, so the create did probably not \
         reach the service; check the endpoint"
            .into(),
    ))
}

/// Returns the error of a creation after which the search found no job, or another one.
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

/// Adds the path that the service rejects, which its message does not have.
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

/// Returns the advice of the table, which says more than that of the service, and the name of the
/// channel whose path the message has.
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

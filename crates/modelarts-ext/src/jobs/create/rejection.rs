//! Advice on rejections of a job, with its paths and with engines of the service.

use modelarts_api::{
    codes,
    request_path::{create_training_job::algorithm, input, output},
};
use serde_json::Value;

use crate::{
    client::Client,
    error::{Error, display::clause},
    jobs::create::{json_edit::text_at as text, look_up::explain_engine},
    transport::deadline::Deadline,
    validation::{json_path::Located, obs_path::ObsPath},
};

/// Adds similar engines, or the rejected path, to an error of the service.
pub(super) async fn explain(
    error: Error,
    client: &Client,
    body: &Value,
    deadline: &Deadline,
) -> Error {
    match error.code() {
        Some(codes::ENGINE_NOT_FOUND) => {
            let explained = deadline.run(explain_engine(error.clone(), client, body)).await;
            explained.unwrap_or(error)
        }
        _ => explain_path(error, body),
    }
}

/// Adds the rejected path, or the channel with this path, to an error of the service.
fn explain_path(error: Error, body: &Value) -> Error {
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

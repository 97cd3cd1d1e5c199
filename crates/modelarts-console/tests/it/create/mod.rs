//! Form that creates a job.

mod files;
mod mistakes;
mod parameters;
mod secrets;

use modelarts_console::Console;
use modelarts_emulator::{Emulator, Timing};
use modelarts_obs::{Obs, Staging};
use reqwest::{Response, header::ACCEPT};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Fixture, client};

/// Name and value of a field of the form.
type Field<'a> = (&'a str, &'a str);

/// Fields of a job that breaks no rule.
const VALID: &[Field<'_>] = &[
    ("name", "leaves"),
    ("mode", "preset"),
    ("engine", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"),
    ("code_dir", "obs://bucket/code/"),
    ("boot_file", "train.py"),
    ("flavor", "modelarts.vm.cpu.2u"),
];

/// Returns the valid fields with others, which replace those of the same names.
fn valid_with<'a>(others: &[Field<'a>]) -> Vec<Field<'a>> {
    let is_replaced = |name: &str| others.iter().any(|(other, _)| *other == name);
    let kept = VALID.iter().filter(|(name, _)| !is_replaced(name));
    kept.chain(others).copied().collect()
}

/// A page whose bucket is a directory on this machine.
async fn staged() -> (Fixture, TempDir) {
    let cache = tempfile::tempdir().unwrap();
    let builder = Emulator::builder().timing(Timing::instant()).id_seed(1);
    let emulator = builder.start().await.unwrap();
    std::fs::create_dir_all(emulator.obs_root().join("bucket")).unwrap();
    let obs = Obs::directory(emulator.obs_root()).with_cache_dir(cache.path());
    let client = client(&emulator);
    let staging = Staging::new(&client).obs(obs).bucket("bucket");
    let console = Console::builder(client).staging(staging);
    (Fixture::of(emulator, console).await, cache)
}

/// Sends a form as a browser without scripts does.
async fn post(fixture: &Fixture, path: &str, fields: &[Field<'_>]) -> Response {
    let (_, csrf) = fixture.credentials();
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.append_pair("csrf", csrf).extend_pairs(fields);
    let request = fixture.request("POST", path);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    request.body(body.finish()).send().await.unwrap()
}

/// Sends a form as the script of the page does. Returns the JSON of the response.
async fn send(fixture: &Fixture, path: &str, fields: &[Field<'_>]) -> Value {
    let (_, csrf) = fixture.credentials();
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(fields);
    let request = fixture.request("POST", path).header("x-csrf-token", csrf);
    let request = request
        .header(ACCEPT, "application/json")
        .header("content-type", "application/x-www-form-urlencoded");
    let response = request.body(body.finish()).send().await.unwrap();
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the body of the job of a form, and its errors as `field: rule`.
async fn check(fixture: &Fixture, fields: &[Field<'_>]) -> (Value, Vec<String>) {
    let checked = send(fixture, "/create/check", fields).await;
    let body = checked["body"].as_str().unwrap();
    (serde_json::from_str(body).unwrap(), errors(&checked))
}

/// Returns the errors of a check as `field: rule (code)`.
fn errors(checked: &Value) -> Vec<String> {
    let errors = checked["errors"].as_array().unwrap();
    let text = |error: &Value, name: &str| error[name].as_str().unwrap_or_default().to_owned();
    let line = |error: &Value| {
        let (field, rule, code) = (text(error, "field"), text(error, "rule"), text(error, "code"));
        format!("{field}: {rule} ({code})")
    };
    errors.iter().map(line).collect()
}

/// Returns the value of an attribute of the first element with a text before it.
fn attribute<'a>(page: &'a str, before: &str) -> &'a str {
    let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("{before}: {page}"));
    rest.split_once('"').unwrap().0
}

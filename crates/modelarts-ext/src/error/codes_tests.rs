//! The codes of the service in the description, compared with what the client's errors say
//! about them.

use std::collections::BTreeSet;

use modelarts_api::types::ApiError;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    credentials::rejection,
    error::{Error, ErrorKind, codes},
};

/// A row of `x-error-codes`, and the effect of its operation.
struct Row {
    effect: String,
    code: String,
    status: u16,
    retry: String,
}

fn rows() -> Vec<Row> {
    let description: Value = serde_saphyr::from_str(modelarts_api::DESCRIPTION).unwrap();
    let mut rows = Vec::new();
    for item in description["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            for row in operation["x-error-codes"].as_array().into_iter().flatten() {
                rows.push(Row {
                    effect: text(&operation["x-effect"]),
                    code: text(&row["code"]),
                    status: u16::try_from(row["status"].as_u64().unwrap()).unwrap(),
                    retry: text(&row["retry"]),
                });
            }
        }
    }
    rows
}

/// The error that a caller gets.
fn error(row: &Row) -> Error {
    if row.status == 204 {
        // It has no body, so the code is only in the documents.
        return Error::new(ErrorKind::NotReady, "").with_status(row.status);
    }
    let mut body = ApiError::default();
    body.error_code = Some(row.code.clone());
    if row.code == OBS_PATH {
        body.error_msg = Some("Invalid obs path: /b/in/, reason: not a directory.".into());
    }
    Error::service(row.status, &body)
}

/// The code of several faults of a path in OBS; the reason tells which may pass.
const OBS_PATH: &str = "ModelArts.2791";

#[test]
fn only_a_directory_that_is_not_seen_may_be_there_later() {
    let retryable = |reason: &str| {
        let mut body = ApiError::default();
        body.error_code = Some(OBS_PATH.into());
        body.error_msg = Some(format!("Invalid obs path: /b/in/, reason: {reason}."));
        Error::service(400, &body).is_retryable()
    };
    assert!(retryable("not a directory"));
    assert!(!retryable("the bucket is encrypted"));
    assert!(!retryable("must start with obs:// or /"));
}

fn is_expired_token(row: &Row) -> bool {
    let body = json!({ "error_code": row.code }).to_string();
    let status = StatusCode::from_u16(row.status).unwrap();
    rejection::parse(status, body.as_bytes()) == Some(rejection::Rejection::Expired)
}

/// After these, something may have been made. The call is not sent again, as
/// the description says; that the same call may succeed later is true all the same.
fn may_have_been_made(row: &Row) -> bool {
    row.effect == "create" && matches!(row.status, 408 | 500)
}

#[test]
fn every_code_has_a_name_and_advice() {
    let rows = rows();
    let nameless: BTreeSet<_> = rows
        .iter()
        .filter(|row| codes::lookup(&row.code, Some(row.status)).is_none())
        .map(|row| (&row.code, row.status))
        .collect();
    assert_eq!(nameless, BTreeSet::new());
}

#[test]
fn errors_say_of_every_code_what_the_description_says() {
    let rows = rows();
    assert!(rows.len() > 1000, "{}", rows.len());
    for row in &rows {
        let error = error(row);
        let actual = (
            error.is_retryable(),
            error.is_not_ready(),
            is_expired_token(row),
        );
        let expected = match row.retry.as_str() {
            "never" => (may_have_been_made(row), false, false),
            "backoff" => (true, false, false),
            "poll" => (true, true, false),
            "token" => (false, false, true),
            other => panic!("{other}"),
        };
        assert_eq!(
            actual, expected,
            "{} {} {}",
            row.code, row.status, row.retry
        );
    }
}

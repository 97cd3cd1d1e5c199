//! The table of error codes, compared with the errors that a caller gets.

use modelarts_api::{ERROR_CODES, Effect, ErrorCode, OPERATIONS, Retry, types::ApiError};
use reqwest::StatusCode;
use serde_json::json;

use crate::{
    credentials::rejection::{self, Rejection},
    error::{Error, ErrorKind, INVALID_OBS_PATH},
};

/// The error that a caller gets.
fn error(row: &ErrorCode) -> Error {
    if row.status == 204 {
        // It has no body, so the code is only in the documents.
        return Error::new(ErrorKind::NotReady, "").with_status(row.status);
    }
    let mut body = ApiError::default();
    body.error_code = Some(row.code.into());
    if row.code == INVALID_OBS_PATH {
        body.error_msg = Some("Invalid obs path: /b/in/, reason: not a directory.".into());
    }
    Error::service(row.status, &body)
}

fn is_expired_token(row: &ErrorCode) -> bool {
    let body = json!({ "error_code": row.code }).to_string();
    let status = StatusCode::from_u16(row.status).unwrap();
    rejection::parse(status, body.as_bytes()) == Some(Rejection::Expired)
}

/// After these, something may have been made. The call is not sent again, as
/// the description says; that the same call may succeed later is true all the same.
fn may_have_been_made(row: &ErrorCode, effect: Effect) -> bool {
    effect == Effect::Create && matches!(row.status, 408 | 500 | 504)
}

#[test]
fn only_a_directory_that_is_not_seen_may_be_there_later() {
    let retryable = |reason: &str| {
        let mut body = ApiError::default();
        body.error_code = Some(INVALID_OBS_PATH.into());
        body.error_msg = Some(format!("Invalid obs path: /b/in/, reason: {reason}."));
        Error::service(400, &body).is_retryable()
    };
    assert!(retryable("not a directory"));
    assert!(!retryable("the bucket is encrypted"));
    assert!(!retryable("must start with obs:// or /"));
}

#[test]
fn a_code_without_body_is_not_ready_in_any_status() {
    let mut body = ApiError::default();
    for (code, status) in [
        ("ModelArts.2776", 400),
        ("ModelArts.2797", 400),
        ("ModelArts.2818", 404),
    ] {
        body.error_code = Some(code.into());
        let error = Error::service(status, &body);
        assert!(error.is_not_ready() && error.is_retryable(), "{code}");
    }
}

#[test]
fn errors_say_of_every_code_what_the_table_says() {
    assert!(ERROR_CODES.len() > 150, "{}", ERROR_CODES.len());
    for row in ERROR_CODES {
        let error = error(row);
        let actual = (
            error.is_retryable(),
            error.is_not_ready(),
            is_expired_token(row),
        );
        for effect in [Effect::Read, Effect::Idempotent, Effect::Create] {
            let expected = match row.retry(effect) {
                Retry::Never => (may_have_been_made(row, effect), false, false),
                Retry::Backoff => (true, false, false),
                Retry::Poll => (true, true, false),
                Retry::Token => (false, false, true),
                other => panic!("{other:?}"),
            };
            assert_eq!(actual, expected, "{} {} {effect:?}", row.code, row.status);
        }
        assert_eq!(error.is_throttled(), row.status == 429, "{}", row.code);
    }
}

#[test]
fn every_code_has_a_name_and_advice() {
    for row in ERROR_CODES.iter().filter(|row| row.status != 204) {
        let error = error(row);
        assert_eq!(error.code_name(), Some(row.name));
        assert_eq!(error.advice(), Some(row.advice));
    }
}

#[test]
fn an_operation_has_its_own_codes_and_those_of_any() {
    let codes = |id: &str| -> Vec<_> {
        let operation = OPERATIONS.iter().find(|row| row.id == id).unwrap();
        operation.error_codes().map(|row| row.code).collect()
    };
    let any = codes("ShowTrainingJobEngines");
    assert!(any.contains(&"ModelArts.0202") && any.contains(&"ModelArts.2799"));
    assert!(!any.contains(&"ModelArts.2775") && !any.contains(&"APIG.0308"));
    let stop = codes("StopTrainingJob");
    assert!(any.iter().all(|code| stop.contains(code)));
    assert!(stop.contains(&"ModelArts.2796") && !stop.contains(&"ModelArts.2751"));
}

#[test]
fn advice_is_a_clause_in_a_message() {
    let mut body = ApiError::default();
    body.error_code = Some("ModelArts.2751".into());
    body.error_msg = Some("Duplicate training job (name a).".into());
    assert_eq!(
        Error::service(400, &body).to_string(),
        "Duplicate training job (name a) (ModelArts.2751, HTTP 400); choose another name, or delete \
         the job that has it"
    );
    body.error_solution = Some("Change training job name.".into());
    assert_eq!(
        Error::service(400, &body).to_string(),
        "Duplicate training job (name a) (ModelArts.2751, HTTP 400); Change training job name"
    );
}

//! Tests of the table of error codes, which must agree with the errors that callers get.

use modelarts_api::{ERROR_CODES, Effect, ErrorCode, Retry, types::ApiError};
use reqwest::StatusCode;
use serde_json::json;

use crate::{
    credentials::rejection::{self, Rejection},
    error::{Error, ErrorKind},
};

/// Returns the error that a caller gets for a row of the table.
fn error(row: &ErrorCode) -> Error {
    if row.status == 204 {
        // The response has no body; only the documents have the code.
        return Error::new(ErrorKind::NotReady, "").with_status(row.status);
    }
    let mut body = ApiError::default();
    body.error_code = Some(row.code.into());
    body.error_msg = row.retry_only_with.map(str::to_owned);
    Error::service(row.status, &body)
}

fn is_expired_token(row: &ErrorCode) -> bool {
    let body = json!({ "error_code": row.code }).to_string();
    let status = StatusCode::from_u16(row.status).unwrap();
    rejection::parse(status, body.as_bytes()) == Some(Rejection::Expired)
}

/// Returns `true` for codes after which a creation may have been executed. The call is not
/// repeated, as the description states, although the same call may succeed later.
fn may_have_been_made(row: &ErrorCode, effect: Effect) -> bool {
    let is_late = matches!(row.status, 408 | 500 | 504) || row.code == "ModelArts.1002";
    effect == Effect::Create && is_late
}

#[test]
fn only_a_missing_directory_is_transient() {
    let retryable = |reason: &str| {
        let mut body = ApiError::default();
        body.error_code = Some("ModelArts.2791".into());
        body.error_msg = Some(format!("Invalid obs path: /b/in/, reason: {reason}."));
        Error::service(400, &body).is_retryable()
    };
    assert!(retryable("not a directory"));
    assert!(!retryable("the bucket is encrypted"));
    assert!(!retryable("must start with obs:// or /"));
}

/// Returns the codes of the table with this retry whose status does not imply it.
fn codes(retry: Retry) -> Vec<&'static str> {
    let rows = ERROR_CODES.iter();
    let rows = rows.filter(|row| row.retry(Effect::Read) == retry && row.status < 500);
    rows.map(|row| row.code).collect()
}

#[test]
fn the_table_has_the_codes_that_the_client_acts_on() {
    assert_eq!(
        codes(Retry::Poll),
        [
            "ModelArts.2776",
            "ModelArts.2777",
            "ModelArts.2797",
            "ModelArts.2817",
            "ModelArts.2818",
            "ModelArts.2880",
            "ModelArts.2883",
            "ModelArts.2887",
        ]
    );
    assert_eq!(
        codes(Retry::Token),
        ["APIG.0307", "ModelArts.0202", "ModelArts.0203", "ModelArts.2784",]
    );
    assert_eq!(
        codes(Retry::Backoff),
        [
            "APIG.0308",
            "ModelArts.1002",
            "ModelArts.2791",
            "ModelArts.2799",
            "ModelArts.2835",
            "ModelArts.2878",
            "ModelArts.6100",
            "ModelArts.6101",
        ]
    );
}

#[test]
fn a_code_counts_with_another_status_too() {
    let service = |code: &str, status| {
        let mut body = ApiError::default();
        body.error_code = Some(code.into());
        Error::service(status, &body)
    };
    assert!(service("ModelArts.2776", 400).is_not_ready());
    assert!(service("ModelArts.2818", 404).is_retryable());
    assert!(service("ModelArts.2878", 400).is_retryable());
    assert!(service("ModelArts.6101", 400).is_throttled());
    assert!(service("APIC.0308", 403).is_throttled());
    assert!(!service("APIGW.0101", 404).is_not_found());
    // Only the status shows that these are transient.
    assert!(!service("ModelArts.2950", 400).is_retryable());
    assert!(!service("ModelArts.6100", 400).is_retryable());
}

#[test]
fn errors_say_of_every_code_what_the_table_says() {
    assert_eq!(ERROR_CODES.len(), 156);
    for row in ERROR_CODES {
        let error = error(row);
        let actual = (error.is_retryable(), error.is_not_ready(), is_expired_token(row));
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
fn advice_is_a_clause_in_a_message() {
    let mut body = ApiError::default();
    body.error_code = Some("ModelArts.2751".into());
    body.error_msg = Some("Duplicate training job (name a).".into());
    assert_eq!(
        Error::service(400, &body).to_string(),
        "Duplicate training job (name a) (ModelArts.2751, HTTP 400); choose another name, or \
         delete the job that has it"
    );
    body.error_solution = Some("Change training job name.".into());
    assert_eq!(
        Error::service(400, &body).to_string(),
        "Duplicate training job (name a) (ModelArts.2751, HTTP 400); Change training job name"
    );
}

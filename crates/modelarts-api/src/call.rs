//! Functions with which generated operations send a request and decode the response.

use std::cell::Cell;

use bytes::Bytes;
use progenitor_client::ClientInfo;
use reqwest::{Request, StatusCode};
use serde::de::Error as _;

use crate::{
    decode::{
        self,
        skipped::{Skipped, strip_quoted_text},
        slot::Decode,
    },
    error::Error,
    error_body,
    generated::{Client, types::ApiError},
    operation::Operation,
    response::{RawResponse, Response},
};

/// Sends a request through the transport of the client, and returns the response if it has a
/// success status.
///
/// Generated calls use this function instead of an HTTP client (`codegen/rewrite/calls.rs`).
///
/// # Errors
/// Returns an error if no response arrives, if the status is not a success status, or if the body
/// is that of an error despite a success status. Error bodies of any shape become [`ApiError`].
pub async fn send(
    client: &Client,
    request: Request,
    operation: &'static Operation,
) -> Result<RawResponse, Error> {
    let transport = client.inner().transport();
    let sent = transport.execute(client.client(), request, operation);
    let mut response = sent.await.map_err(Error::Transport)?;
    match response.status.as_u16() {
        200..=299 if !error_body::is_error(&response.body) => Ok(response),
        200..=299 | 400..=599 => {
            error_body::normalise(&mut response.body);
            // For all other statuses, the transport has already masked the body.
            if response.status.is_success()
                && let text = String::from_utf8_lossy(&response.body)
                && let Some(masked) = transport.mask(&response.extensions, &text)
            {
                response.body = masked.into();
            }
            Err(Error::Service(decode_response::<ApiError>(client, response)?))
        }
        _ => Err(Error::Unexpected(response)),
    }
}

/// Decodes a response that [`send`] returned, in the same way as generated calls.
///
/// A program can use this function to decode the response to a custom request as any type of
/// [`types`](crate::types), or as JSON.
///
/// # Errors
/// Returns an error if the body cannot be decoded, or not within the time limit.
// The error contains the whole response, and is therefore large.
#[allow(clippy::result_large_err)]
pub fn decode_response<T: Decode>(
    client: &Client,
    mut response: RawResponse,
) -> Result<Response<T>, Error> {
    // Status 204 means "not ready". Such a response has no body.
    if response.status == StatusCode::NO_CONTENT && response.body.is_empty() {
        response.body = Bytes::from_static(b"{}");
    }
    let transport = client.inner().transport();
    let late = Cell::new(false);
    let is_late = || {
        late.set(transport.is_late(&response.extensions));
        late.get()
    };
    match decode::body_in_time(&response.body, &is_late) {
        Ok((value, mut skipped)) => {
            if let Some(error) = &mut skipped.first_error
                && let Some(masked) = transport.mask(&response.extensions, error)
            {
                *error = masked;
            }
            Ok(Response::new(value, response, skipped))
        }
        Err(error) => Err(decode_error(client, response, error, late.get())),
    }
}

/// Creates the error for a response that cannot be decoded. Masks the secrets in the error, and
/// removes quoted values of the response. `late` is `true` if the time limit ended decoding.
#[cold]
fn decode_error(
    client: &Client,
    mut response: RawResponse,
    mut error: serde_json::Error,
    late: bool,
) -> Error {
    let transport = client.inner().transport();
    let timed_out = late || transport.is_late(&response.extensions);
    if timed_out {
        response.body.clear();
        error = serde_json::Error::custom(decode::TOO_LATE);
    } else {
        let mask = |text: &str| transport.mask(&response.extensions, text);
        let original = error.to_string();
        let stripped = strip_quoted_text(&original);
        let text = mask(&stripped).unwrap_or(stripped);
        // An unchanged error is kept, because `custom` would replace its category.
        if text != original {
            error = serde_json::Error::custom(text);
        }
        if let Some(body) = mask(&String::from_utf8_lossy(&response.body)) {
            response.body = body.into();
        }
    }
    Error::Decode { response, error, timed_out }
}

/// Converts the response of an operation that returns no body, and clears the raw body.
#[must_use]
pub fn empty_response(mut response: RawResponse) -> Response<()> {
    response.body.clear();
    Response::new((), response, Skipped::default())
}

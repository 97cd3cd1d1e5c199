//! Turns answers into types: strictly first, leniently in lists when that fails.

use std::sync::Arc;

use bytes::Bytes;
use progenitor_client::{Error, ResponseValue};
use reqwest::{Response, StatusCode};
use serde::de::{DeserializeOwned, Error as _};

use crate::lenient::{self, Dropped};

/// Is told about each body that was decoded. A transport puts one into the
/// extensions of the answer (as [`OnDecode`]) to learn what became of it.
pub trait Observer: Send + Sync {
    /// `body` was decoded; `dropped` says what had to be left out of lists.
    fn decoded(&self, body: &Bytes, dropped: &Dropped);
}

/// The extension of an answer that names its [`Observer`].
#[derive(Clone)]
pub struct OnDecode(pub Arc<dyn Observer>);

/// Decodes a body.
///
/// A list element that cannot be understood is left out, and counted.
///
/// # Errors
/// What is wrong, when more than an element of a list is. The message begins
/// with the path of the value, such as `status.duration: invalid type …`.
pub fn body<T: DeserializeOwned>(body: &[u8]) -> Result<(T, Dropped), serde_json::Error> {
    if let (Ok(value), dropped) = lenient::counting(|| serde_json::from_slice(body)) {
        return Ok((value, dropped));
    }
    let (result, dropped) = lenient::salvaging(|| {
        let deserializer = &mut serde_json::Deserializer::from_slice(body);
        let value = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let path = error.path().to_string();
            if path == "." {
                error.into_inner()
            } else {
                serde_json::Error::custom(format_args!("{path}: {}", error.inner()))
            }
        })?;
        // What follows the value would have been refused by the first pass too.
        serde_json::Deserializer::from_slice(body)
            .into_iter::<serde::de::IgnoredAny>()
            .nth(1)
            .map_or(Ok(value), |rest| match rest {
                Ok(_) => Err(serde_json::Error::custom("more than one JSON value")),
                Err(error) => Err(error),
            })
    });
    result.map(|value| (value, dropped))
}

/// What generated code calls instead of its own decoding.
#[doc(hidden)]
pub async fn response<T: DeserializeOwned, E>(
    response: Response,
) -> Result<ResponseValue<T>, Error<E>> {
    let status = response.status();
    let headers = response.headers().clone();
    let observer = response.extensions().get::<OnDecode>().cloned();
    let full = response.bytes().await.map_err(Error::ResponseBodyError)?;
    // The service says "not ready" with 204, which has no body.
    let text: &[u8] = if status == StatusCode::NO_CONTENT && full.is_empty() {
        b"{}"
    } else {
        &full
    };
    match body(text) {
        Ok((value, dropped)) => {
            if let Some(OnDecode(observer)) = observer {
                observer.decoded(&full, &dropped);
            }
            Ok(ResponseValue::new(value, status, headers))
        }
        Err(error) => Err(Error::InvalidResponsePayload(full, error)),
    }
}

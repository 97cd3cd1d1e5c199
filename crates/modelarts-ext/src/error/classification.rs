//! Classification of errors, for decisions of programs.

use modelarts_api::{Effect, Retry, codes};

use crate::error::{Error, ErrorKind};

/// Service codes of objects that do not exist, regardless of the HTTP status.
const NOT_FOUND: [&str; 3] =
    [codes::TRAINING_JOB_NOT_FOUND, codes::POOL_NOT_FOUND, codes::IMAGE_SAVE_JOB_NOT_EXIST];
/// Codes that count only with HTTP 400. One also reports another wrong value (SOURCES D-39).
const OTHER_NOT_FOUND: [&str; 2] =
    [codes::AI_ALGORITHM_NOT_FOUND, codes::TRAINING_EXPERIMENT_NOT_FOUND];
const TRANSIENT: [u16; 5] = [408, 500, 502, 503, 504];

impl Error {
    /// Returns `true` if the service may have executed the call despite the error: the response was
    /// lost or late, or is neither a success that can be decoded nor a rejection by the service.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        let answered = match self.status() {
            Some(200..=299) => match self.0.kind {
                // A response of IAM arrived before the call was sent.
                ErrorKind::Credentials => false,
                // The body of an error. A rejection by the service has a code.
                ErrorKind::Service => self.0.reply.code.is_none() || self.is_late_code(),
                // A successful response that cannot be decoded.
                _ => true,
            },
            // A throttled call was not executed.
            Some(429) => false,
            // A rejection has a code. Other responses may come from a gateway, after the execution.
            Some(400..=499) => {
                matches!(self.0.kind, ErrorKind::Service | ErrorKind::Decode)
                    && self.0.reply.code.is_none()
                    // A response of IAM before the call was sent does not concern the call.
                    && self.0.call.attempts > 0
                    || self.is_late_code()
            }
            _ => self.0.kind == ErrorKind::Decode,
        };
        self.0.call.uncertain || answered
    }

    /// The service may have acted after such a rejection, such as a failure of OBS.
    fn is_late_code(&self) -> bool {
        self.known_code().is_some_and(|row| {
            row.retry(Effect::Read) == Retry::Backoff && row.retry(Effect::Create) == Retry::Never
        })
    }

    /// Returns `true` if the job or other object does not exist, which has HTTP 400 for jobs.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.kind == ErrorKind::NotFound
            || self.0.kind == ErrorKind::Service
                && match self.code() {
                    Some(code) if NOT_FOUND.contains(&code) => true,
                    Some(code) if OTHER_NOT_FOUND.contains(&code) => self.status() == Some(400),
                    // A wrong project or path, and no missing object.
                    Some(codes::TOKEN_PROJECT_ID_NOT_MATCH) => false,
                    _ if self.known_code().is_some_and(|row| row.code == codes::API_NOT_FOUND) => {
                        false
                    }
                    _ => self.status() == Some(404),
                }
    }

    /// `true` if the service reports a missing object, but not for a 404 of a load balancer.
    pub(crate) fn is_gone(&self) -> bool {
        let is_other = |code| OTHER_NOT_FOUND.contains(&code);
        self.is_not_found() && self.is_of_service() && !self.code().is_some_and(is_other)
    }

    /// Returns `true` for the outcome `gone` of the waiter `TrainingJobEnded` of the description.
    pub(crate) fn is_job_gone(&self) -> bool {
        self.0.kind == ErrorKind::Service && self.code() == Some(codes::TRAINING_JOB_NOT_FOUND)
    }

    pub(crate) fn is_404_without_code(&self) -> bool {
        self.0.kind == ErrorKind::Service && self.status() == Some(404) && self.code().is_none()
    }

    pub(crate) fn is_unknown_operation(&self) -> bool {
        let is_404 = self.status() == Some(404);
        matches!(self.status(), Some(405 | 501)) || is_404 && !self.is_of_service()
    }

    fn is_of_service(&self) -> bool {
        self.code().is_some_and(|code| code.starts_with("ModelArts."))
    }

    /// Returns `true` if the service throttles the client, which sent too many requests.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        self.status() == Some(429) || self.known_code().is_some_and(|row| row.status == 429)
    }

    /// Returns `true` if the state of the job or other object does not admit the call.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(409) || self.code() == Some(codes::DUPLICATE_TRAINING_JOB_NAME)
    }

    /// Returns `true` if a time limit was reached.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.kind == ErrorKind::Timeout || matches!(self.status(), Some(408 | 504))
    }

    /// Returns `true` if the service rejects the credentials, or there are none.
    #[must_use]
    pub fn is_auth(&self) -> bool {
        self.0.kind == ErrorKind::Credentials || matches!(self.status(), Some(401 | 403))
    }

    /// Returns `true` if the result or the operation will be available later, such as the log of a
    /// job that is not running yet, or a node of a pool that is still starting.
    #[must_use]
    pub fn is_not_ready(&self) -> bool {
        self.0.kind == ErrorKind::NotReady || self.retry_of_code() == Some(Retry::Poll)
    }

    /// Returns `true` if the same call may succeed later without a change.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        if let Some(retryable) = self.0.retryable {
            return retryable;
        }
        match self.0.kind {
            // The next attempt succeeds if the list does not change meanwhile.
            _ if self.0.position.is_some() => true,
            ErrorKind::Connection | ErrorKind::Timeout | ErrorKind::NotReady => true,
            ErrorKind::Service | ErrorKind::Unexpected => {
                self.is_throttled()
                    || self.is_not_ready()
                    || TRANSIENT.contains(&self.status().unwrap_or_default())
                    || self.is_transient_code()
            }
            _ => false,
        }
    }

    /// If a code has several causes, the message identifies the transient one.
    fn is_transient_code(&self) -> bool {
        let message = self.message().unwrap_or_default();
        self.known_code().is_some_and(|row| {
            row.retry(Effect::Read) == Retry::Backoff
                && !TRANSIENT.contains(&row.status)
                && row.retry_only_with.is_none_or(|text| message.contains(text))
        })
    }

    /// The retries of other calls differ only where the first call may have been executed.
    fn retry_of_code(&self) -> Option<Retry> {
        Some(self.known_code()?.retry(Effect::Read))
    }

    pub(crate) fn is_final(&self) -> bool {
        let is_rejection = matches!(self.status(), Some(400..=499)) && !self.is_retryable();
        self.0.retryable == Some(false) || is_rejection
    }
}

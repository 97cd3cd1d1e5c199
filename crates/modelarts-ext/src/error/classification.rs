//! Classification of errors, on which programs can base decisions.

use modelarts_api::{Effect, Retry, codes};

use crate::error::{Error, ErrorKind};

/// Error codes for a resource that does not exist, regardless of the HTTP status.
const NOT_FOUND: [&str; 3] =
    [codes::TRAINING_JOB_NOT_FOUND, codes::POOL_NOT_FOUND, codes::IMAGE_SAVE_JOB_NOT_EXIST];
/// Error codes for a missing resource, only with status 400. One has other causes (SOURCES D-39).
const OTHER_NOT_FOUND: [&str; 2] =
    [codes::AI_ALGORITHM_NOT_FOUND, codes::TRAINING_EXPERIMENT_NOT_FOUND];
const TRANSIENT: [u16; 5] = [408, 500, 502, 503, 504];

impl Error {
    /// Returns `true` if the service may have executed the call despite the error: the response was
    /// lost or late, cannot be decoded, or is not a rejection by the service.
    ///
    /// # Troubleshooting
    /// The change may have happened, so a job may exist and incur costs. Usual causes are a broken
    /// connection, a [time limit](Self::is_timeout), and a gateway that responded for the service.
    /// Read the resource before a retry. To create a job, use a call that can be repeated:
    /// [`submit_or_adopt`](crate::CreateJob::submit_or_adopt).
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        let answered = match self.status() {
            Some(200..=299) => match self.0.kind {
                // The response is from IAM, before the call was sent.
                ErrorKind::Credentials => false,
                // The body is that of an error. A rejection by the service has an error code.
                ErrorKind::Service => self.0.reply.code.is_none() || self.is_late_code(),
                // The response is successful, but cannot be decoded.
                _ => true,
            },
            // A throttled call was not executed.
            Some(429) => false,
            // A response without a code may be from a gateway, after the execution.
            Some(400..=499) => {
                matches!(self.0.kind, ErrorKind::Service | ErrorKind::Decode)
                    && self.0.reply.code.is_none()
                    // Without an attempt, the response is from IAM, before the call was sent.
                    && self.0.call.attempts > 0
                    || self.is_late_code()
            }
            _ => self.0.kind == ErrorKind::Decode,
        };
        self.0.call.uncertain || answered
    }

    /// Returns `true` for a code that does not exclude execution, such as that of a failure of OBS.
    fn is_late_code(&self) -> bool {
        self.known_code().is_some_and(|row| {
            row.retry(Effect::Read) == Retry::Backoff && row.retry(Effect::Create) == Retry::Never
        })
    }

    /// Returns `true` if the job, or another resource, does not exist. For jobs, the status is 400.
    ///
    /// # Troubleshooting
    /// The id or the name is wrong, the resource was deleted, or it is in another project, region
    /// or workspace. Compare the console with [`Client::project_id`](crate::Client::project_id) and
    /// [`Client::endpoint`](crate::Client::endpoint). [`Client::origins`](crate::Client::origins)
    /// names their settings.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.kind == ErrorKind::NotFound
            || self.0.kind == ErrorKind::Service
                && match self.code() {
                    Some(code) if NOT_FOUND.contains(&code) => true,
                    Some(code) if OTHER_NOT_FOUND.contains(&code) => self.status() == Some(400),
                    // The project or the path is wrong. The resource may exist.
                    Some(codes::TOKEN_PROJECT_ID_NOT_MATCH) => false,
                    _ if self.known_code().is_some_and(|row| row.code == codes::API_NOT_FOUND) => {
                        false
                    }
                    _ => self.status() == Some(404),
                }
    }

    /// Returns `true` if the service reports a missing resource, except algorithms and experiments.
    pub(crate) fn is_gone(&self) -> bool {
        let is_other = |code| OTHER_NOT_FOUND.contains(&code);
        self.is_not_found() && self.is_of_service() && !self.code().is_some_and(is_other)
    }

    /// Returns `true` if the job does not exist: outcome `gone` of the waiter `TrainingJobEnded`.
    pub(crate) fn is_job_gone(&self) -> bool {
        self.0.kind == ErrorKind::Service && self.code() == Some(codes::TRAINING_JOB_NOT_FOUND)
    }

    pub(crate) fn is_unknown_operation(&self) -> bool {
        let is_404 = self.status() == Some(404);
        matches!(self.status(), Some(405 | 501)) || is_404 && !self.is_of_service()
    }

    fn is_of_service(&self) -> bool {
        self.code().is_some_and(|code| code.starts_with("ModelArts."))
    }

    /// Returns `true` if the service rejected the call because of too many requests.
    ///
    /// # Troubleshooting
    /// The call was not executed, and the retries did not suffice: several programs use the
    /// project, or one calls in a loop. Continue after [`retry_after`](Self::retry_after), set a
    /// [`rate_limit`](crate::ClientBuilder::rate_limit), and wait for many jobs with
    /// [`wait_all`](crate::TrainingJobs::wait_all).
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        self.status() == Some(429) || self.known_code().is_some_and(|row| row.status == 429)
    }

    /// Returns `true` if the call conflicts with the state of a resource, or a job name is in use.
    ///
    /// # Troubleshooting
    /// The name of the job is in use in its workspace, or its phase excludes the call, such as the
    /// stop of a job that has ended. Choose another name, or take the existing job with
    /// [`submit_or_adopt`](crate::CreateJob::submit_or_adopt). For a phase, read the job again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(409) || self.code() == Some(codes::DUPLICATE_TRAINING_JOB_NAME)
    }

    /// Returns `true` if a time limit of the client, a gateway or the service was reached.
    ///
    /// # Troubleshooting
    /// A change may have happened; see [`is_uncertain`](Self::is_uncertain). Usual causes are a
    /// network without access to the [endpoint](crate::Client::endpoint), a missing proxy, and an
    /// overloaded service. If calls are only slow, set a longer
    /// [`timeout`](crate::ClientBuilder::timeout).
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.kind == ErrorKind::Timeout || matches!(self.status(), Some(408 | 504))
    }

    /// Returns `true` if the credentials are missing or rejected, or lack a permission.
    ///
    /// # Troubleshooting
    /// Usual causes are wrong or expired keys, keys of another cloud or project, and with status
    /// 403, a missing permission. [`advice`](Self::advice) states the cause, if known, and
    /// [`Client::origins`](crate::Client::origins) the source of the credentials. Do not call in a
    /// loop: IAM locks a user after five wrong passwords.
    #[must_use]
    pub fn is_auth(&self) -> bool {
        self.0.kind == ErrorKind::Credentials || matches!(self.status(), Some(401 | 403))
    }

    /// Returns `true` if the result or the operation will be available later, such as the log of a
    /// job that is not running yet, or a node of a pool that is still starting.
    ///
    /// # Troubleshooting
    /// The job is still queued, or its task has just started. Call again after a few seconds, or
    /// use [`JobHandle::follow`](crate::JobHandle::follow), which waits for events and logs. For a
    /// job that stays queued, [`JobHandle::explain`](crate::JobHandle::explain) states the reason.
    #[must_use]
    pub fn is_not_ready(&self) -> bool {
        let is_poll = self.known_code().is_some_and(|code| code.retry(Effect::Read) == Retry::Poll);
        self.0.kind == ErrorKind::NotReady || is_poll
    }

    /// Returns `true` if the same call may succeed later without a change.
    ///
    /// # Troubleshooting
    /// The network or the service failed for longer than the [retry policy](crate::RetryPolicy)
    /// allows. Repeat the call after [`retry_after`](Self::retry_after) or a minute, but a creation
    /// only if it is not [uncertain](Self::is_uncertain). If the error persists, give the
    /// [`request_id`](Self::request_id) to the support of the cloud.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        if let Some(retryable) = self.0.retryable {
            return retryable;
        }
        match self.0.kind {
            // Reading the list again succeeds unless the list changes too much again.
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

    /// Returns `true` for a transient error code. Some codes also require a text in the message.
    fn is_transient_code(&self) -> bool {
        let message = self.message().unwrap_or_default();
        self.known_code().is_some_and(|row| {
            row.retry(Effect::Read) == Retry::Backoff
                && !TRANSIENT.contains(&row.status)
                && row.retry_only_with.is_none_or(|text| message.contains(text))
        })
    }

    pub(crate) fn is_final(&self) -> bool {
        let is_rejection = matches!(self.status(), Some(400..=499)) && !self.is_retryable();
        self.0.retryable == Some(false) || is_rejection
    }
}

//! Table of the error codes of the service, with remedies and retry conditions.

use crate::{
    generated::ERROR_CODES,
    operation::{Effect, Operation},
};

/// Row of the table of error codes: a code of the service or of a gateway in front of the service.
///
/// A code whose meaning depends on the HTTP status has one row per status.
///
/// ```
/// use modelarts_api::{Effect, ErrorCode, Retry};
///
/// let timeout = ErrorCode::find("ModelArts.6100", 408).unwrap();
/// assert_eq!(timeout.retry(Effect::Read), Retry::Backoff);
/// // The job may exist nevertheless.
/// assert_eq!(timeout.retry(Effect::Create), Retry::Never);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorCode {
    /// Error code, such as `ModelArts.2775`. Codes of gateways begin with `APIG.`.
    pub code: &'static str,
    /// HTTP status. Status 204 means that the result does not exist yet. A response with this
    /// status has no body, so the code appears only in the documentation.
    pub status: u16,
    /// Name in the error table of the service, such as `TrainingJobNotFound`. If the error table
    /// contains a sentence instead of a name, this crate defines the name.
    pub name: &'static str,
    /// Cause of the error, as a sentence.
    pub meaning: &'static str,
    /// Remedy for the error, as a sentence.
    pub advice: &'static str,
    /// Text that the service returns in `error_msg`, with `%s` and `%d` for values, if known.
    pub message: Option<&'static str>,
    /// Advice that the service returns in `error_solution`, if known.
    pub solution: Option<&'static str>,
    /// `true` if every operation may return the code, `false` if only those may whose
    /// [`own_error_codes`](crate::Operation::own_error_codes) contain the code.
    pub any_operation: bool,
    /// Text that the message must contain for [`retry`](Self::retry) to apply. With any other
    /// message, the condition is [`Retry::Never`], because only one of the causes of the code is
    /// temporary, and only its message contains this text. `None` if any message qualifies.
    pub retry_only_with: Option<&'static str>,
    /// Retry conditions by effect, in the order read, idempotent, create.
    pub(crate) retry: [Retry; 3],
}

/// Condition under which the same request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retry {
    /// Never, because the response would be the same, or the request may have been executed.
    Never,
    /// After a pause that increases with each attempt.
    Backoff,
    /// After a pause, until the result exists.
    Poll,
    /// Once, with a new token.
    Token,
}

impl ErrorCode {
    /// Returns the row of a code. Accepts the prefixes `APIG.`, `APIGW.` and `APIC.` for gateways.
    ///
    /// If a code has several rows, returns the row whose status is nearest to `status`.
    #[must_use]
    pub fn find(code: &str, status: u16) -> Option<&'static Self> {
        let (prefix, number) = code.split_once('.')?;
        let prefix = match prefix {
            "APIGW" | "APIC" => "APIG",
            other => other,
        };
        ERROR_CODES
            .iter()
            .filter(|row| row.code.split_once('.') == Some((prefix, number)))
            .min_by_key(|row| row.status.abs_diff(status))
    }

    /// Returns the condition under which a request with this effect may be sent again.
    ///
    /// If [`retry_only_with`](Self::retry_only_with) contains a text, the condition applies only to
    /// messages that contain this text.
    #[must_use]
    pub const fn retry(&self, effect: Effect) -> Retry {
        let [read, idempotent, create] = self.retry;
        match effect {
            Effect::Read => read,
            Effect::Idempotent => idempotent,
            Effect::Create => create,
        }
    }
}

impl Operation {
    /// Returns all error codes of the operation, including the codes that every operation may
    /// return.
    ///
    /// Gateways in front of the service may return additional codes.
    pub fn error_codes(&self) -> impl Iterator<Item = &'static ErrorCode> + use<> {
        let own = self.own_error_codes;
        ERROR_CODES.iter().filter(move |row| row.any_operation || own.contains(&row.code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(code: &str, status: u16) -> Option<&'static str> {
        ErrorCode::find(code, status).map(|row| row.name)
    }

    #[test]
    fn codes_are_found_with_their_status() {
        assert_eq!(name("ModelArts.2775", 400), Some("TrainingJobNotFound"));
        assert_eq!(name("ModelArts.0206", 401), Some("AuthorizationMalformed"));
        assert_eq!(name("ModelArts.0206", 403), Some("WrongKeys"));
        for unknown in ["ModelArts.9999", "Other.2775", "2775", "ModelArts.", ""] {
            assert_eq!(name(unknown, 400), None, "{unknown}");
        }
    }

    #[test]
    fn gateways_spell_their_codes_in_three_ways() {
        for prefix in ["APIG", "APIGW", "APIC"] {
            assert_eq!(name(&format!("{prefix}.0308"), 429), Some("Throttled"));
        }
        // A code of the service with the same number has another meaning.
        assert_eq!(name("APIGW.0101", 404), Some("ApiNotFound"));
        assert_eq!(name("ModelArts.0101", 400), Some("InvalidArgument"));
    }

    #[test]
    fn an_operation_has_its_own_codes_and_those_of_any() {
        let codes = |method: &str| -> Vec<_> {
            let operation = Operation::find(method).unwrap();
            operation.error_codes().map(|row| row.code).collect()
        };
        let any = codes("show_training_job_engines");
        assert!(any.contains(&"ModelArts.0202") && any.contains(&"ModelArts.2799"));
        assert!(any.contains(&"ModelArts.0206") && any.contains(&"ModelArts.6203"));
        assert!(!any.contains(&"ModelArts.2775") && !any.contains(&"APIG.0308"));
        let stop = codes("stop_training_job");
        assert!(any.iter().all(|code| stop.contains(code)));
        assert!(stop.contains(&"ModelArts.2796") && !stop.contains(&"ModelArts.2751"));
    }

    #[test]
    fn the_nearest_status_decides() {
        assert_eq!(name("APIGW.0201", 413), Some("RequestTooLarge"));
        assert_eq!(name("APIGW.0201", 504), Some("BackendTimeout"));
        assert_eq!(name("APIGW.0201", 502), Some("BackendTimeout"));
        assert_eq!(name("ModelArts.2775", 404), Some("TrainingJobNotFound"));
    }

    #[test]
    fn a_code_is_sent_again_by_the_effect_of_its_operation() {
        let retries = |code, status| {
            let row = ErrorCode::find(code, status).unwrap();
            [Effect::Read, Effect::Idempotent, Effect::Create].map(|effect| row.retry(effect))
        };
        use Retry::{Backoff, Never, Poll, Token};
        assert_eq!(retries("ModelArts.2950", 500), [Backoff, Backoff, Never]);
        assert_eq!(retries("ModelArts.2776", 204), [Poll; 3]);
        assert_eq!(retries("ModelArts.0202", 401), [Token; 3]);
        assert_eq!(retries("ModelArts.2751", 400), [Never; 3]);
        assert_eq!(retries("ModelArts.1002", 400), [Backoff, Backoff, Never]);
    }

    #[test]
    fn one_cause_of_an_invalid_path_may_pass() {
        let texts = ["ModelArts.2791", "ModelArts.2775"].map(|code| {
            let row = ErrorCode::find(code, 400).unwrap();
            row.retry_only_with
        });
        assert_eq!(texts, [Some("not a directory"), None]);
    }
}

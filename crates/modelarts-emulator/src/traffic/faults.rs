//! Injected faults: a queue of rules, to which tests add rules over HTTP or from Rust.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::operations::operation_ids;

/// Fault of a response.
///
/// Functions such as [`Fault::status`] create the usual faults; variants without fields need no
/// function. In the JSON of `POST /_emulator/faults`, the member `fault` is the name of the variant
/// in lower case with hyphens. The fields of the variant are members beside `fault`, `operation`
/// and `times`: `{"operation": "*", "fault": "status", "status": 503}`.
///
/// ```
/// use std::time::Duration;
/// use modelarts_emulator::faults::{Fault, FaultRule};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let emulator = modelarts_emulator::Emulator::start().await?;
/// let faults = emulator.faults();
/// // The next three responses to reads of a job, in this order.
/// for fault in [
///     Fault::status(503),
///     Fault::retry_after(429, 7),
///     Fault::delay(Duration::from_millis(200)),
/// ] {
///     faults.add(FaultRule::once("ShowTrainingJobDetails", fault))?;
/// }
/// # emulator.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fault {
    /// A response with this status; the operation is not executed.
    Status {
        /// Status of the response, 200 to 599.
        status: u16,
        /// Value of the header `Retry-After`, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
        /// `error_code` of the body. The default is the code of `openapi/SOURCES.md`, E, for 429
        /// and 500, `APIGW.0201` for 504, and `Emulator.0nnn` otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_code: Option<String>,
        /// `error_msg` of the body. The default depends on the status.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_msg: Option<String>,
    },
    /// A response with this status and a date in `Retry-After`; the operation is not executed.
    StatusUntil {
        /// Status of the response, 200 to 599, which defaults to 429.
        #[serde(default = "too_many_requests")]
        status: u16,
        /// Time from the current time of the emulator's clock to the date, in seconds.
        seconds: u32,
    },
    /// An HTML page of a load balancer; the operation is not executed.
    Html {
        /// Status of the response, 200 to 599, which defaults to 502.
        #[serde(default = "bad_gateway")]
        status: u16,
    },
    /// A reset of the connection; the operation is not executed.
    Reset,
    /// A reset of the connection before the response, after the operation was executed.
    LostAnswer,
    /// A cut of the connection in the middle of the response's body.
    ResetMidBody,
    /// A response in which every `status.phase` and `secondary_phase` has this value.
    UnknownPhase {
        /// Value of the phases, for example `Hibernating`.
        phase: String,
    },
    /// A response in which every `secondary_phase` has this value; `phase` is unchanged.
    UnknownSecondaryPhase {
        /// Value of the secondary phases, for example `Hibernating`.
        phase: String,
    },
    /// A response with `total`, `count`, `limit` and `offset` as strings.
    TotalsAsText,
    /// A page with the first row repeated and the last row missing.
    ShiftedPage,
    /// A page in which every row is repeated.
    DuplicateRows,
    /// A response in which every list is null, at any depth.
    NullLists,
    /// A delayed response; the operation is executed immediately.
    Delay {
        /// Length of the delay in milliseconds, on the emulator's clock.
        ms: u64,
    },
}

/// Name for all operations of OBS, and the prefix of their names.
const OBS_OPERATIONS: &str = "obs.*";
const OBS_PREFIX: &str = "obs.";

const fn too_many_requests() -> u16 {
    429
}

const fn bad_gateway() -> u16 {
    502
}

/// Rule by which the next `times` responses of `operation` get `fault`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRule {
    /// The operationId to which the rule applies, or `*` for every operation of the API. The
    /// operations of OBS have the names of the S3 API, such as `obs.PutObject`, or `obs.*` for all.
    /// The download of a log from its link is not an operation, and no rule applies to it.
    pub operation: String,
    /// Number of remaining responses with the fault. Defaults to 1. [`u32::MAX`] means no limit.
    #[serde(default = "once")]
    pub times: u32,
    /// Fault that the responses get.
    #[serde(flatten)]
    pub fault: Fault,
}

const fn once() -> u32 {
    1
}

impl FaultRule {
    /// Creates a rule for one response of `operation` (an operationId or `*`).
    pub fn once(operation: impl Into<String>, fault: Fault) -> Self {
        Self::times(1, operation, fault)
    }

    /// Creates a rule for `times` responses of `operation` (an operationId or `*`).
    pub fn times(times: u32, operation: impl Into<String>, fault: Fault) -> Self {
        Self { operation: operation.into(), times, fault }
    }

    /// Parses a rule. Returns an error for unknown fields, and in the cases of [`Faults::add`].
    pub(crate) fn from_json(value: &Value) -> Result<Self, String> {
        let rule: Self =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        let known = serde_json::to_value(&rule).map_err(|error| error.to_string())?;
        if let Some(fields) = value.as_object() {
            for (field, given) in fields {
                if !given.is_null() && known.get(field).is_none() {
                    return Err(format!("unknown field `{field}`"));
                }
            }
        }
        rule.check()?;
        Ok(rule)
    }

    /// Creates a rule for all responses of `operation` (an operationId, `*` or `obs.*`).
    pub fn always(operation: impl Into<String>, fault: Fault) -> Self {
        Self::times(u32::MAX, operation, fault)
    }

    fn matches(&self, operation: &str) -> bool {
        match self.operation.as_str() {
            "*" => !operation.starts_with(OBS_PREFIX),
            OBS_OPERATIONS => operation.starts_with(OBS_PREFIX),
            name => name == operation,
        }
    }

    fn check(&self) -> Result<(), String> {
        let mut ids: Vec<&str> = operation_ids().collect();
        if !ids.iter().any(|id| self.matches(id)) {
            if cfg!(feature = "obs") {
                ids.push(OBS_OPERATIONS);
            }
            return Err(format!(
                "unknown operation `{}`, expected * or one of {}",
                self.operation,
                ids.join(", ")
            ));
        }
        if self.times == 0 {
            return Err("times is 0, but must be at least 1".to_owned());
        }
        if self.operation.starts_with(OBS_PREFIX) && self.fault.is_of_json() {
            return Err(format!(
                "the fault changes JSON, and responses of `{}` have none: use status, \
                 status-until, html, reset, lost-answer, reset-mid-body or delay",
                self.operation
            ));
        }
        match self.fault {
            Fault::Status { status, .. }
            | Fault::StatusUntil { status, .. }
            | Fault::Html { status }
                if !(200..=599).contains(&status) =>
            {
                Err(format!("status {status} is not between 200 and 599"))
            }
            _ => Ok(()),
        }
    }
}

/// Error of a fault rule with an invalid value. The rule is not added.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FaultError(String);

/// Queue of the fault rules of an emulator. Clones share the queue.
///
/// A response gets the fault of the first rule that matches, and of no other rule. Requests with
/// invalid credentials, and operations that the emulator does not implement, do not use up a rule.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Vec<FaultRule>>>);

impl Faults {
    /// Appends a rule.
    ///
    /// # Errors
    /// Returns an error if a value is invalid, or OBS has no such fault.
    pub fn add(&self, rule: FaultRule) -> Result<(), FaultError> {
        rule.check().map_err(FaultError)?;
        self.0.lock().push(rule);
        Ok(())
    }

    /// Returns the remaining rules, each with the remaining `times`.
    #[must_use]
    pub fn list(&self) -> Vec<FaultRule> {
        self.0.lock().clone()
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    pub(crate) fn take(&self, operation: &str) -> Option<Fault> {
        let mut rules = self.0.lock();
        let at = rules.iter().position(|rule| rule.matches(operation))?;
        let rule = &mut rules[at];
        if rule.times < u32::MAX {
            rule.times -= 1;
        }
        let fault = rule.fault.clone();
        if rule.times == 0 {
            rules.remove(at);
        }
        Some(fault)
    }

    /// Returns the code, or the status, with which a rule without limit rejects an operation.
    pub(crate) fn lasting_code(&self, operation: &str) -> Option<String> {
        let rules = self.0.lock();
        let mut lasting = rules.iter().filter(|rule| rule.times == u32::MAX);
        lasting.find_map(|rule| match &rule.fault {
            Fault::Status { status, error_code, .. } if rule.matches(operation) => {
                Some(error_code.clone().unwrap_or_else(|| status.to_string()))
            }
            _ => None,
        })
    }
}

impl Fault {
    /// Creates an error with this status, 200 to 599, and its usual body; no operation is executed.
    #[must_use]
    pub const fn status(status: u16) -> Self {
        Self::Status { status, retry_after: None, error_code: None, error_msg: None }
    }

    /// Creates an error like [`status`](Self::status), with the header `Retry-After` in seconds.
    #[must_use]
    pub const fn retry_after(status: u16, seconds: u64) -> Self {
        Self::Status { status, retry_after: Some(seconds), error_code: None, error_msg: None }
    }

    /// Creates an error like [`status`](Self::status), with this `error_code` and `error_msg`.
    #[must_use]
    pub fn error(status: u16, error_code: impl Into<String>, error_msg: impl Into<String>) -> Self {
        Self::Status {
            status,
            retry_after: None,
            error_code: Some(error_code.into()),
            error_msg: Some(error_msg.into()),
        }
    }

    /// Creates an HTML page of a load balancer with the status 502. The operation is not executed.
    #[must_use]
    pub const fn html() -> Self {
        Self::Html { status: bad_gateway() }
    }

    /// Creates a delay of the response on the emulator's clock, in whole milliseconds.
    #[must_use]
    pub fn delay(duration: Duration) -> Self {
        Self::Delay { ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Creates a response in which every phase and secondary phase has this value.
    #[must_use]
    pub fn unknown_phase(phase: impl Into<String>) -> Self {
        Self::UnknownPhase { phase: phase.into() }
    }

    /// Returns `true` if the fault changes members of a JSON body.
    const fn is_of_json(&self) -> bool {
        matches!(
            self,
            Self::UnknownPhase { .. }
                | Self::UnknownSecondaryPhase { .. }
                | Self::TotalsAsText
                | Self::ShiftedPage
                | Self::DuplicateRows
                | Self::NullLists
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_read_and_written_alike() {
        let json = json!({"operation": "ListTrainingJobs", "times": 2, "fault": "status",
            "status": 429, "retry_after": 1});
        let rule = FaultRule::from_json(&json).unwrap();
        assert_eq!(serde_json::to_value(&rule).unwrap(), json);
        let rule = FaultRule::from_json(&json!({"operation": "*", "fault": "html"})).unwrap();
        assert_eq!(rule, FaultRule::once("*", Fault::Html { status: 502 }));
    }

    #[test]
    fn a_rule_that_would_do_nothing_is_refused() {
        for (json, sentence) in [
            (json!({"operation": "ListJobs", "fault": "reset"}), "unknown operation `ListJobs`"),
            (json!({"operation": "*", "fault": "reset", "time": 2}), "unknown field `time`"),
            (
                json!({"operation": "*", "fault": "status", "status": 42}),
                "status 42 is not between",
            ),
            (json!({"operation": "*", "fault": "reset", "times": 0}), "times is 0, but must be"),
            (json!({"operation": "*", "fault": "sulk"}), "unknown variant `sulk`"),
            (json!([]), "invalid type"),
        ] {
            let error = FaultRule::from_json(&json).unwrap_err();
            assert!(error.contains(sentence), "{error}");
        }
    }

    #[test]
    fn rules_are_used_up_in_order() {
        let faults = Faults::default();
        faults.add(FaultRule::times(2, "DeleteTrainingJob", Fault::Reset)).unwrap();
        faults.add(FaultRule::once("*", Fault::LostAnswer)).unwrap();
        assert_eq!(faults.take("DeleteTrainingJob"), Some(Fault::Reset));
        assert_eq!(faults.take("ListTrainingJobs"), Some(Fault::LostAnswer));
        assert_eq!(faults.take("ListTrainingJobs"), None);
        assert_eq!(faults.list(), [FaultRule::once("DeleteTrainingJob", Fault::Reset)]);
        faults.clear();
        assert_eq!(faults.take("DeleteTrainingJob"), None);
    }
}

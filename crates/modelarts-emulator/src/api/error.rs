//! Error responses. The service never returns codes that start with `Emulator.`.

use axum::http::StatusCode;
use modelarts_api::ERROR_CODES;
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
    solution: Option<&'static str>,
    /// `true` for errors of the API gateway, whose body includes the request id.
    from_gateway: bool,
}

impl ApiError {
    /// Creates an error with exactly the two fields `error_code` and `error_msg`.
    pub(crate) fn new(
        status: StatusCode,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            code: code.into(),
            message: message.into(),
            solution: None,
            from_gateway: false,
        }
    }

    fn gateway(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let mut error = Self::new(status, code, message);
        error.from_gateway = true;
        error
    }

    /// Creates the error `ModelArts.<number>`. `values` replace the placeholders of its message.
    pub(crate) fn of(number: u16, values: &[&str]) -> Self {
        let code = code(number);
        let mut rows = ERROR_CODES.iter().filter(|row| row.code == code);
        let Some((row, message)) = rows.find_map(|row| Some((row, row.message?))) else {
            return Self::internal(format!("No row for {code}."));
        };
        let status = StatusCode::from_u16(row.status).unwrap_or(StatusCode::BAD_REQUEST);
        let mut error = Self::new(status, code, fill(message, values));
        error.solution = row.solution;
        error
    }

    pub(crate) fn renamed(mut self, from: &str, to: &str) -> Self {
        self.message = self.message.replace(from, to);
        self
    }

    pub(crate) fn no_permission(action: &str) -> Self {
        Self::of(108, &[action])
    }

    pub(crate) fn not_authenticated(reason: impl std::fmt::Display) -> Self {
        Self::gateway(
            StatusCode::UNAUTHORIZED,
            "APIGW.0301",
            format!("Incorrect IAM authentication information: {reason}"),
        )
    }

    /// Creates the error for an unknown API, with the message in the gateway's list of error codes.
    pub(crate) fn no_such_api() -> Self {
        Self::gateway(
            StatusCode::NOT_FOUND,
            "APIGW.0101",
            "The API does not exist or has not been published in the environment",
        )
    }

    pub(crate) fn algorithm_not_found() -> Self {
        Self::of(2755, &[])
    }

    pub(crate) fn job_not_found(id: &str) -> Self {
        Self::of(2775, &[id])
    }

    /// Creates the error for an invalid field. `what` names the field and states the violated rule.
    pub(crate) fn invalid_parameter(what: impl std::fmt::Display) -> Self {
        Self::of(2788, &[&what.to_string()])
    }

    pub(crate) fn obs_path(path: &str, reason: impl std::fmt::Display) -> Self {
        Self::of(2791, &[path, &reason.to_string()])
    }

    pub(crate) fn too_many_nodes(requested: i64, maximum: u32) -> Self {
        Self::of(2793, &[&requested.to_string(), &maximum.to_string()])
    }

    pub(crate) fn filter_value(value: &str) -> Self {
        Self::of(2809, &[value])
    }

    pub(crate) fn local_code_dir(reason: impl std::fmt::Display) -> Self {
        Self::of(2857, &[&reason.to_string()])
    }

    pub(crate) fn working_dir(reason: impl std::fmt::Display) -> Self {
        Self::of(2859, &[&reason.to_string()])
    }

    /// Creates the error for an invalid query of events. Its code has eight digits (SOURCES D-38).
    pub(crate) fn events_query() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "ModelArts.50004000", "Bad request.")
    }

    pub(crate) fn body_too_large() -> Self {
        Self::of(4104, &[])
    }

    pub(crate) fn body_too_slow(maximum: std::time::Duration) -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "Emulator.0408",
            format!(
                "The body of a request must arrive within {} s after its head.",
                maximum.as_secs()
            ),
        )
    }

    /// Creates the error for an unsupported feature: an operation, or a field and its value.
    pub(crate) fn not_modelled(what: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_IMPLEMENTED,
            "Emulator.0501",
            format!(
                "This emulator does not model {what}, so it refuses instead of guessing what the \
                 service would do."
            ),
        )
    }

    pub(crate) fn forbidden(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Emulator.0403", sentence)
    }

    pub(crate) fn bad_control_request(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Emulator.0400", sentence)
    }

    pub(crate) fn no_such_job(id: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "Emulator.0404",
            format!("There is no job with the id {id:?}; creations and lists return ids."),
        )
    }

    pub(crate) fn internal(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Emulator.0500", sentence)
    }

    pub(crate) fn body(&self, request_id: &str) -> Value {
        let mut body = json!({"error_msg": self.message, "error_code": self.code});
        if let Some(solution) = self.solution {
            body["error_solution"] = solution.into();
        }
        if self.from_gateway {
            body["request_id"] = request_id.into();
        }
        body
    }
}

fn code(number: u16) -> String {
    format!("ModelArts.{number:04}")
}

/// Replaces the placeholders `%s` and `%d` of a message with `values`, from left to right.
fn fill(message: &str, values: &[&str]) -> String {
    let mut text = String::new();
    let mut values = values.iter();
    let mut rest = message;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        text.push_str(values.next().unwrap_or(&""));
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_without_a_message_in_the_table_are_described() {
        let errors = [ApiError::events_query()].map(|error| (error.code, error.status.as_u16()));
        // The last two errors are those of injected faults that specify only a status.
        let faults = [(code(2799), 429), (code(2950), 500)];
        for (code, status) in errors.into_iter().chain(faults) {
            let mut rows = ERROR_CODES.iter();
            assert!(rows.any(|row| row.code == code && row.status == status), "{code}");
        }
    }

    #[test]
    fn placeholders_are_filled_from_the_left() {
        for (number, values, message) in [
            (
                2793,
                &["17", "16"][..],
                "The number of flavor instances (17) exceeds the maximum (16).",
            ),
            (2758, &[], "code startup file path error."),
            (2775, &["a%sb"], "Training job (ID: a%sb) not found."),
        ] {
            assert_eq!(ApiError::of(number, values).message, message);
        }
    }

    #[test]
    fn each_number_has_one_row_with_a_message() {
        let mut codes: Vec<&str> =
            ERROR_CODES.iter().filter(|row| row.message.is_some()).map(|row| row.code).collect();
        codes.sort_unstable();
        assert!(codes.is_sorted_by(|one, next| one < next), "{codes:?}");
    }
}

//! Error answers: one constructor for each documented error that the emulator gives.
//!
//! Status, code, message and solution are those of the service's error table (Open Telekom Cloud
//! API reference, "Error Codes", revision 1ba1873), its `%s` filled in. Codes that start with
//! `Emulator.` are the emulator's own: no service gives them.

use axum::http::StatusCode;
use serde_json::{Map, Value};

/// An error answer before it becomes bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    code: String,
    message: String,
    solution: Option<&'static str>,
    /// The gateway writes the request id into the body, ModelArts itself does not.
    from_gateway: bool,
}

impl ApiError {
    /// An error with exactly the two fields `error_code` and `error_msg`.
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

    fn training(number: u16, message: impl Into<String>, solution: &'static str) -> Self {
        let mut error = Self::new(
            StatusCode::BAD_REQUEST,
            format!("ModelArts.{number}"),
            message,
        );
        error.solution = Some(solution);
        error
    }

    fn gateway(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let mut error = Self::new(status, code, message);
        error.from_gateway = true;
        error
    }

    // ---- the gateway (auth.md 1.10) ----

    pub(crate) fn not_authenticated(reason: impl std::fmt::Display) -> Self {
        Self::gateway(
            StatusCode::UNAUTHORIZED,
            "APIGW.0301",
            format!("Incorrect IAM authentication information: {reason}"),
        )
    }

    // ---- ModelArts (api-facts.md 5.2) ----

    pub(crate) fn duplicate_name(name: &str) -> Self {
        Self::training(
            2751,
            format!("Duplicate training job (name {name})."),
            "Change training job name.",
        )
    }

    pub(crate) fn channel() -> Self {
        Self::training(
            2753,
            "input and output channel information is not standardized.",
            "Check the validity of the input and output channel information in the request.",
        )
    }

    pub(crate) fn algorithm_not_found() -> Self {
        Self::training(
            2755,
            "algorithm not found.",
            "Check whether the training project information in the request is valid.",
        )
    }

    pub(crate) fn code_dir() -> Self {
        Self::training(
            2757,
            "code directory path error.",
            "Check whether the training project information in the request is valid.",
        )
    }

    pub(crate) fn boot_file() -> Self {
        Self::training(
            2758,
            "code startup file path error.",
            "Check whether the training project information in the request is valid.",
        )
    }

    pub(crate) fn job_not_found(id: &str) -> Self {
        Self::training(
            2775,
            format!("Training job (ID: {id}) not found."),
            "Check whether the training job information in the request is valid.",
        )
    }

    pub(crate) fn wrong_project(requested: &str, own: &str) -> Self {
        let mut error = Self::training(
            2786,
            format!(
                "The project ID ({requested}) in the request does not match that({own}) in the token."
            ),
            "Change the request token or change the project ID in the request.",
        );
        error.status = StatusCode::NOT_FOUND;
        error
    }

    pub(crate) fn invalid_json() -> Self {
        Self::training(
            2787,
            "Invalid JSON request body.",
            "Check the request body.",
        )
    }

    /// `what` names the field and says what is wrong with it.
    pub(crate) fn invalid_parameter(what: impl std::fmt::Display) -> Self {
        Self::training(
            2788,
            format!("Invalid parameter({what})."),
            "Check the request parameter.",
        )
    }

    pub(crate) fn sorting() -> Self {
        Self::training(
            2790,
            "Unsupported sorting item.",
            "Check whether the sorting item is valid.",
        )
    }

    pub(crate) fn obs_path(path: &str, reason: impl std::fmt::Display) -> Self {
        Self::training(
            2791,
            format!("Invalid obs path: {path}, reason: {reason}."),
            "Check the obs path.",
        )
    }

    pub(crate) fn boot_file_outside() -> Self {
        Self::training(
            2792,
            "The boot_file does not belong to the package_id directory.",
            "Check whether boot_file and package_id are set correctly.",
        )
    }

    pub(crate) fn too_many_nodes(asked: i64, maximum: u32) -> Self {
        Self::training(
            2793,
            format!("The number of flavor instances ({asked}) exceeds the maximum ({maximum})."),
            "Check the flavor.",
        )
    }

    pub(crate) fn not_terminable() -> Self {
        let mut error = Self::training(
            2796,
            "The job cannot be terminated.",
            "Check whether the job status is valid.",
        );
        error.status = StatusCode::CONFLICT;
        error
    }

    pub(crate) fn command_and_image() -> Self {
        Self::training(
            2806,
            "Custom image jobs command and engine.url cannot be empty.",
            "Check whether the command and engine.url is valid.",
        )
    }

    pub(crate) fn filter_key(key: &str) -> Self {
        Self::training(
            2807,
            format!("Unsupported condition key ({key})"),
            "Check whether the key of search is valid.",
        )
    }

    pub(crate) fn filter_operator(operator: &str) -> Self {
        Self::training(
            2808,
            format!("Unsupported condition operator ({operator})"),
            "Check whether the operator of search is valid.",
        )
    }

    pub(crate) fn filter_value(value: &str) -> Self {
        Self::training(
            2809,
            format!("Unsupported condition value ({value})"),
            "Check whether the value of search is valid.",
        )
    }

    pub(crate) fn action_type(action: &str) -> Self {
        Self::training(
            2812,
            format!("Unsupported action type:{action}"),
            "Check whether the action type is valid.",
        )
    }

    pub(crate) fn local_code_dir(reason: impl std::fmt::Display) -> Self {
        Self::training(
            2857,
            format!("The local_code_dir parameter verification failed for reason({reason})"),
            "Check the validity of the information in the request.",
        )
    }

    pub(crate) fn working_dir(reason: impl std::fmt::Display) -> Self {
        Self::training(
            2859,
            format!("The working_dir parameter verification failed for reason({reason})"),
            "Check the validity of the information in the request.",
        )
    }

    /// The events query has an error of its own: eight digits, two fields, no solution (seed 001).
    pub(crate) fn events_query() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "ModelArts.50004000",
            "Bad request.",
        )
    }

    pub(crate) fn body_too_large() -> Self {
        let mut error = Self::training(
            4104,
            "Invalid request body because the size exceeds the maximum size allowed.",
            "Use a request body smaller than 12 MB.",
        );
        error.status = StatusCode::PAYLOAD_TOO_LARGE;
        error
    }

    // ---- the emulator itself ----

    /// `what` is the subject of the sentence: an operation, a field and its value.
    pub(crate) fn not_modelled(what: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_IMPLEMENTED,
            "Emulator.0501",
            format!(
                "This emulator does not model {what}, so it refuses instead of guessing what the service would do."
            ),
        )
    }

    pub(crate) fn forbidden(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Emulator.0403", sentence)
    }

    /// For the control routes under `/_emulator`.
    pub(crate) fn bad_control_request(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Emulator.0400", sentence)
    }

    pub(crate) fn internal(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Emulator.0500", sentence)
    }

    /// The body. `request_id` goes into it where the gateway answers.
    pub(crate) fn body(&self, request_id: &str) -> Value {
        let mut body = Map::new();
        body.insert("error_msg".into(), self.message.as_str().into());
        body.insert("error_code".into(), self.code.as_str().into());
        if let Some(solution) = self.solution {
            body.insert("error_solution".into(), solution.into());
        }
        if self.from_gateway {
            body.insert("request_id".into(), request_id.into());
        }
        Value::Object(body)
    }
}

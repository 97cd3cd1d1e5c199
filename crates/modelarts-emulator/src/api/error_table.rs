//! Rows of the service's table of training errors, for the errors that the emulator can return.
//!
//! The source is the API reference of Open Telekom Cloud, "Error Codes" (SOURCES E). Each row
//! contains the number in the code `ModelArts.<number>`, the HTTP status, the message and the
//! solution. `%s` and `%d` are placeholders.

/// Row of the table: number, HTTP status, message and solution.
type Row = (u16, u16, &'static str, &'static str);

pub(super) fn row(number: u16) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.0 == number)
}

/// Fills the placeholders of a message, from left to right.
pub(super) fn fill(message: &str, values: &[&str]) -> String {
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

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // The documented message uses a different placeholder syntax.
    (108, 403, "You do not have permission to perform %s.", "Check whether you are authorized to perform operations on OBS or APIs."),
    (2751, 400, "Duplicate training job (name %s).", "Change training job name."),
    (2753, 400, "input and output channel information is not standardized.", "Check the validity of the input and output channel information in the request."),
    (2754, 400, "Only one output channel can be configured as ModelArts hosted output.", "Check the validity of the output path information in the request."),
    (2755, 400, "algorithm not found.", "Check whether the training project information in the request is valid."),
    (2758, 400, "code startup file path error.", "Check whether the training project information in the request is valid."),
    (2759, 400, "There are too many code files. A maximum of %s files can be uploaded.", "Please check the number of code files."),
    (2760, 400, "Insufficient quota, too many levels of code directories, supporting up to %s directories", "Please check the code directory depth."),
    (2761, 400, "Insufficient quota, the code file takes up too much storage space, supporting up to %s GB", "Please check the code directory depth."),
    (2763, 400, "The selected flavor is invalid.", "Check the validity of the flavor in the request."),
    (2764, 400, "Invalid query parameter (%s).", "Check the validity of the parameter in the request."),
    (2765, 400, "character variables must be within the preset parameters.", "Please enter the variable value based on the preset range."),
    (2766, 400, "Missing default value.", "Please enter the default value."),
    (2767, 400, "parameter key repeat.", "Please rename the parameter name."),
    (2768, 400, "Default value does not match parameter type.", "Please check the default parameter type."),
    (2769, 400, "default value is not in the setting range.", "Please ensure that the default value is within the range."),
    (2770, 400, "Parameter range error.", "Please enter another value range."),
    (2773, 400, "get obs object content error.", "Please check the file permission."),
    (2775, 400, "Training job (ID: %s) not found.", "Check whether the training job information in the request is valid."),
    (2780, 400, "AI engine(id:%s) not found.", "Check whether the engine informer in the request is valid."),
    (2781, 400, "Flavor (%s) not found.", "Check whether the flavor in the request is valid."),
    (2782, 400, "Dataset version (ID: %s) not found.", "Check whether the dataset version ID in the request is valid."),
    (2783, 400, "Dataset (ID: %s) not found.", "Check whether the dataset ID in the request is valid."),
    (2785, 403, "You cannot use ModelArts because you have not authorized ModelArts.", "Please go to the Settings page to authorize ModelArts."),
    (2786, 404, "The project ID (%s) in the request does not match that(%s) in the token.", "Change the request token or change the project ID in the request."),
    (2787, 400, "Invalid JSON request body.", "Check the request body."),
    (2788, 400, "Invalid parameter(%s).", "Check the request parameter."),
    (2790, 400, "Unsupported sorting item.", "Check whether the sorting item is valid."),
    (2791, 400, "Invalid obs path: %s, reason: %s.", "Check the obs path."),
    (2792, 400, "The boot_file does not belong to the package_id directory.", "Check whether boot_file and package_id are set correctly."),
    (2793, 400, "The number of flavor instances (%d) exceeds the maximum (%d).", "Check the flavor."),
    (2796, 409, "The job cannot be terminated.", "Check whether the job status is valid."),
    (2802, 400, "Invalid codeDir path: %s.", "Check the codeDir path."),
    (2803, 405, "Method not allowed.", "Please confirm that the HTTP Method is correct"),
    // Message as observed on the service (SOURCES K 20); the documented list contains an older one.
    (2806, 400, "Custom image jobs engine.image_url and command or engine.engine_name cannot be empty.", "Check whether the command and engine.url is valid."),
    (2807, 400, "Unsupported condition key (%s)", "Check whether the key of search is valid."),
    (2808, 400, "Unsupported condition operator (%s)", "Check whether the operator of search is valid."),
    (2809, 400, "Unsupported condition value (%s)", "Check whether the value of search is valid."),
    (2812, 400, "Unsupported action type:%s", "Check whether the action type is valid."),
    (2814, 400, "Job algorithm configuration(%s) does not match algorithm management configuration.", "Please check the parameter is valid."),
    (2815, 400, "Exceed quota limit of resource(%s).", "Please release the resources in use or apply for an expanded quota."),
    (2816, 400, "The parameter(%s) exceeds the upper limit %s.", "Please enter another value range."),
    (2818, 400, "the log file is not generated", "Please view the log after the log is generated."),
    (2819, 400, "the log file has been cleared", "Please select obs url to upload your logs when creating training jobs."),
    (2821, 400, "Duplicate algorithm (name %s).", "The algorithm name already exists, Please change algorithm name."),
    (2822, 400, "The log export path is not set.", "Please set the log export path."),
    (2824, 400, "The search indicators is duplicate.", "Check whether the search indicators is duplicate."),
    (2825, 400, "The parameter (%s) value type error.", "Ensure that the parameter value type is correct."),
    (2826, 400, "The search parameters error.", "Please enter another search parameter."),
    (2830, 400, "Custom image jobs engine_id cannot be empty.", "Check whether the engine_id is valid."),
    (2832, 400, "The AI engine version has been discontinued.", "Please use the latest version of AI engine."),
    (2834, 400, "Does not support data type (%s).", "Change to a supported data type."),
    (2836, 404, "Path not found.", "Please confirm that the PATH is correct"),
    (2837, 400, "The account has been restricted or frozen.", "Please check the account."),
    (2840, 400, "Engine or resource policy specified cannot be supported on this flavor.", "Please reselect flavor."),
    (2841, 400, "Duplicate training experiment (name: %s).", "Change training experiment name."),
    (2842, 400, "Training job (id: %s) not found.", "Check whether the training experiment information in the request is valid."),
    (2854, 400, "Unsupported input/output channel remote type.", "Change to a supported channel remote type."),
    (2855, 400, "Prohibition of run_user < %d when the training job is not in the dedicated pool.", "This operation is prohibited."),
    (2857, 400, "The local_code_dir parameter verification failed for reason(%s)", "Check the validity of the information in the request."),
    (2858, 400, "Current operation not supported, (%s).", "Please refer to hints."),
    (2859, 400, "The working_dir parameter verification failed for reason(%s)", "Check the validity of the information in the request."),
    (2878, 409, "Job status changed", "Please try again later."),
    (2880, 400, "ImageSaveJob is exist", "Please wait ImageSaveJob to be completed"),
    (2881, 404, "ImageSaveJob is not exist", "Please check task_id"),
    (2883, 400, "training job secondary_phase is not running", "Please check training job secondary_phase"),
    (2885, 400, "the access of user swr is exception", "Please check the image namespace is exist or user authorization is enough"),
    (2886, 400, "Pool (%s) is not a training pool", "Please check whether the pool supports the training job type"),
    (2887, 400, "Pool (%s) is not running", "Please check the status of the pool"),
    (2890, 404, "Pool (%s) does not exist", "Please check whether the pool exists"),
    (4104, 413, "The size of the request body is invalid.", "Use a request body smaller than 12 MB."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::api::error::ApiError;

    /// Returns the codes and statuses in the error table of the OpenAPI description.
    fn described() -> BTreeSet<(String, u16)> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/modelarts.yaml");
        let text = std::fs::read_to_string(file).unwrap();
        let description: Value = serde_saphyr::from_str(&text).unwrap();
        let rows = description["x-error-table"].as_array().unwrap();
        rows.iter()
            .map(|row| {
                let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
                (row["code"].as_str().unwrap().to_owned(), status)
            })
            .collect()
    }

    #[test]
    fn every_answer_of_the_service_is_described() {
        let described = described();
        let made_elsewhere = [
            ApiError::no_permission(""),
            ApiError::events_query(),
            ApiError::body_too_large(),
        ];
        // The last two errors are those of injected faults that specify only a status.
        let answers = ROWS
            .iter()
            .map(|row| (format!("ModelArts.{:04}", row.0), row.1))
            .chain(made_elsewhere.map(|error| (error.code, error.status.as_u16())))
            .chain([
                ("ModelArts.2799".to_owned(), 429),
                ("ModelArts.2950".to_owned(), 500),
            ]);
        let missing: Vec<_> = answers
            .filter(|answer| !described.contains(answer))
            .collect();
        assert_eq!(missing, []);
    }

    #[test]
    fn placeholders_are_filled_from_the_left() {
        let filled = |number, values: &[&str]| fill(row(number).unwrap().2, values);
        assert_eq!(
            filled(2793, &["17", "16"]),
            "The number of flavor instances (17) exceeds the maximum (16)."
        );
        assert_eq!(filled(2758, &[]), "code startup file path error.");
        assert_eq!(
            filled(2775, &["a%sb"]),
            "Training job (ID: a%sb) not found."
        );
    }
}

//! Fields that occur only in responses: the service sets them, and a request to create a job must
//! not contain them.

use modelarts_api::{
    Operation,
    request_path::create_training_job::algorithm::{self, inputs},
};

/// Operation that creates a job. Its row lists the fields that occur only in its response.
const CREATE: Option<&Operation> = Operation::find("create_training_job");

/// Request fields whose values the service derives from other fields.
const DERIVED: [&str; 2] = [algorithm::NAME, inputs::remote::dataset::OBS_URL];

/// Returns `true` if only the service sets the field with this general name.
pub(crate) fn is_response_only(general: &str) -> bool {
    CREATE.is_some_and(|create| create.response_only.contains(&general))
        || DERIVED.contains(&general)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_the_service_sets_are_response_only() {
        for general in [
            "status",
            "metadata.id",
            "algorithm.name",
            "algorithm.outputs[].mode",
            "algorithm.inputs[].remote.dataset.obs_url",
            "tasks[].task_resource.attributes",
        ] {
            assert!(is_response_only(general), "{general}");
        }
        for general in ["metadata", "metadata.name", "status.phase", "spec.resource.flavor_id"] {
            assert!(!is_response_only(general), "{general}");
        }
    }
}

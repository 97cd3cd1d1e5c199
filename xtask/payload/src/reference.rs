//! Bodies that API references and guides print (SOURCES O, U and F1 to F5), in a directory with one
//! file per body. They must not be copied, so the repository contains only their names.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail};

/// File names of the printed bodies, each with its schema. A file is named after the page that
/// prints the body.
const BODIES: &[(&str, &str)] = &[
    ("creating_a_training_job__req_1", "CreateTrainingJobRequest"),
    ("creating_a_training_job__req_2", "CreateTrainingJobRequest"),
    ("creating_a_training_job__resp_1", "TrainingJob"),
    ("creating_a_training_job__resp_2", "ApiError"),
    ("creating_an_algorithm__req_1", "AlgorithmRequest"),
    ("creating_an_algorithm__resp_1", "Algorithm"),
    ("deleting_a_training_job__resp_1", "Empty"),
    ("deleting_an_algorithm__resp_1", "Empty"),
    (
        "early_stopping_a_trial_of_an_auto_search_job__resp_1",
        "EarlyStoppedTrial",
    ),
    ("modifying_an_algorithm__req_1", "AlgorithmRequest"),
    ("modifying_an_algorithm__resp_1", "Algorithm"),
    (
        "modifying_the_description_of_a_training_job__req_1",
        "ChangeTrainingJobDescriptionRequest",
    ),
    (
        "modifying_the_description_of_a_training_job__resp_1",
        "Empty",
    ),
    (
        "obtaining_information_about_the_yaml_template_of_an_auto_search_job__resp_1",
        "ShowAutoSearchYamlTemplatesInfoResponse",
    ),
    (
        "obtaining_supported_hyperparameter_search_algorithms__resp_1",
        "ShowSearchAlgorithmsResponse",
    ),
    (
        "obtaining_the_content_of_the_yaml_template_of_an_auto_search_job__resp_1",
        "YamlTemplateContent",
    ),
    (
        "obtaining_the_events_of_a_training_job__resp_1",
        "ListTrainingJobEventsResponse",
    ),
    ("obtaining_the_events_of_a_training_job__resp_2", "ApiError"),
    (
        "obtaining_the_general_specifications_supported_by_a_training_job__resp_1",
        "ShowTrainingJobFlavorsResponse",
    ),
    (
        "obtaining_the_hyperparameter_sensitivity_analysis_result__resp_1",
        "ResultTable",
    ),
    (
        "obtaining_the_path_for_storing_a_hyperparameter_sensitivity_analysis_image__resp_1",
        "ParameterAnalysisPath",
    ),
    (
        "obtaining_the_preset_ai_frameworks_supported_by_a_training_job__resp_1",
        "ShowTrainingJobEnginesResponse",
    ),
    (
        "querying_a_training_job_list__req_1",
        "ListTrainingJobsRequest",
    ),
    (
        "querying_a_training_job_list__resp_1",
        "ListTrainingJobsResponse",
    ),
    ("querying_algorithm_details__resp_1", "Algorithm"),
    (
        "querying_all_trials_using_hyperparameter_search__resp_1",
        "ShowAutoSearchTrialsResponse",
    ),
    (
        "querying_information_about_a_trial_using_hyperparameter_search__resp_1",
        "ResultTable",
    ),
    (
        "querying_the_algorithm_list__resp_1",
        "ListAlgorithmsResponse",
    ),
    (
        "querying_the_details_about_a_training_job__resp_1",
        "TrainingJob",
    ),
    (
        "querying_the_logs_of_a_specified_task_in_a_given_training_job_preview__resp_1",
        "LogPreview",
    ),
    (
        "querying_the_logs_of_a_specified_task_in_a_training_job_obs_link__resp_1",
        "LogUrl",
    ),
    (
        "querying_the_running_metrics_of_a_specified_task_in_a_training_job__resp_1",
        "TrainingJobMetrics",
    ),
    ("response__resp_2", "ApiError"),
    (
        "seed-001_job_events__resp_1",
        "ListTrainingJobEventsResponse",
    ),
    ("seed-001_job_events__resp_400", "ApiError"),
    ("seed-003_job_details__resp_1", "TrainingJob"),
    ("seed-004_job_details__resp_1", "TrainingJob"),
    (
        "terminating_a_training_job__req_1",
        "StopTrainingJobRequest",
    ),
    ("terminating_a_training_job__resp_1", "TrainingJob"),
    (
        "using_pytorch_to_create_a_training_job_new-version_training__req_1",
        "AlgorithmRequest",
    ),
    (
        "using_pytorch_to_create_a_training_job_new-version_training__req_2",
        "CreateTrainingJobRequest",
    ),
    (
        "using_pytorch_to_create_a_training_job_new-version_training__resp_1",
        "ShowTrainingJobFlavorsResponse",
    ),
    (
        "using_pytorch_to_create_a_training_job_new-version_training__resp_3",
        "Algorithm",
    ),
    (
        "using_pytorch_to_create_a_training_job_new-version_training__resp_4",
        "TrainingJob",
    ),
    (
        "using_pytorch_to_create_a_training_job_new-version_training__resp_5",
        "TrainingJob",
    ),
    (
        "using_pytorch_to_create_a_training_job_new-version_training__resp_6",
        "TrainingJobMetrics",
    ),
];

/// File names of bodies of the identity service, which the description does not cover.
const OF_OTHERS: [&str; 3] = [
    "authentication__req_1",
    "making_an_api_request__req_3",
    "obtaining_a_project_id_and_name__resp_1",
];

/// Returns the table if `directory` contains exactly its files, and an error otherwise. Without
/// this check, a file without an entry or a missing file would remain unnoticed.
pub fn bodies(directory: &Path) -> Result<&'static [(&'static str, &'static str)]> {
    let mut there = BTreeSet::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        there.extend(name.strip_suffix(".json").map(str::to_owned));
    }
    let known = BODIES.iter().map(|(name, _)| *name).chain(OF_OTHERS);
    let known: BTreeSet<String> = known.map(str::to_owned).collect();
    if let Some(name) = there.difference(&known).next() {
        bail!("{name}.json has no schema; add it to the table of the references");
    }
    if let Some(name) = known.difference(&there).next() {
        bail!("{name}.json is not there");
    }
    Ok(BODIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelarts_payload::schemas;

    #[test]
    fn every_schema_of_the_table_exists() {
        for (name, schema) in BODIES {
            assert!(schemas::find(schema).is_some(), "{name}: {schema}");
        }
    }

    #[test]
    fn a_directory_with_more_or_less_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let said = || bodies(directory.path()).unwrap_err().to_string();
        assert_eq!(said(), "authentication__req_1.json is not there");
        let known = BODIES.iter().map(|(name, _)| *name).chain(OF_OTHERS);
        for name in known {
            fs::write(directory.path().join(format!("{name}.json")), "{}").unwrap();
        }
        assert_eq!(bodies(directory.path()).unwrap(), BODIES);
        fs::write(directory.path().join("new.json"), "{}").unwrap();
        assert_eq!(
            said(),
            "new.json has no schema; add it to the table of the references"
        );
    }
}

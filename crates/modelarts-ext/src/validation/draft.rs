//! Request body for creating a job, with accessors for validation rules, and annotation keys.

use modelarts_api::request_path::{
    create_training_job::{
        ALGORITHM, FTJOB_CONFIG, KIND, TASKS, TRAIN_TYPE, algorithm, metadata,
        spec::{RESOURCE, resource},
    },
    job_algorithm, job_resource, parameter, task, task_algorithm,
};
use serde_json::Value;

use crate::{
    config::cloud::Cloud,
    error::violation::Actual,
    validation::json_path::{Fields, Located},
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft<'a> {
    body: &'a Value,
    pub(super) cloud: Cloud,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(body: &'a Value, cloud: Cloud) -> Self {
        Self { body, cloud }
    }

    pub(super) fn root(self) -> Located<'a> {
        Located::root(self.body)
    }

    pub(crate) fn at(self, path: &str) -> Located<'a> {
        self.root().at(path)
    }

    pub(super) fn has(self, path: &str) -> bool {
        self.at(path).is_given()
    }

    pub(super) fn annotation(self, key: &str) -> Located<'a> {
        self.at(metadata::ANNOTATIONS).entry(key)
    }

    pub(super) fn resources(self) -> Fields<'a> {
        let tasks = self.at(TASKS).items().at(task::TASK_RESOURCE);
        [self.at(RESOURCE)].into_iter().chain(tasks).collect()
    }

    pub(super) fn has_pool(self) -> bool {
        self.resources().iter().any(names_pool)
    }

    pub(super) fn programs(self) -> Fields<'a> {
        let tasks = self.at(TASKS).items().at(task::ALGORITHM);
        [self.at(ALGORITHM)].into_iter().chain(tasks).collect()
    }

    /// Returns the lists with this name in each algorithm and in the `job_config` of each.
    pub(super) fn lists(self, name: &str) -> Fields<'a> {
        let programs = self.programs().into_iter();
        let lists = programs.flat_map(|program| {
            let config = program.at(task_algorithm::JOB_CONFIG);
            [program.at(name), config.at(name)]
        });
        lists.collect()
    }

    pub(super) fn channels(self) -> Fields<'a> {
        let inputs = self.lists(job_algorithm::INPUTS).items().into_iter();
        let outputs = self.lists(job_algorithm::OUTPUTS).items();
        inputs.chain(outputs).collect()
    }

    /// Returns the value of a field for messages. Hides the value of a sensitive hyper-parameter.
    pub(super) fn actual(self, field: &Located<'a>) -> Actual {
        let mut parameters = self.lists(job_algorithm::PARAMETERS).items().into_iter();
        let is_secret = parameters.any(|parameter| {
            parameter.at(parameter::constraint::SENSITIVE).is_true()
                && parameter.at(parameter::VALUE).path() == field.path()
        });
        match is_secret && field.is_given() {
            true => Actual::Hidden,
            false => field.actual(),
        }
    }

    pub(crate) fn algorithm_id(self) -> Option<&'a str> {
        self.at(algorithm::ID).text()
    }

    /// Returns the flavor, except in a dedicated pool, whose flavors the service does not list.
    pub(crate) fn flavor_id(self) -> Option<&'a str> {
        match self.at(resource::POOL_ID).text() {
            Some(_) => None,
            None => self.at(resource::FLAVOR_ID).text(),
        }
    }

    pub(super) fn has_stored_algorithm(self) -> bool {
        self.at(ALGORITHM).has_any(&[
            job_algorithm::ID,
            job_algorithm::SUBSCRIPTION_ID,
            job_algorithm::ITEM_VERSION_ID,
        ])
    }

    /// Returns `false` for jobs that need no algorithm: visualisation, fine-tuning, or with tasks.
    pub(super) fn runs_code(self) -> bool {
        !self.at(KIND).is("visualization_job") && !self.has(TASKS) && !self.is_fine_tuning()
    }

    pub(super) fn is_fine_tuning(self) -> bool {
        self.root().has_any(&[TRAIN_TYPE, FTJOB_CONFIG])
    }

    pub(super) fn names_own_code(self) -> bool {
        self.runs_code() && !self.has_stored_algorithm() && self.has(ALGORITHM)
    }
}

pub(super) fn names_pool(resource: &Located<'_>) -> bool {
    resource.has_any(&[job_resource::POOL_ID, job_resource::POOL_GROUP_ID])
}

pub(crate) const RETRIES: &str = "fault-tolerance/job-retry-num";
pub(crate) const UNCONDITIONAL: &str = "fault-tolerance/job-unconditional-retry";
pub(crate) const HANG_RETRY: &str = "fault-tolerance/hang-retry";
pub(crate) const JUPYTER: &str = "jupyter-lab/enable";
pub(crate) const TENSORBOARD: &str = "tensorboard/enable";
pub(crate) const INSIGHT: &str = "mindstudio-insight/enable";
pub(super) const TEMPLATE: &str = "job_template";

pub(super) const SWITCHES: [&str; 5] = [UNCONDITIONAL, HANG_RETRY, JUPYTER, TENSORBOARD, INSIGHT];

pub(super) const OTHERS: [&str; 7] = [
    RETRIES,
    TEMPLATE,
    "key_task",
    "fault-tolerance/pod-retry-num",
    "fault-tolerance/hccl_op_retry",
    "performance_diagnosis_enabled",
    "record/code-dir",
];

#[cfg(test)]
mod tests {
    use modelarts_api::request_path::{
        input, job_algorithm as job, job_engine, job_resource, output, parameter,
        task_algorithm as task, task_engine, task_input, task_job_config as config, task_output,
        task_resource,
    };

    /// The rules read fields of several schemas through the constants of one schema.
    #[test]
    fn shared_fields_have_the_same_name_in_all_schemas() {
        for (name, others) in [
            (job::INPUTS, &[task::INPUTS, config::INPUTS][..]),
            (job::OUTPUTS, &[task::OUTPUTS, config::OUTPUTS]),
            (job::PARAMETERS, &[config::PARAMETERS]),
            (job::ENVIRONMENTS, &[task::ENVIRONMENTS]),
            (job::CODE_DIR, &[task::CODE_DIR]),
            (job::LOCAL_CODE_DIR, &[task::LOCAL_CODE_DIR]),
            (job::WORKING_DIR, &[task::WORKING_DIR]),
            (job::BOOT_FILE, &[task::BOOT_FILE]),
            (job::ENGINE, &[task::ENGINE]),
            (job::engine::RUN_USER, &[task::engine::RUN_USER]),
            (job_engine::ENGINE_ID, &[task_engine::ENGINE_ID]),
            (job_engine::ENGINE_NAME, &[task_engine::ENGINE_NAME]),
            (job_engine::ENGINE_VERSION, &[task_engine::ENGINE_VERSION]),
            (job_engine::IMAGE_URL, &[task_engine::IMAGE_URL]),
            (job_resource::FLAVOR_ID, &[task_resource::FLAVOR_ID]),
            (job_resource::POOL_ID, &[task_resource::POOL_ID]),
            (input::NAME, &[output::NAME, parameter::NAME, task_input::NAME, task_output::NAME]),
            (input::LOCAL_DIR, &[output::LOCAL_DIR, task_input::LOCAL_DIR, task_output::LOCAL_DIR]),
            (input::ACCESS_METHOD, &[output::ACCESS_METHOD]),
            (input::REMOTE, &[task_input::REMOTE]),
            (input::remote::DATASET, &[task_input::remote::DATASET]),
            (input::remote::dataset::OBS_URL, &[task_input::remote::dataset::OBS_URL]),
            (
                input::remote::obs::OBS_URL,
                &[
                    output::remote::obs::OBS_URL,
                    task_input::remote::obs::OBS_URL,
                    task_output::remote::obs::OBS_URL,
                ],
            ),
        ] {
            assert!(others.iter().all(|other| *other == name), "{name}: {others:?}");
        }
    }
}

//! Request body of a job creation, as read by the validation rules.

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

/// Request body, and the cloud whose rules apply to it.
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

    /// Returns the resources of the job and of its tasks.
    pub(super) fn resources(self) -> Fields<'a> {
        let tasks = self.at(TASKS).items().at(task::TASK_RESOURCE);
        [self.at(RESOURCE)].into_iter().chain(tasks).collect()
    }

    /// Returns `true` if the job or one of its tasks runs in a dedicated pool.
    pub(super) fn has_pool(self) -> bool {
        self.resources().iter().any(names_pool)
    }

    /// Returns the algorithm of the job, and those of its tasks.
    pub(super) fn programs(self) -> Fields<'a> {
        let tasks = self.at(TASKS).items().at(task::ALGORITHM);
        [self.at(ALGORITHM)].into_iter().chain(tasks).collect()
    }

    /// Returns all lists with this name. Each algorithm may contain two: its own, and that of its
    /// `job_config`.
    pub(super) fn lists(self, name: &str) -> Fields<'a> {
        let programs = self.programs().into_iter();
        let lists = programs.flat_map(|program| {
            let config = program.at(task_algorithm::JOB_CONFIG);
            [program.at(name), config.at(name)]
        });
        lists.collect()
    }

    /// Returns all inputs and outputs.
    pub(super) fn channels(self) -> Fields<'a> {
        let inputs = self.lists(job_algorithm::INPUTS).items().into_iter();
        let outputs = self.lists(job_algorithm::OUTPUTS).items();
        inputs.chain(outputs).collect()
    }

    /// Returns the value of a field for an error message. The value of a sensitive hyper-parameter
    /// is hidden.
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

    /// Returns the id of the stored algorithm.
    pub(crate) fn algorithm_id(self) -> Option<&'a str> {
        self.at(algorithm::ID).text()
    }

    /// Returns the id of the flavor of the public pool. The service does not list flavors of
    /// dedicated pools.
    pub(crate) fn flavor_id(self) -> Option<&'a str> {
        match self.at(resource::POOL_ID).text() {
            Some(_) => None,
            None => self.at(resource::FLAVOR_ID).text(),
        }
    }

    /// Returns `true` if the job uses a stored algorithm.
    pub(super) fn has_stored_algorithm(self) -> bool {
        self.at(ALGORITHM).has_any(&[
            job_algorithm::ID,
            job_algorithm::SUBSCRIPTION_ID,
            job_algorithm::ITEM_VERSION_ID,
        ])
    }

    /// Returns `true` if the job requires an algorithm. Visualisation jobs, jobs with tasks, and
    /// jobs that fine-tune a model of the platform do not require one.
    pub(super) fn runs_code(self) -> bool {
        !self.at(KIND).is("visualization_job") && !self.has(TASKS) && !self.is_fine_tuning()
    }

    /// Returns `true` if the job fine-tunes a model of the platform.
    pub(super) fn is_fine_tuning(self) -> bool {
        self.root().has_any(&[TRAIN_TYPE, FTJOB_CONFIG])
    }

    /// Returns `true` if the algorithm of the job must specify its own code.
    pub(super) fn names_own_code(self) -> bool {
        self.runs_code() && !self.has_stored_algorithm() && self.has(ALGORITHM)
    }
}

/// Returns `true` if the resources specify a dedicated pool or a federation of pools.
pub(super) fn names_pool(resource: &Located<'_>) -> bool {
    resource.has_any(&[job_resource::POOL_ID, job_resource::POOL_GROUP_ID])
}

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

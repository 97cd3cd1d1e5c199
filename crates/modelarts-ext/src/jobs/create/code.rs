//! Setters of `CreateJob` for code, image, algorithm and hyper-parameters.

use std::fmt;

use modelarts_api::{
    request_path::{
        create_training_job::{
            FTJOB_CONFIG, TASKS, TRAIN_TYPE,
            algorithm::{self, ENVIRONMENTS, PARAMETERS, engine, policies::AUTO_SEARCH},
        },
        parameter,
    },
    types,
};
use serde_json::Value;

use crate::jobs::create::{
    CreateJob,
    hyperparameter_search::HyperparameterSearch,
    json_edit::{self, object, text},
};

impl CreateJob {
    /// Uses an image of the platform, by name and version of its engine.
    pub fn preset_image(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.without_field(engine::ENGINE_ID)
            .set(engine::ENGINE_NAME, name.into())
            .set(engine::ENGINE_VERSION, version.into())
    }

    /// Uses an image of the platform, by the id of its engine.
    pub fn preset_engine(self, id: impl Into<String>) -> Self {
        self.without_field(engine::ENGINE_NAME)
            .without_field(engine::ENGINE_VERSION)
            .without_field(engine::IMAGE_URL)
            .set(engine::ENGINE_ID, id.into())
    }

    /// Uses a custom image, such as `organisation/image:tag`. With
    /// [`preset_image`](Self::preset_image) and a boot file, it replaces the image of the engine.
    pub fn custom_image(self, url: impl Into<String>) -> Self {
        self.without_field(engine::ENGINE_ID)
            .set(engine::IMAGE_URL, url.into())
    }

    /// Sets the instance of the enterprise registry that contains the image (Huawei Cloud).
    pub fn image_repository(self, id: impl Into<String>) -> Self {
        self.set(engine::IMAGE_REPO_ID, id.into())
    }

    /// Enables or disables the installation of the platform's `MoXing` in the image. Requires
    /// [`preset_image`](Self::preset_image) and [`custom_image`](Self::custom_image).
    pub fn install_sys_packages(self, install: bool) -> Self {
        self.set(engine::INSTALL_SYS_PACKAGES, install)
    }

    /// Sets the user id of a custom image: 1000 to 65535, or 0 to 65535 in a dedicated pool.
    /// Default 1000.
    ///
    /// No source documents a request field for the user id (`openapi/SOURCES.md`, O, S, F3), so the
    /// client sends it in the field that responses use.
    pub fn run_user(self, id: u32) -> Self {
        self.set(engine::RUN_USER, id.to_string())
    }

    /// Sets the command of a custom image. The user guide requires a single line
    /// (`openapi/SOURCES.md`, F3): `;` and `&&` join commands.
    pub fn command(self, command: impl Into<String>) -> Self {
        self.set(algorithm::COMMAND, command.into())
    }

    /// Uses an algorithm of the service. If code, boot file or engine are set as well, they
    /// override those of the algorithm.
    pub fn algorithm(self, id: impl Into<String>) -> Self {
        self.set(algorithm::ID, id.into())
    }

    /// Uses a subscribed algorithm.
    pub fn subscription(self, id: impl Into<String>, version: impl Into<String>) -> Self {
        self.set(algorithm::SUBSCRIPTION_ID, id.into())
            .set(algorithm::ITEM_VERSION_ID, version.into())
    }

    /// Sets the OBS directory with the code, such as `obs://bucket/bert/`.
    pub fn code_dir(self, path: impl Into<String>) -> Self {
        self.set(algorithm::CODE_DIR, path.into())
    }

    /// Sets the script to run, a file in the code directory such as `obs://bucket/bert/train.py`.
    pub fn boot_file(self, path: impl Into<String>) -> Self {
        self.set(algorithm::BOOT_FILE, path.into())
    }

    /// Sets the directory in the container, below `/home`, into which the last directory of
    /// `code_dir` is downloaded. Default `/home/ma-user/modelarts/user-job-dir`.
    pub fn local_code_dir(self, path: impl Into<String>) -> Self {
        self.set(algorithm::LOCAL_CODE_DIR, path.into())
    }

    /// Sets the working directory of the command.
    pub fn working_dir(self, path: impl Into<String>) -> Self {
        self.set(algorithm::WORKING_DIR, path.into())
    }

    /// Adds a hyper-parameter. The script receives it as `--<name>=<value>`. A later value replaces
    /// an earlier one of the same name. A name that the job does not have yet, such as a misspelt
    /// one in a copy, adds a hyper-parameter and leaves the others as they are.
    pub fn parameter(self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.set_parameter(object([
            (parameter::NAME, text(name)),
            (parameter::VALUE, text(value.to_string())),
        ]))
    }

    /// Adds a hyper-parameter with a description or a constraint. A later parameter replaces an
    /// earlier one of the same name.
    pub fn add_parameter(self, parameter: types::ParameterRequest) -> Self {
        self.set_parameter(serde_json::to_value(parameter).unwrap_or_default())
    }

    fn set_parameter(mut self, new: Value) -> Self {
        let list = json_edit::slot(&mut self.body, PARAMETERS);
        let existing = list
            .as_array_mut()
            .into_iter()
            .flatten()
            .find(|item| item.get(parameter::NAME) == new.get(parameter::NAME));
        match (existing, new) {
            // Only the fields of the new parameter are replaced. Other fields that a copied job has
            // for this parameter are kept.
            (Some(Value::Object(members)), Value::Object(new)) => members.extend(new),
            (_, new) => return self.push(PARAMETERS, new),
        }
        self
    }

    /// Removes a hyper-parameter by its name. Useful for a job that was copied or read from a
    /// document.
    pub fn without_parameter(self, name: &str) -> Self {
        self.without_item(PARAMETERS, name)
    }

    /// Sets an environment variable.
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.insert(ENVIRONMENTS, &name.into(), value.into())
    }

    /// Removes an environment variable.
    pub fn without_env(mut self, name: &str) -> Self {
        if let Some(variables) = json_edit::slot(&mut self.body, ENVIRONMENTS).as_object_mut() {
            variables.remove(name);
        }
        self
    }

    /// Sets the hyper-parameter search of the job.
    pub fn search(self, search: HyperparameterSearch) -> Self {
        self.set(AUTO_SEARCH, search.0)
    }

    /// Sets a hyper-parameter search that is configured by a YAML file in OBS and uses the
    /// framework in an OBS directory.
    pub fn search_files(self, config: impl Into<String>, framework: impl Into<String>) -> Self {
        self.set(algorithm::AUTOSEARCH_CONFIG_PATH, config.into())
            .set(algorithm::AUTOSEARCH_FRAMEWORK_PATH, framework.into())
    }

    /// Adds a task to a heterogeneous job. The tasks replace the algorithm and the resources of the
    /// job.
    pub fn task(self, task: types::TaskRequest) -> Self {
        self.push(TASKS, task)
    }

    /// Sets the fine-tuning of a model of the platform (Huawei Cloud).
    pub fn fine_tuning(
        self,
        method: types::TrainType,
        config: types::FineTuningConfigRequest,
    ) -> Self {
        self.set(TRAIN_TYPE, method.as_str())
            .set(FTJOB_CONFIG, config)
    }
}

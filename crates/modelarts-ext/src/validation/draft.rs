//! The body of a creation, in the form that the rules read.

use serde_json::Value;

use crate::{config::cloud::Cloud, error::violation::Actual, validation::json_path::Located};

/// The body, and the cloud whose rules apply to it.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    body: Located<'a>,
    pub(super) cloud: Cloud,
}

/// True for resources in a dedicated pool or in a federation of pools.
pub(super) fn names_pool(resource: &Located<'_>) -> bool {
    let fields = ["pool_id", "pool_group_id"];
    fields.iter().any(|name| resource.at(name).is_given())
}

impl<'a> Draft<'a> {
    pub(crate) fn new(body: &'a Value, cloud: Cloud) -> Self {
        Self {
            body: Located::root(body),
            cloud,
        }
    }

    pub(super) fn root(&self) -> Located<'a> {
        self.body.clone()
    }

    pub(crate) fn at(&self, path: &str) -> Located<'a> {
        self.body.at(path)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.at(path).is_given()
    }

    pub(super) fn annotation(&self, key: &str) -> Located<'a> {
        self.at("metadata.annotations").entry(key)
    }

    /// True for a job in a dedicated pool, or with a task in one.
    pub(super) fn has_pool(&self) -> bool {
        let tasks = self.at("tasks").items();
        let mut tasks = tasks.iter().map(|task| task.at("task_resource"));
        names_pool(&self.at("spec.resource")) || tasks.any(|resource| names_pool(&resource))
    }

    /// The algorithm of the job, and those of its tasks.
    pub(super) fn programs(&self) -> Vec<Located<'a>> {
        let mut programs = vec![self.at("algorithm")];
        let tasks = self.at("tasks").items();
        programs.extend(tasks.iter().map(|task| task.at("algorithm")));
        programs
    }

    /// All lists of this name: each algorithm has one, and another one in `job_config`.
    fn lists(&self, name: &str) -> Vec<Vec<Located<'a>>> {
        let mut lists = Vec::new();
        for program in self.programs() {
            lists.push(program.at(name).items());
            lists.push(program.at("job_config").at(name).items());
        }
        lists
    }

    pub(super) fn inputs(&self) -> Vec<Vec<Located<'a>>> {
        self.lists("inputs")
    }

    pub(super) fn outputs(&self) -> Vec<Vec<Located<'a>>> {
        self.lists("outputs")
    }

    pub(super) fn parameters(&self) -> Vec<Vec<Located<'a>>> {
        self.lists("parameters")
    }

    /// The value of a field, for a message. The value of a hyper-parameter that is marked as
    /// sensitive is hidden.
    pub(super) fn actual(&self, field: &Located<'a>) -> Actual {
        let secret = self.parameters().iter().flatten().any(|parameter| {
            parameter.at("constraint.sensitive").is_true()
                && parameter.at("value").path() == field.path()
        });
        match secret && field.is_given() {
            true => Actual::Hidden,
            false => field.actual(),
        }
    }

    /// All inputs and outputs.
    pub(super) fn channels(&self) -> Vec<Located<'a>> {
        let lists = self.inputs().into_iter().chain(self.outputs());
        lists.flatten().collect()
    }

    /// True for a job with a stored algorithm.
    pub(super) fn has_stored_algorithm(&self) -> bool {
        ["id", "subscription_id", "item_version_id"]
            .iter()
            .any(|name| self.at("algorithm").at(name).is_given())
    }

    /// True for a job that must have an algorithm. Exempt are visualisation jobs, jobs with tasks
    /// and jobs that tune a model of the platform.
    pub(super) fn runs_code(&self) -> bool {
        !self.at("kind").is("visualization_job") && !self.has("tasks") && !self.is_fine_tuning()
    }

    /// True for a job that tunes a model of the platform.
    pub(super) fn is_fine_tuning(&self) -> bool {
        self.has("train_type") || self.has("ftjob_config")
    }

    /// True for a job whose algorithm must name its own code.
    pub(super) fn names_own_code(&self) -> bool {
        self.runs_code() && !self.has_stored_algorithm() && self.has("algorithm")
    }
}

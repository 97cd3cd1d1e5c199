//! Token of a submission: an environment variable of the job, which shows whose job it is.

use modelarts_api::request_path::{
    create_training_job::{ALGORITHM, FTJOB_CONFIG, TASKS, TRAIN_TYPE},
    job_algorithm::{
        AUTOSEARCH_CONFIG_PATH, AUTOSEARCH_FRAMEWORK_PATH, ENVIRONMENTS, ID, ITEM_VERSION_ID,
        SUBSCRIPTION_ID, policies,
    },
    task,
};
use serde_json::Value;

use crate::{
    config::cloud::Cloud,
    error::violation::{Actual, Violation},
    jobs::{
        create::{
            CreateJob,
            json_edit::{get, insert, remove},
        },
        submission_token::SUBMISSION_TOKEN,
    },
    validation::json_path::has_content,
};

const MAX_LENGTH: usize = 128;
/// Maximum number of environment variables of a job.
const MAX_VARIABLES: usize = 100;

const SEARCH: [&str; 3] =
    [policies::AUTO_SEARCH, AUTOSEARCH_CONFIG_PATH, AUTOSEARCH_FRAMEWORK_PATH];
const STORED: [&str; 3] = [ID, SUBSCRIPTION_ID, ITEM_VERSION_ID];

/// Token that a job gets when it is submitted.
#[derive(Clone, Default)]
pub(super) enum Token {
    /// A new random token for each submission, where a job can carry one.
    #[default]
    Random,
    /// Token of the caller.
    Given(String),
    Off,
}

impl CreateJob {
    /// Sets the token of the submission: 1 to 128 visible ASCII characters without `$`. The same
    /// token with the same name and workspace returns the same job, from any process and machine.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "nightly")?;
    /// // `job` is a prepared `CreateJob`.
    /// let first = job.clone().token("ci-4711").submit().await?;
    /// let again = job.clone().token("ci-4711").submit().await?;
    /// assert_eq!(first.id(), again.id());
    ///
    /// let error = job.token("ci-4712").submit().await.unwrap_err();
    /// assert!(error.is_conflict() && !error.is_uncertain());
    /// # Ok(()) }) }
    /// ```
    ///
    /// By default, each submission has a random token. The settings of the jobs are not compared;
    /// see [`submit_or_adopt`](Self::submit_or_adopt). The token is the environment variable
    /// [`SUBMISSION_TOKEN`](crate::jobs::create::SUBMISSION_TOKEN) of the job. A job that cannot carry the variable is a violation of
    /// [`check`](Self::check): one with 100 variables, a hyper-parameter search, fine-tuning, a
    /// stored or subscribed algorithm without own variables, and tasks on Open Telekom Cloud.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Token::Given(token.into());
        self
    }

    /// Sends no token. If the response to the submission is lost, an existing job with the name and
    /// the settings of this job is not returned, because it may be that of another request.
    pub fn without_token(mut self) -> Self {
        self.token = Token::Off;
        self
    }

    /// Returns the token of a new submission of `body`; `None` if the job is sent without a token.
    pub(super) fn new_token(&self, body: &Value) -> Result<Option<String>, Violation> {
        let refusal = refusal(body, self.cloud);
        let (token, rule, advice) = match (&self.token, refusal) {
            (Token::Off, _) | (Token::Random, Some(_)) => return Ok(None),
            (Token::Random, None) => return Ok(Some(format!("{:032x}", fastrand::u128(..)))),
            (Token::Given(token), _) if !is_allowed(token) => {
                (token, "must be 1 to 128 visible ASCII characters without $", "choose another")
            }
            (Token::Given(token), Some(rule)) => (token, rule, "leave the token out"),
            (Token::Given(token), None) => return Ok(Some(token.clone())),
        };
        Err(Violation::new("token", Actual::Value(token.as_str().into()), rule, None, advice))
    }
}

fn is_allowed(token: &str) -> bool {
    (1..=MAX_LENGTH).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'$')
}

/// Returns the rule because of which a job cannot carry a token.
fn refusal(body: &Value, cloud: Cloud) -> Option<&'static str> {
    let tasks = get(body, TASKS).and_then(Value::as_array).filter(|tasks| !tasks.is_empty());
    let programs: Vec<Option<&Value>> = match tasks {
        Some(tasks) => tasks.iter().map(|task| task.get(task::ALGORITHM)).collect(),
        None => vec![get(body, ALGORITHM)],
    };
    let has = |value: &Value, paths: &[&str]| {
        paths.iter().any(|path| get(value, path).is_some_and(has_content))
    };
    let is_full = |program: &Value| match program.get(ENVIRONMENTS) {
        None | Some(Value::Null) => has(program, &STORED),
        Some(Value::Object(variables)) => variables.len() >= MAX_VARIABLES,
        Some(_) => true,
    };
    let is_any = |refuses: &dyn Fn(&Value) -> bool| programs.iter().flatten().copied().any(refuses);
    if has(body, &[TRAIN_TYPE, FTJOB_CONFIG]) || programs.iter().any(Option::is_none) {
        Some("must not be set for fine-tuning, or without an algorithm")
    } else if is_any(&|program| has(program, &SEARCH)) {
        Some("must not be set for a search of hyper-parameters")
    } else if tasks.is_some() && cloud == Cloud::Otc {
        Some("must not be set for tasks on Open Telekom Cloud")
    } else if is_any(&is_full) {
        Some("must not be set with 100 environment variables, or a stored algorithm and none")
    } else {
        None
    }
}

/// Adds a token to a request body.
pub(super) fn add(body: &mut Value, token: &str) {
    let has_tasks = get(body, TASKS).is_some_and(has_content);
    for (is_task, program) in programs(body) {
        if is_task == has_tasks {
            insert(program, ENVIRONMENTS, SUBMISSION_TOKEN, token.to_owned());
        }
    }
}

/// Removes the token of another submission from a request body.
pub(super) fn remove_from_body(body: &mut Value) {
    for (_, program) in programs(body) {
        if let Some(Value::Object(variables)) = program.get_mut(ENVIRONMENTS)
            && variables.remove(SUBMISSION_TOKEN).is_some()
            && variables.is_empty()
        {
            remove(program, ENVIRONMENTS);
        }
    }
}

/// Returns the algorithms of a request body, and `true` for those of tasks.
fn programs(body: &mut Value) -> Vec<(bool, &mut Value)> {
    let mut programs = Vec::new();
    for (name, member) in body.as_object_mut().into_iter().flatten() {
        if name == ALGORITHM {
            programs.push((false, member));
        } else if name == TASKS {
            let tasks = member.as_array_mut().into_iter().flatten();
            programs.extend(tasks.filter_map(|task| Some((true, task.get_mut(task::ALGORITHM)?))));
        }
    }
    programs
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::jobs::submission_token::take;

    #[test]
    fn a_token_is_sent_only_where_variables_are_documented() {
        let variables = |count: usize| {
            let names = (0..count).map(|index| (format!("V{index}"), json!("1")));
            Value::Object(names.collect::<Map<_, _>>())
        };
        let task = |algorithm: &Value| json!({"tasks": [{"algorithm": algorithm}]});
        let own = json!({"environments": {"A": "1"}});
        for (body, is_sent, on_otc) in [
            (json!({"algorithm": {"command": "run"}}), true, true),
            (json!({"algorithm": {"environments": variables(99)}}), true, true),
            (json!({"algorithm": {"environments": variables(100)}}), false, false),
            (json!({"algorithm": {"environments": "A=1"}}), false, false),
            (json!({"algorithm": {"id": "a"}}), false, false),
            (json!({"algorithm": {"subscription_id": "a"}}), false, false),
            (json!({"algorithm": {"id": "a", "environments": {"A": "1"}}}), true, true),
            (json!({"algorithm": {"policies": {"auto_search": {"a": 1}}}}), false, false),
            (json!({"algorithm": {"autosearch_config_path": "p"}}), false, false),
            (json!({"algorithm": own, "train_type": "LORA"}), false, false),
            (json!({"metadata": {"name": "n"}}), false, false),
            (task(&own), true, false),
            (task(&json!({"environments": variables(100)})), false, false),
            (json!({"tasks": [{"algorithm": own}, {"role": "ps"}]}), false, false),
        ] {
            for (cloud, is_sent) in [(Cloud::Huawei, is_sent), (Cloud::Otc, on_otc)] {
                assert_eq!(refusal(&body, cloud).is_none(), is_sent, "{cloud:?} {body}");
            }
        }
    }

    #[test]
    fn a_token_is_in_each_program_that_runs_and_is_removed_from_all() {
        let job = json!({"algorithm": {"command": "run", "environments": {"A": "1"}}});
        let tasks = json!({"algorithm": {}, "tasks": [{"algorithm": {}}, {"algorithm": {}}]});
        for (body, paths) in
            [(job, vec!["/algorithm"]), (tasks, vec!["/tasks/0/algorithm", "/tasks/1/algorithm"])]
        {
            let mut sent = body.clone();
            add(&mut sent, "t");
            for path in ["/algorithm", "/tasks/0/algorithm", "/tasks/1/algorithm"] {
                let token = sent.pointer(path).map(|it| &it[ENVIRONMENTS][SUBMISSION_TOKEN]);
                let expected = paths.contains(&path).then(|| json!("t"));
                assert_eq!(token.filter(|token| !token.is_null()), expected.as_ref(), "{path}");
            }
            let mut details = serde_json::from_value(sent.clone()).unwrap();
            assert_eq!(take(&mut details).as_deref(), Some("t"));
            assert_eq!(take(&mut details), None);
            remove_from_body(&mut sent);
            assert_eq!(sent, body);
        }
    }

    #[test]
    fn a_token_of_the_caller_is_visible_text() {
        for (token, expected) in [
            ("ci-4711", true),
            ("a:b/c=d", true),
            (&*"x".repeat(128), true),
            (&*"x".repeat(129), false),
            ("", false),
            ("a b", false),
            ("${HOME}", false),
            ("a\n", false),
            ("é", false),
        ] {
            assert_eq!(is_allowed(token), expected, "{token:?}");
        }
    }
}

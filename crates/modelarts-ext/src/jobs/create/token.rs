//! Token of a submission: an environment variable of the job, which shows whose job it is.

use std::{
    hash::{BuildHasher, RandomState},
    process,
};

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
    error::{
        Error,
        violation::{Actual, Violation},
    },
    jobs::{
        create::json_edit::{get, insert, remove},
        submission_token::SUBMISSION_TOKEN,
    },
    validation::json_path::has_content,
};

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

impl Token {
    /// Returns the token of a new submission of `body`; `None` if the job is sent without a token.
    pub(super) fn new_token(&self, body: &Value, cloud: Cloud) -> Result<Option<String>, Error> {
        let is_possible = can_carry(body, cloud);
        let (token, rule, advice) = match self {
            Self::Random if is_possible => {
                // The keys are from the system: a program may give its other generators a seed. The
                // process id makes the tokens of forked processes differ.
                let random = || RandomState::new().hash_one(process::id());
                return Ok(Some(format!("{:016x}{:016x}", random(), random())));
            }
            Self::Random | Self::Off => return Ok(None),
            Self::Given(token) if !is_possible => {
                (token, "must not be set, because the job cannot carry it", "leave it out")
            }
            Self::Given(token) if !is_allowed(token) => {
                (token, "must be 1 to 128 visible ASCII characters without $", "choose another")
            }
            Self::Given(token) => return Ok(Some(token.clone())),
        };
        let token = Actual::Value(token.as_str().into());
        let violation = Violation::new("token", token, rule, None, advice);
        Err(Error::broken_rules("the job", vec![violation]))
    }
}

fn is_allowed(token: &str) -> bool {
    (1..=128).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'$')
}

/// Returns `true` if environment variables are documented for all programs of a job, and each can
/// have one more.
fn can_carry(body: &Value, cloud: Cloud) -> bool {
    let has = |value: &Value, path: &str| get(value, path).is_some_and(has_content);
    let can_carry = |program: Option<&Value>| {
        program.is_some_and(|program| {
            let is_free = match program.get(ENVIRONMENTS) {
                None | Some(Value::Null) => !STORED.iter().any(|path| has(program, path)),
                Some(variables) => variables.as_object().is_some_and(|it| it.len() < MAX_VARIABLES),
            };
            is_free && !SEARCH.iter().any(|path| has(program, path))
        })
    };
    let is_documented = match get(body, TASKS).and_then(Value::as_array) {
        Some(tasks) if !tasks.is_empty() => {
            cloud != Cloud::Otc && tasks.iter().all(|task| can_carry(task.get(task::ALGORITHM)))
        }
        _ => can_carry(get(body, ALGORITHM)),
    };
    is_documented && !has(body, TRAIN_TYPE) && !has(body, FTJOB_CONFIG)
}

/// Removes a token from a request body, and adds one to the programs that run, if it is given.
pub(super) fn replace(body: &mut Value, token: Option<&str>) {
    let has_tasks = get(body, TASKS).is_some_and(has_content);
    for (name, member) in body.as_object_mut().into_iter().flatten() {
        let programs: Vec<&mut Value> = match (name.as_str(), &mut *member) {
            (ALGORITHM, program) => vec![program],
            (TASKS, Value::Array(tasks)) => {
                tasks.iter_mut().filter_map(|task| task.get_mut(task::ALGORITHM)).collect()
            }
            _ => continue,
        };
        for program in programs {
            if let Some(token) = token.filter(|_| has_tasks == (name == TASKS)) {
                insert(program, ENVIRONMENTS, SUBMISSION_TOKEN, token.to_owned());
            } else if let Some(Value::Object(variables)) = program.get_mut(ENVIRONMENTS)
                && variables.remove(SUBMISSION_TOKEN).is_some()
                && variables.is_empty()
            {
                remove(program, ENVIRONMENTS);
            }
        }
    }
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
                assert_eq!(can_carry(&body, cloud), is_sent, "{cloud:?} {body}");
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
            replace(&mut sent, Some("t"));
            for path in ["/algorithm", "/tasks/0/algorithm", "/tasks/1/algorithm"] {
                let token = sent.pointer(path).map(|it| &it[ENVIRONMENTS][SUBMISSION_TOKEN]);
                let expected = paths.contains(&path).then(|| json!("t"));
                assert_eq!(token.filter(|token| !token.is_null()), expected.as_ref(), "{path}");
            }
            let mut details = serde_json::from_value(sent.clone()).unwrap();
            assert_eq!(take(&mut details).as_deref(), Some("t"));
            assert_eq!(take(&mut details), None);
            replace(&mut sent, None);
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

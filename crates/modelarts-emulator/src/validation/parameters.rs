//! Validation rules for environment variables, hyper-parameters and hyper-parameter searches.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::{
        creation::{Creation, list_of, text_of, value_at},
        names::is_variable,
        rule::{Rule, advice, broken, broken_if, must, refusal, refused_if},
    },
};

const PARAMETERS: &str = "/algorithm/parameters";
const SEARCH: &str = "/algorithm/policies/auto_search";
const REWARDS: &str = "/algorithm/policies/auto_search/reward_attrs";
const SEARCH_PARAMETERS: &str = "/algorithm/policies/auto_search/search_params";
const SEARCH_ALGORITHMS: &str = "/algorithm/policies/auto_search/algo_configs";

const TYPES: [&str; 4] = ["String", "Integer", "Float", "Boolean"];
/// Search algorithms, in the order of the example (SOURCES X).
const ALGORITHMS: [&str; 3] = ["bayes_opt_search", "tpe_search", "anneal_search"];
const ENGINES: [&str; 2] = ["pytorch_1.8.0", "tensorflow_2.1.0"];

pub(super) const RULES: &[Rule] = &[
    must("variable-names", |job| {
        broken_if(
            variables(job).any(|(name, _)| !is_variable(name)),
            "algorithm.environments must have names of letters, digits and underscores that do not \
             start with a digit",
        )
    }),
    must("variable-references", |job| {
        let (name, _) = variables(job).find(|(_, value)| value.contains('$'))?;
        broken(format_args!("algorithm.environments.{name} must not refer to variables by $"))
    }),
    refusal("parameter-names-different", |job| {
        let mut earlier = BTreeSet::new();
        let mut parameters = job.list(PARAMETERS).iter();
        refused_if(parameters.any(|one| !earlier.insert(name(one))), 2767)
    }),
    refusal("parameter-types", |job| {
        let mut parameters = job.list(PARAMETERS).iter();
        let unknown = parameters.find(|one| !TYPES.contains(&kind(one)))?;
        Some(ApiError::of(2825, &[name(unknown)]))
    }),
    refusal("parameter-ranges", |job| {
        refused_if(!job.list(PARAMETERS).iter().all(has_sound_range), 2770)
    }),
    // Stored algorithms are exempt, because the jobs that use them set the value.
    refusal("parameter-required", |job| {
        let lacks = |one: &Value| {
            value_at(one, "/constraint/required") == Some(&true.into()) && value(one).is_empty()
        };
        refused_if(!job.is_algorithm && job.list(PARAMETERS).iter().any(lacks), 2766)
    }),
    refusal("parameter-typed", |job| {
        refused_if(!job.list(PARAMETERS).iter().all(has_its_type), 2768)
    }),
    refusal("parameter-chosen", |job| {
        let other = |one: &Value| {
            let value = value(one);
            valid_type(one) == Some("Choice") && !value.is_empty() && !range(one).contains(&value)
        };
        refused_if(job.list(PARAMETERS).iter().any(other), 2765)
    }),
    refusal("parameter-in-range", |job| {
        refused_if(job.list(PARAMETERS).iter().any(is_out_of_range), 2769)
    }),
    // Rules for the hyper-parameter search:
    advice("search-rewards", |job| {
        let searches = !job.at(SEARCH)?.as_object()?.is_empty();
        broken_if(
            searches && job.list(REWARDS).is_empty(),
            "algorithm.policies.auto_search.reward_attrs is required",
        )
    }),
    advice("search-algorithms", |job| {
        let mut names = job.list(SEARCH_ALGORITHMS).iter().map(name);
        let unknown = names.find(|name| !ALGORITHMS.contains(name))?;
        broken(format_args!(
            "algorithm.policies.auto_search.algo_configs: {unknown} must be one of [{}]",
            ALGORITHMS.join(" ")
        ))
    }),
    refusal("search-rewards-different", |job| {
        let mut earlier = BTreeSet::new();
        let mut rewards = job.list(REWARDS).iter();
        refused_if(rewards.any(|one| !earlier.insert(name(one))), 2824)
    }),
    advice("search-engine", |job| {
        let version = job.engine()?.version;
        let able = ENGINES.iter().any(|able| version.starts_with(able));
        broken_if(
            !able && !job.list(SEARCH_PARAMETERS).is_empty(),
            "algorithm.policies.auto_search must run on pytorch_1.8.0 or tensorflow_2.1.0",
        )
    }),
    refusal("search-bounds", |job| {
        let bounded = |one: &Value| {
            let low = text_of(one, "/lower_bound").and_then(number);
            let high = text_of(one, "/upper_bound").and_then(number);
            low.zip(high).is_some_and(|(low, high)| low <= high)
                || !list_of(one, "/discrete_values").is_empty()
        };
        refused_if(!job.list(SEARCH_PARAMETERS).iter().all(bounded), 2826)
    }),
    must("search-floats", |job| {
        let other = |searched: &Value| {
            let mut parameters = job.list(PARAMETERS).iter();
            let declared = parameters.find(|one| name(one) == name(searched));
            declared.is_some_and(|one| {
                one.pointer("/constraint/type").is_some() && kind(one) != "Float"
            })
        };
        refused_if(job.list(SEARCH_PARAMETERS).iter().any(other), 2826)
    }),
];

fn variables<'a>(job: &Creation<'a>) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let variables = job.at("/algorithm/environments").and_then(Value::as_object);
    let variables = variables.into_iter().flatten();
    variables.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

fn name(parameter: &Value) -> &str {
    text_of(parameter, "/name").unwrap_or_default()
}

/// Returns the value of a parameter, which is a string for all types; empty if absent.
fn value(parameter: &Value) -> &str {
    text_of(parameter, "/value").unwrap_or_default()
}

fn kind(parameter: &Value) -> &str {
    text_of(parameter, "/constraint/type").unwrap_or("String")
}

fn valid_type(parameter: &Value) -> Option<&str> {
    text_of(parameter, "/constraint/valid_type")
}

fn range(parameter: &Value) -> Vec<&str> {
    let range = list_of(parameter, "/constraint/valid_range").iter();
    range.filter_map(Value::as_str).collect()
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

fn has_sound_range(parameter: &Value) -> bool {
    match (valid_type(parameter), range(parameter).as_slice()) {
        (Some("Choice"), range) => !range.is_empty(),
        (Some("Range"), [low, high]) => {
            let bounds = number(low).zip(number(high));
            bounds.is_some_and(|(low, high)| low <= high)
        }
        (Some("Range"), _) => false,
        _ => true,
    }
}

fn has_its_type(parameter: &Value) -> bool {
    let value = value(parameter);
    value.is_empty()
        || match kind(parameter) {
            "Integer" => value.trim().parse::<i64>().is_ok(),
            "Float" => number(value).is_some(),
            "Boolean" => ["true", "false"].iter().any(|text| value.eq_ignore_ascii_case(text)),
            _ => true,
        }
}

fn is_out_of_range(parameter: &Value) -> bool {
    let bounds: Vec<f64> = range(parameter).into_iter().filter_map(number).collect();
    match (number(value(parameter)), bounds.as_slice()) {
        (Some(value), [low, high]) => {
            valid_type(parameter) == Some("Range") && !(*low..=*high).contains(&value)
        }
        _ => false,
    }
}

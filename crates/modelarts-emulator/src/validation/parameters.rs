//! Rules on hyper-parameters and their search, and on jobs from stored algorithms.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    api::error::ApiError,
    validation::creation::{Creation, text_of},
};

const PARAMETERS: &str = "/algorithm/parameters";
const SEARCH: &str = "/algorithm/policies/auto_search";

fn name(parameter: &Value) -> &str {
    text_of(parameter, "/name").unwrap_or_default()
}

/// The value of a parameter, which is a text for all types; empty if absent.
fn value(parameter: &Value) -> &str {
    text_of(parameter, "/value").unwrap_or_default()
}

fn kind(parameter: &Value) -> &str {
    text_of(parameter, "/constraint/type").unwrap_or("String")
}

fn range(parameter: &Value) -> Vec<&str> {
    let range = parameter.pointer("/constraint/valid_range");
    let range = range
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    range.iter().filter_map(Value::as_str).collect()
}

fn number(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

pub(super) fn parameter_names_different(creation: &Creation<'_>) -> Result<(), ApiError> {
    let mut earlier = BTreeSet::new();
    for parameter in creation.list(PARAMETERS) {
        if !earlier.insert(name(parameter)) {
            return Err(ApiError::of(2767, &[]));
        }
    }
    Ok(())
}

pub(super) fn parameter_types(creation: &Creation<'_>) -> Result<(), ApiError> {
    for parameter in creation.list(PARAMETERS) {
        if !["String", "Integer", "Float", "Boolean"].contains(&kind(parameter)) {
            return Err(ApiError::of(2825, &[name(parameter)]));
        }
    }
    Ok(())
}

pub(super) fn parameter_ranges(creation: &Creation<'_>) -> Result<(), ApiError> {
    for parameter in creation.list(PARAMETERS) {
        let range = range(parameter);
        let sound = match text_of(parameter, "/constraint/valid_type") {
            Some("Choice") => !range.is_empty(),
            Some("Range") => match range.as_slice() {
                [low, high] => number(low).zip(number(high)).is_some_and(|(l, h)| l <= h),
                _ => false,
            },
            _ => true,
        };
        if !sound {
            return Err(ApiError::of(2770, &[]));
        }
    }
    Ok(())
}

/// A required parameter has a value. Does not apply to an algorithm that is being stored: its jobs
/// set the value.
pub(super) fn parameter_required(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.is_algorithm {
        return Ok(());
    }
    for parameter in creation.list(PARAMETERS) {
        let required = parameter.pointer("/constraint/required") == Some(&true.into());
        if required && value(parameter).is_empty() {
            return Err(ApiError::of(2766, &[]));
        }
    }
    Ok(())
}

pub(super) fn parameter_typed(creation: &Creation<'_>) -> Result<(), ApiError> {
    for parameter in creation.list(PARAMETERS) {
        let value = value(parameter);
        let fits = value.is_empty()
            || match kind(parameter) {
                "Integer" => value.trim().parse::<i64>().is_ok(),
                "Float" => number(value).is_some(),
                "Boolean" => {
                    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
                }
                _ => true,
            };
        if !fits {
            return Err(ApiError::of(2768, &[]));
        }
    }
    Ok(())
}

pub(super) fn parameter_chosen(creation: &Creation<'_>) -> Result<(), ApiError> {
    for parameter in creation.list(PARAMETERS) {
        let value = value(parameter);
        if text_of(parameter, "/constraint/valid_type") == Some("Choice")
            && !value.is_empty()
            && !range(parameter).contains(&value)
        {
            return Err(ApiError::of(2765, &[]));
        }
    }
    Ok(())
}

pub(super) fn parameter_in_range(creation: &Creation<'_>) -> Result<(), ApiError> {
    for parameter in creation.list(PARAMETERS) {
        if text_of(parameter, "/constraint/valid_type") != Some("Range") {
            continue;
        }
        let bounds: Vec<f64> = range(parameter).into_iter().filter_map(number).collect();
        if let (Some(value), [low, high]) = (number(value(parameter)), bounds.as_slice())
            && !(*low..=*high).contains(&value)
        {
            return Err(ApiError::of(2769, &[]));
        }
    }
    Ok(())
}

// ---- hyper-parameter search ----

/// The search algorithms, in the order of the example (SOURCES X).
pub(super) const SEARCHES: [&str; 3] = ["bayes_opt_search", "tpe_search", "anneal_search"];

pub(super) fn search_rewards(creation: &Creation<'_>) -> Result<(), ApiError> {
    let requested = creation.at(SEARCH).and_then(Value::as_object);
    let requested = requested.is_some_and(|search| !search.is_empty());
    if requested && creation.list(&format!("{SEARCH}/reward_attrs")).is_empty() {
        return Err(ApiError::invalid_parameter(
            "algorithm.policies.auto_search.reward_attrs is required",
        ));
    }
    Ok(())
}

pub(super) fn search_algorithms(creation: &Creation<'_>) -> Result<(), ApiError> {
    for algorithm in creation.list(&format!("{SEARCH}/algo_configs")) {
        let name = text_of(algorithm, "/name").unwrap_or_default();
        if !SEARCHES.contains(&name) {
            return Err(ApiError::invalid_parameter(format!(
                "algorithm.policies.auto_search.algo_configs: {name} must be one of [{}]",
                SEARCHES.join(" ")
            )));
        }
    }
    Ok(())
}

pub(super) fn search_rewards_different(creation: &Creation<'_>) -> Result<(), ApiError> {
    let mut earlier = BTreeSet::new();
    for reward in creation.list(&format!("{SEARCH}/reward_attrs")) {
        if !earlier.insert(text_of(reward, "/name")) {
            return Err(ApiError::of(2824, &[]));
        }
    }
    Ok(())
}

pub(super) fn search_engine(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.list(&format!("{SEARCH}/search_params")).is_empty() {
        return Ok(());
    }
    let able = creation.engine().is_none_or(|engine| {
        ["pytorch_1.8.0", "tensorflow_2.1.0"]
            .iter()
            .any(|able| engine.version.starts_with(able))
    });
    if able {
        Ok(())
    } else {
        Err(ApiError::invalid_parameter(
            "algorithm.policies.auto_search must run on pytorch_1.8.0 or tensorflow_2.1.0",
        ))
    }
}

fn search_parameters<'a>(creation: &Creation<'a>) -> &'a [Value] {
    creation.list(&format!("{SEARCH}/search_params"))
}

pub(super) fn search_bounds(creation: &Creation<'_>) -> Result<(), ApiError> {
    for search_parameters in search_parameters(creation) {
        let discrete = search_parameters
            .pointer("/discrete_values")
            .and_then(Value::as_array)
            .is_some_and(|values| !values.is_empty());
        let bound = |which: &str| text_of(search_parameters, which).and_then(number);
        let bounded = matches!(
            (bound("/lower_bound"), bound("/upper_bound")),
            (Some(low), Some(high)) if low <= high
        );
        if !(bounded || discrete) {
            return Err(ApiError::of(2826, &[]));
        }
    }
    Ok(())
}

pub(super) fn search_floats(creation: &Creation<'_>) -> Result<(), ApiError> {
    for search_parameters in search_parameters(creation) {
        let name = text_of(search_parameters, "/name").unwrap_or_default();
        let declared = creation
            .list(PARAMETERS)
            .iter()
            .find(|parameter| self::name(parameter) == name);
        if declared.is_some_and(|parameter| {
            parameter.pointer("/constraint/type").is_some() && kind(parameter) != "Float"
        }) {
            return Err(ApiError::of(2826, &[]));
        }
    }
    Ok(())
}

// ---- jobs from stored algorithms ----

fn config<'a>(stored: &'a Value, list: &str) -> &'a [Value] {
    stored
        .pointer(&format!("/job_config/{list}"))
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Inputs have a kind of data that the algorithm accepts; no kinds accept any.
pub(super) fn data_fits_algorithm(creation: &Creation<'_>) -> Result<(), ApiError> {
    let Some(stored) = creation.stored else {
        return Ok(());
    };
    for input in creation.list("/algorithm/inputs") {
        let known = config(stored, "inputs").iter();
        let known = known.filter(|known| name(known) == name(input));
        let kinds: Vec<&str> = known
            .filter_map(|known| known.get("remote_constraints")?.as_array())
            .flatten()
            .filter_map(|constraint| text_of(constraint, "/data_type"))
            .collect();
        let remote = |kind: &str| {
            let remote = input.pointer(&format!("/remote/{kind}"));
            remote.is_some_and(|value| !value.is_null())
        };
        let kind = match remote("dataset") {
            true => "modelarts_dataset",
            false => "obs",
        };
        if !kinds.is_empty() && !kinds.contains(&kind) {
            return Err(ApiError::of(2834, &[kind]));
        }
    }
    Ok(())
}

/// Parameters, inputs and outputs of a job match its algorithm: further parameters need
/// `parameters_customization`, and parameters that are not editable keep their value.
pub(super) fn job_fits_algorithm(creation: &Creation<'_>) -> Result<(), ApiError> {
    let Some(stored) = creation.stored else {
        return Ok(());
    };
    let config = |list: &str| config(stored, list);
    let mismatch = |what: &str| Err(ApiError::of(2814, &[what]));
    let open = stored.pointer("/job_config/parameters_customization") == Some(&true.into());
    for parameter in creation.list(PARAMETERS) {
        let known = config("parameters")
            .iter()
            .find(|known| name(known) == name(parameter));
        match known {
            None if !open => return mismatch(name(parameter)),
            Some(known) => {
                let fixed = known.pointer("/constraint/editable") == Some(&false.into());
                if fixed && value(known) != value(parameter) {
                    return mismatch(name(parameter));
                }
            }
            None => {}
        }
    }
    for list in ["inputs", "outputs"] {
        let given = creation.list(&format!("/algorithm/{list}"));
        for channel in given {
            if !config(list)
                .iter()
                .any(|known| name(known) == name(channel))
            {
                return mismatch(name(channel));
            }
        }
        for known in config(list) {
            if !given.iter().any(|channel| name(channel) == name(known)) {
                return mismatch(name(known));
            }
        }
    }
    Ok(())
}

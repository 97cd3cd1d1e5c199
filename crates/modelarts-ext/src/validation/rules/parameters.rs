//! Rules on hyper-parameters and on hyper-parameter search.

use modelarts_api::{
    request_path::{
        create_training_job::algorithm::{
            self,
            policies::{AUTO_SEARCH, auto_search},
        },
        job_algorithm, job_engine, parameter, reward_attribute, search_algorithm, search_parameter,
    },
    types::{ParameterConstraint, ParameterType, ParameterValidType},
};
use serde::Deserialize;

use crate::{
    config::cloud::Cloud,
    validation::{
        draft::Draft,
        json_path::{Fields, Located},
        obs_path::is_name,
    },
};

fn parameters(job: Draft<'_>) -> Fields<'_> {
    job.lists(job_algorithm::PARAMETERS).items()
}

pub(super) fn names(job: Draft<'_>) -> Fields<'_> {
    let names = parameters(job).at(parameter::NAME);
    names.filter(|name| !name.text().is_some_and(is_name))
}

pub(super) fn repeated_names(job: Draft<'_>) -> Fields<'_> {
    let lists = job.lists(job_algorithm::PARAMETERS).into_iter();
    lists.flat_map(|list| list.items().at(parameter::NAME).repeated()).collect()
}

fn constraint(parameter: &Located<'_>) -> ParameterConstraint {
    let value = parameter.at(parameter::CONSTRAINT).value();
    let constraint = value.and_then(|value| ParameterConstraint::deserialize(value).ok());
    constraint.unwrap_or_default()
}

fn bounds(constraint: &ParameterConstraint) -> Option<(f64, f64)> {
    let [low, high] = choices(constraint)[..] else {
        return None;
    };
    let bounds = number(low).zip(number(high));
    bounds.filter(|(low, high)| low <= high)
}

pub(crate) fn choices(constraint: &ParameterConstraint) -> Vec<&str> {
    let choices = constraint.valid_range.iter().map(String::as_str);
    choices.filter(|choice| !choice.is_empty()).collect()
}

pub(crate) fn admits_type(constraint: &ParameterConstraint, value: &str) -> bool {
    match constraint.type_ {
        Some(ParameterType::Integer) => value.trim().parse::<i64>().is_ok(),
        Some(ParameterType::Float) => number(value).is_some(),
        Some(ParameterType::Boolean) => {
            ["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word))
        }
        _ => true,
    }
}

pub(crate) fn admits_choice(constraint: &ParameterConstraint, value: &str) -> bool {
    let choices = choices(constraint);
    let is_choice = matches!(constraint.valid_type, Some(ParameterValidType::Choice));
    !is_choice || choices.is_empty() || choices.contains(&value)
}

pub(crate) fn admits_number(constraint: &ParameterConstraint, value: &str) -> bool {
    let is_range = matches!(constraint.valid_type, Some(ParameterValidType::Range));
    match (bounds(constraint), number(value)) {
        (Some((low, high)), Some(number)) if is_range => (low..=high).contains(&number),
        _ => true,
    }
}

fn number(text: &str) -> Option<f64> {
    let number = text.trim().parse().ok();
    number.filter(|number: &f64| number.is_finite())
}

pub(super) fn values<'a>(
    job: Draft<'a>,
    admits: fn(&ParameterConstraint, &str) -> bool,
) -> Fields<'a> {
    let parameters = parameters(job).filter(|parameter| {
        let value = parameter.at(parameter::VALUE).text();
        value.is_some_and(|value| !admits(&constraint(parameter), value))
    });
    parameters.at(parameter::VALUE)
}

pub(super) fn ranges(job: Draft<'_>) -> Fields<'_> {
    let parameters = parameters(job).filter(|parameter| {
        let constraint = constraint(parameter);
        match constraint.valid_type {
            Some(ParameterValidType::Choice) => choices(&constraint).is_empty(),
            Some(ParameterValidType::Range) => bounds(&constraint).is_none(),
            _ => false,
        }
    });
    parameters.at(parameter::constraint::VALID_RANGE)
}

/// Returns missing values of hyper-parameters that the job itself states as required.
pub(super) fn required_values(job: Draft<'_>) -> Fields<'_> {
    let is_required = |field: &Located<'_>| field.at(parameter::constraint::REQUIRED).is_true();
    let parameters = parameters(job).filter(is_required);
    parameters.at(parameter::VALUE).missing()
}

pub(super) fn rewards(job: Draft<'_>) -> Fields<'_> {
    let rewards = job.at(auto_search::REWARD_ATTRS);
    if !rewards.is_given() {
        return rewards.when(job.has(AUTO_SEARCH));
    }
    let fields = [reward_attribute::NAME, reward_attribute::MODE, reward_attribute::REGEX];
    rewards.items().at_all(&fields).missing()
}

pub(super) fn search_bounds(job: Draft<'_>) -> Fields<'_> {
    let is_bounded = |field: &Located<'_>| {
        let end = |name| field.at(name).text().and_then(number);
        let bounds = end(search_parameter::LOWER_BOUND).zip(end(search_parameter::UPPER_BOUND));
        bounds.is_some_and(|(low, high)| low <= high)
    };
    let has_values = |field: &Located<'_>| field.has(search_parameter::DISCRETE_VALUES);
    let params = job.at(auto_search::SEARCH_PARAMS).items();
    params.filter(|field| match field.at(search_parameter::PARAM_TYPE).text() {
        Some("continuous") => !is_bounded(field),
        Some("discrete") => !has_values(field),
        _ => !is_bounded(field) && !has_values(field),
    })
}

pub(super) fn search_floats(job: Draft<'_>) -> Fields<'_> {
    let others = job.at(algorithm::PARAMETERS).items().filter(|parameter| {
        let kind = parameter.at(parameter::constraint::TYPE).text();
        kind.is_some_and(|kind| kind != "Float")
    });
    let others = others.at(parameter::NAME);
    let params = job.at(auto_search::SEARCH_PARAMS).items();
    params.at(search_parameter::NAME).texts(|name| others.iter().any(|other| other.is(name)))
}

pub(super) fn search_algorithms(job: Draft<'_>) -> Fields<'_> {
    let known = ["bayes_opt_search", "tpe_search", "anneal_search"];
    let configs = job.at(auto_search::ALGO_CONFIGS).items();
    configs
        .at(search_algorithm::NAME)
        .filter(|name| !name.text().is_some_and(|text| known.contains(&text)))
}

/// Returns an engine that does not support search. Only Open Telekom Cloud lists those that do.
pub(super) fn search_engine(job: Draft<'_>) -> Fields<'_> {
    let supported = ["pytorch_1.8.0", "tensorflow_2.1.0"];
    let engine = job.at(algorithm::ENGINE);
    let named = match engine.has(job_engine::ENGINE_ID) {
        true => engine.at(job_engine::ENGINE_ID),
        false => engine.at(job_engine::ENGINE_VERSION),
    };
    let is_checked =
        job.cloud == Cloud::Otc && job.has(AUTO_SEARCH) && !engine.has(job_engine::IMAGE_URL);
    named.when(is_checked).texts(|engine| !supported.iter().any(|name| engine.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn constraint(valid_type: &str, range: &[&str]) -> ParameterConstraint {
        let json = json!({"valid_type": valid_type, "valid_range": range});
        ParameterConstraint::deserialize(json).unwrap()
    }

    #[test]
    fn kinds_of_ranges_are_compared_exactly() {
        assert!(!admits_number(&constraint("Range", &["1", "3"]), "4"));
        assert!(admits_number(&constraint("range", &["1", "3"]), "4"));
        assert!(!admits_choice(&constraint("Choice", &["a"]), "b"));
        assert!(admits_choice(&constraint("CHOICE", &["a"]), "b"));
    }

    #[test]
    fn empty_bounds_are_ignored() {
        let range = constraint("Range", &["1", "10", ""]);
        assert_eq!(bounds(&range), Some((1.0, 10.0)));
        assert!(!admits_number(&range, "11"));
        assert_eq!(bounds(&constraint("Range", &["1", ""])), None);
    }
}

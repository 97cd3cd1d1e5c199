//! Rules on hyper-parameters and on their search.

use crate::{
    config::cloud::Cloud,
    validation::{
        draft::Draft,
        json_path::{Located, repetitions},
        rules::names::is_name,
    },
};

const SEARCH: &str = "algorithm.policies.auto_search";

fn all_parameters<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    draft.parameters().into_iter().flatten().collect()
}

pub(super) fn names<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let names = all_parameters(draft)
        .into_iter()
        .map(|parameter| parameter.at("name"));
    names
        .filter(|name| !name.text().is_some_and(is_name))
        .collect()
}

pub(super) fn repeated_names<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let lists = draft.parameters().into_iter();
    lists
        .flat_map(|list| repetitions(list.iter().map(|parameter| parameter.at("name"))))
        .collect()
}

/// The constraint of a hyper-parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Constraint {
    pub(crate) kind: Option<String>,
    pub(crate) required: bool,
    pub(crate) valid_type: Option<String>,
    pub(crate) valid_range: Vec<String>,
}

impl Constraint {
    pub(crate) fn read(field: &Located<'_>) -> Self {
        let text = |name: &str| field.at(name).text().map(str::to_owned);
        let range = field.at("valid_range").items();
        Self {
            kind: text("type"),
            required: field.at("required").is_true(),
            valid_type: text("valid_type"),
            valid_range: range
                .iter()
                .filter_map(|value| value.text().map(str::to_owned))
                .collect(),
        }
    }

    fn is(&self, valid_type: &str) -> bool {
        self.valid_type.as_deref() == Some(valid_type)
    }

    /// The two bounds, if both are numbers and in order.
    fn bounds(&self) -> Option<(f64, f64)> {
        match self.valid_range.as_slice() {
            [low, high] => number(low)
                .zip(number(high))
                .filter(|(low, high)| low <= high),
            _ => None,
        }
    }

    /// True if the constraint itself is valid.
    fn is_valid(&self) -> bool {
        match self.valid_type.as_deref() {
            Some("Choice") => !self.valid_range.is_empty(),
            Some("Range") => self.bounds().is_some(),
            _ => true,
        }
    }

    pub(crate) fn admits_type(&self, value: &str) -> bool {
        match self.kind.as_deref() {
            Some("Integer") => value.trim().parse::<i64>().is_ok(),
            Some("Float") => number(value).is_some(),
            Some("Boolean") => ["true", "false"]
                .iter()
                .any(|word| value.eq_ignore_ascii_case(word)),
            _ => true,
        }
    }

    pub(crate) fn admits_choice(&self, value: &str) -> bool {
        !self.is("Choice") || !self.is_valid() || self.valid_range.iter().any(|one| one == value)
    }

    pub(crate) fn admits_number(&self, value: &str) -> bool {
        match (self.is("Range"), self.bounds(), number(value)) {
            (true, Some((low, high)), Some(number)) => (low..=high).contains(&number),
            _ => true,
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// The values that are `wrong` for the constraint of their hyper-parameter.
fn values<'a>(draft: &Draft<'a>, wrong: fn(&Constraint, &str) -> bool) -> Vec<Located<'a>> {
    let mut values = Vec::new();
    for parameter in all_parameters(draft) {
        let constraint = Constraint::read(&parameter.at("constraint"));
        let value = parameter.at("value");
        if value.text().is_some_and(|text| wrong(&constraint, text)) {
            values.push(value);
        }
    }
    values
}

pub(super) fn ranges<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let constraints = all_parameters(draft)
        .into_iter()
        .map(|parameter| parameter.at("constraint"));
    constraints
        .filter(|field| !Constraint::read(field).is_valid())
        .map(|field| field.at("valid_range"))
        .collect()
}

/// The required values that are missing. Hyper-parameters of stored algorithms are checked with the
/// spec of the algorithm, which may have a default.
pub(super) fn required_values<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let parameters = all_parameters(draft).into_iter();
    parameters
        .filter(|parameter| parameter.at("constraint.required").is_true())
        .map(|parameter| parameter.at("value"))
        .filter(|value| !value.is_given())
        .collect()
}

pub(super) fn value_types<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    values(draft, |constraint, text| !constraint.admits_type(text))
}

pub(super) fn choices<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    values(draft, |constraint, text| !constraint.admits_choice(text))
}

pub(super) fn numbers_in_range<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    values(draft, |constraint, text| !constraint.admits_number(text))
}

pub(super) fn rewards<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    if !draft.has(SEARCH) {
        return Vec::new();
    }
    let rewards = draft.at(SEARCH).at("reward_attrs");
    if !rewards.is_given() {
        return vec![rewards];
    }
    let rewards = rewards.items().into_iter();
    rewards
        .flat_map(|reward| ["name", "mode", "regex"].map(|name| reward.at(name)))
        .filter(|field| !field.is_given())
        .collect()
}

pub(super) fn repeated_rewards<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let rewards = draft.at(SEARCH).at("reward_attrs").items();
    repetitions(rewards.iter().map(|reward| reward.at("name")))
}

pub(super) fn search_bounds<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let params = draft.at(SEARCH).at("search_params").items().into_iter();
    let bounded = |field: &Located<'_>| {
        let end = |name: &str| field.at(name).text().and_then(number);
        matches!((end("lower_bound"), end("upper_bound")), (Some(low), Some(high)) if low <= high)
    };
    params
        .filter(|field| match field.at("param_type").text() {
            Some("continuous") => !bounded(field),
            Some("discrete") => !field.at("discrete_values").is_given(),
            _ => !bounded(field) && !field.at("discrete_values").is_given(),
        })
        .collect()
}

pub(super) fn search_floats<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let parameters = draft.at("algorithm.parameters").items();
    let is_other = |name: &str| {
        parameters.iter().any(|parameter| {
            parameter.at("name").is(name)
                && parameter
                    .at("constraint.type")
                    .text()
                    .is_some_and(|kind| kind != "Float")
        })
    };
    let params = draft.at(SEARCH).at("search_params").items().into_iter();
    params
        .map(|field| field.at("name"))
        .filter(|name| name.text().is_some_and(is_other))
        .collect()
}

pub(super) fn search_algorithms<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let known = ["bayes_opt_search", "tpe_search", "anneal_search"];
    let configs = draft.at(SEARCH).at("algo_configs").items().into_iter();
    configs
        .map(|config| config.at("name"))
        .filter(|name| !name.text().is_some_and(|text| known.contains(&text)))
        .collect()
}

/// The engine of a search, if the cloud does not support it. Only Open Telekom Cloud documents the
/// supported engines. The engine in a custom image is unknown.
pub(super) fn search_engine<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let engine = draft.at("algorithm.engine");
    let named = engine
        .at("engine_id")
        .text()
        .or(engine.at("engine_version").text());
    let wrong = draft.cloud == Cloud::Otc
        && draft.has(SEARCH)
        && !engine.at("image_url").is_given()
        && named.is_some_and(|engine| {
            !["pytorch_1.8.0", "tensorflow_2.1.0"]
                .iter()
                .any(|able| engine.starts_with(able))
        });
    let field = match engine.at("engine_id").is_given() {
        true => engine.at("engine_id"),
        false => engine.at("engine_version"),
    };
    wrong.then_some(field).into_iter().collect()
}

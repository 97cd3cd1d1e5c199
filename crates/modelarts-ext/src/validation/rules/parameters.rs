//! Rules on hyper-parameters and on their search.

use modelarts_api::{
    request_path::{
        create_training_job::algorithm::{
            self,
            policies::{AUTO_SEARCH, auto_search},
        },
        job_algorithm, job_engine, parameter, parameter_constraint, reward_attribute,
        search_algorithm, search_parameter,
    },
    types,
};

use crate::{
    config::cloud::Cloud,
    validation::{
        draft::Draft,
        json_path::{Fields, Located},
        rules::names::is_name,
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
    lists
        .flat_map(|list| list.items().at(parameter::NAME).repeated())
        .collect()
}

/// The constraint of a hyper-parameter.
#[derive(Default)]
pub(crate) struct Constraint<'a> {
    pub(crate) kind: Option<&'a str>,
    pub(crate) required: bool,
    valid_type: Option<&'a str>,
    pub(crate) valid_range: Vec<&'a str>,
}

impl<'a> From<&'a types::ParameterConstraint> for Constraint<'a> {
    fn from(constraint: &'a types::ParameterConstraint) -> Self {
        Self {
            kind: constraint.type_.as_ref().map(|kind| kind.as_str()),
            required: constraint.required == Some(true),
            valid_type: constraint.valid_type.as_ref().map(|kind| kind.as_str()),
            valid_range: constraint.valid_range.iter().map(String::as_str).collect(),
        }
    }
}

impl<'a> Constraint<'a> {
    fn read(field: &Located<'a>) -> Self {
        let range = field.at(parameter_constraint::VALID_RANGE).items();
        Self {
            kind: field.at(parameter_constraint::TYPE).text(),
            required: field.at(parameter_constraint::REQUIRED).is_true(),
            valid_type: field.at(parameter_constraint::VALID_TYPE).text(),
            valid_range: range.iter().filter_map(Located::text).collect(),
        }
    }

    fn is(&self, valid_type: &str) -> bool {
        self.valid_type == Some(valid_type)
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
        match self.valid_type {
            Some("Choice") => !self.valid_range.is_empty(),
            Some("Range") => self.bounds().is_some(),
            _ => true,
        }
    }

    pub(crate) fn admits_type(&self, value: &str) -> bool {
        match self.kind {
            Some("Integer") => value.trim().parse::<i64>().is_ok(),
            Some("Float") => number(value).is_some(),
            Some("Boolean") => ["true", "false"]
                .iter()
                .any(|word| value.eq_ignore_ascii_case(word)),
            _ => true,
        }
    }

    pub(crate) fn admits_choice(&self, value: &str) -> bool {
        !self.is("Choice") || !self.is_valid() || self.valid_range.contains(&value)
    }

    pub(crate) fn admits_number(&self, value: &str) -> bool {
        match (self.is("Range"), self.bounds(), number(value)) {
            (true, Some((low, high)), Some(number)) => (low..=high).contains(&number),
            _ => true,
        }
    }
}

fn number(text: &str) -> Option<f64> {
    let number = text.trim().parse().ok();
    number.filter(|number: &f64| number.is_finite())
}

/// The values that are `wrong` for the constraint of their hyper-parameter.
pub(super) fn values<'a>(job: Draft<'a>, wrong: fn(&Constraint<'_>, &str) -> bool) -> Fields<'a> {
    let parameters = parameters(job).filter(|parameter| {
        let constraint = Constraint::read(&parameter.at(parameter::CONSTRAINT));
        let value = parameter.at(parameter::VALUE).text();
        value.is_some_and(|value| wrong(&constraint, value))
    });
    parameters.at(parameter::VALUE)
}

pub(super) fn ranges(job: Draft<'_>) -> Fields<'_> {
    let constraints = parameters(job).at(parameter::CONSTRAINT);
    constraints
        .filter(|field| !Constraint::read(field).is_valid())
        .at(parameter_constraint::VALID_RANGE)
}

/// The required values that are missing. Hyper-parameters of stored algorithms are checked with the
/// spec of the algorithm, which may have a default.
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
    let fields = [
        reward_attribute::NAME,
        reward_attribute::MODE,
        reward_attribute::REGEX,
    ];
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
    params.filter(
        |field| match field.at(search_parameter::PARAM_TYPE).text() {
            Some("continuous") => !is_bounded(field),
            Some("discrete") => !has_values(field),
            _ => !is_bounded(field) && !has_values(field),
        },
    )
}

pub(super) fn search_floats(job: Draft<'_>) -> Fields<'_> {
    let others = job.at(algorithm::PARAMETERS).items().filter(|parameter| {
        let kind = parameter.at(parameter::constraint::TYPE).text();
        kind.is_some_and(|kind| kind != "Float")
    });
    let others = others.at(parameter::NAME);
    let params = job.at(auto_search::SEARCH_PARAMS).items();
    params
        .at(search_parameter::NAME)
        .texts(|name| others.iter().any(|other| other.is(name)))
}

pub(super) fn search_algorithms(job: Draft<'_>) -> Fields<'_> {
    let known = ["bayes_opt_search", "tpe_search", "anneal_search"];
    let configs = job.at(auto_search::ALGO_CONFIGS).items();
    configs
        .at(search_algorithm::NAME)
        .filter(|name| !name.text().is_some_and(|text| known.contains(&text)))
}

/// The engine of a search, if the cloud does not support it. Only Open Telekom Cloud documents the
/// supported engines. The engine in a custom image is unknown.
pub(super) fn search_engine(job: Draft<'_>) -> Fields<'_> {
    let supported = ["pytorch_1.8.0", "tensorflow_2.1.0"];
    let engine = job.at(algorithm::ENGINE);
    let named = match engine.has(job_engine::ENGINE_ID) {
        true => engine.at(job_engine::ENGINE_ID),
        false => engine.at(job_engine::ENGINE_VERSION),
    };
    let is_checked =
        job.cloud == Cloud::Otc && job.has(AUTO_SEARCH) && !engine.has(job_engine::IMAGE_URL);
    named
        .when(is_checked)
        .texts(|engine| !supported.iter().any(|name| engine.starts_with(name)))
}

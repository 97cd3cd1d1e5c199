//! `HyperparameterSearch`: the settings of a hyper-parameter search.

use std::fmt;

use modelarts_api::request_path::{
    auto_search, reward_attribute, search_algorithm, search_algorithm_parameter, search_parameter,
};
use serde_json::Value;

use crate::jobs::create::json_edit::{self, object, text};

/// Settings of a hyper-parameter search: objectives, parameters and algorithm.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct HyperparameterSearch(pub(super) Value);

impl HyperparameterSearch {
    /// Creates a search that maximizes a metric. The service finds the metric in the log by
    /// `regex`.
    pub fn maximize(metric: impl Into<String>, regex: impl Into<String>) -> Self {
        Self(Value::Null).add_reward(metric, "max", regex)
    }

    /// Creates a search that minimizes a metric. The service finds the metric in the log by
    /// `regex`.
    pub fn minimize(metric: impl Into<String>, regex: impl Into<String>) -> Self {
        Self(Value::Null).add_reward(metric, "min", regex)
    }

    /// Adds a metric to maximize.
    pub fn and_maximize(self, metric: impl Into<String>, regex: impl Into<String>) -> Self {
        self.add_reward(metric, "max", regex)
    }

    /// Adds a metric to minimize.
    pub fn and_minimize(self, metric: impl Into<String>, regex: impl Into<String>) -> Self {
        self.add_reward(metric, "min", regex)
    }

    fn add_reward(self, name: impl Into<String>, mode: &str, regex: impl Into<String>) -> Self {
        let reward = object([
            (reward_attribute::NAME, text(name)),
            (reward_attribute::MODE, text(mode)),
            (reward_attribute::REGEX, text(regex)),
        ]);
        self.push(auto_search::REWARD_ATTRS, reward)
    }

    /// Varies a hyper-parameter between two numbers.
    pub fn range(self, name: impl Into<String>, low: f64, high: f64) -> Self {
        self.push(auto_search::SEARCH_PARAMS, continuous(name, low, high))
    }

    /// Varies a hyper-parameter between two numbers, using `points` discrete values.
    pub fn points(self, name: impl Into<String>, low: f64, high: f64, points: u32) -> Self {
        let mut parameter = continuous(name, low, high);
        let points = points.to_string();
        json_edit::set(&mut parameter, search_parameter::DISCRETE_POINTS_NUM, points);
        self.push(auto_search::SEARCH_PARAMS, parameter)
    }

    /// Varies a hyper-parameter over a list of values.
    pub fn values<V: fmt::Display>(
        self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(|value| text(value.to_string()));
        let parameter = object([
            (search_parameter::NAME, text(name)),
            (search_parameter::PARAM_TYPE, text("discrete")),
            (search_parameter::DISCRETE_VALUES, values.collect()),
        ]);
        self.push(auto_search::SEARCH_PARAMS, parameter)
    }

    /// Excludes hyper-parameters from the search.
    pub fn skip(mut self, names: impl Into<String>) -> Self {
        json_edit::set(&mut self.0, auto_search::SKIP_SEARCH_PARAMS, names.into());
        self
    }

    /// Sets the search algorithm: `bayes_opt_search`, `tpe_search` or `anneal_search`, with
    /// settings as key, value and type, such as `("num_samples", "20", "Integer")`.
    pub fn algorithm(self, name: impl Into<String>, settings: &[(&str, &str, &str)]) -> Self {
        let settings = settings.iter().map(|(key, value, kind)| {
            object([
                (search_algorithm_parameter::KEY, text(*key)),
                (search_algorithm_parameter::VALUE, text(*value)),
                (search_algorithm_parameter::TYPE, text(*kind)),
            ])
        });
        let algorithm = object([
            (search_algorithm::NAME, text(name)),
            (search_algorithm::PARAMS, settings.collect()),
        ]);
        self.push(auto_search::ALGO_CONFIGS, algorithm)
    }

    fn push(mut self, list: &str, item: Value) -> Self {
        json_edit::push(&mut self.0, list, item);
        self
    }
}

fn continuous(name: impl Into<String>, low: f64, high: f64) -> Value {
    object([
        (search_parameter::NAME, text(name)),
        (search_parameter::PARAM_TYPE, text("continuous")),
        (search_parameter::LOWER_BOUND, text(low.to_string())),
        (search_parameter::UPPER_BOUND, text(high.to_string())),
    ])
}

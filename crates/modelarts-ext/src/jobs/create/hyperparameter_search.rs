//! `HyperparameterSearch`: the settings of a hyper-parameter search.

use std::fmt;

use serde_json::{Value, json};

use crate::jobs::create::json_edit;

/// The settings of a hyper-parameter search: objectives, parameters and algorithm.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct HyperparameterSearch(Value);

impl HyperparameterSearch {
    /// Creates a search that maximizes a metric. `regex` finds the metric in the log.
    pub fn maximize(metric: impl Into<String>, regex: impl Into<String>) -> Self {
        Self(json!({})).add_reward(metric.into(), "max", regex.into())
    }

    /// Creates a search that minimizes a metric. `regex` finds the metric in the log.
    pub fn minimize(metric: impl Into<String>, regex: impl Into<String>) -> Self {
        Self(json!({})).add_reward(metric.into(), "min", regex.into())
    }

    /// Adds a metric to maximize.
    pub fn and_maximize(self, metric: impl Into<String>, regex: impl Into<String>) -> Self {
        self.add_reward(metric.into(), "max", regex.into())
    }

    /// Adds a metric to minimize.
    pub fn and_minimize(self, metric: impl Into<String>, regex: impl Into<String>) -> Self {
        self.add_reward(metric.into(), "min", regex.into())
    }

    fn add_reward(self, name: String, mode: &str, regex: String) -> Self {
        self.push(
            "reward_attrs",
            json!({"name": name, "mode": mode, "regex": regex}),
        )
    }

    /// Varies a hyper-parameter between two numbers.
    pub fn range(self, name: impl Into<String>, low: f64, high: f64) -> Self {
        self.push(
            "search_params",
            json!({
                "name": name.into(), "param_type": "continuous",
                "lower_bound": low.to_string(), "upper_bound": high.to_string(),
            }),
        )
    }

    /// Varies a hyper-parameter between two numbers, in this number of steps.
    pub fn points(self, name: impl Into<String>, low: f64, high: f64, points: u32) -> Self {
        self.push(
            "search_params",
            json!({
                "name": name.into(), "param_type": "continuous",
                "lower_bound": low.to_string(), "upper_bound": high.to_string(),
                "discrete_points_num": points.to_string(),
            }),
        )
    }

    /// Varies a hyper-parameter over these values.
    pub fn values<V: fmt::Display>(
        self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
        self.push(
            "search_params",
            json!({"name": name.into(), "param_type": "discrete", "discrete_values": values}),
        )
    }

    /// Excludes hyper-parameters from the search.
    pub fn skip(mut self, names: impl Into<String>) -> Self {
        json_edit::set(&mut self.0, "skip_search_params", names.into());
        self
    }

    /// Sets the search algorithm: `bayes_opt_search`, `tpe_search` or `anneal_search`, with
    /// settings as key, value and type, such as `("num_samples", "20", "Integer")`.
    pub fn algorithm(self, name: impl Into<String>, settings: &[(&str, &str, &str)]) -> Self {
        let settings: Vec<Value> = settings
            .iter()
            .map(|(key, value, kind)| json!({"key": key, "value": value, "type": kind}))
            .collect();
        self.push(
            "algo_configs",
            json!({"name": name.into(), "params": settings}),
        )
    }

    fn push(mut self, list: &str, item: Value) -> Self {
        json_edit::push(&mut self.0, list, item);
        self
    }

    pub(super) fn into_json(self) -> Value {
        self.0
    }
}

//! `algorithm.policies.auto_search`, read.

use std::ops::RangeInclusive;

use fancy_regex::Regex;
use serde_json::{Value, json};

use crate::{
    api::{error::ApiError, json_field::JsonField},
    tuning::space::Space,
};

/// The search of a job.
#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    pub(crate) rewards: Vec<Reward>,
    pub(crate) space: Space,
    /// The number of trials.
    pub(crate) samples: usize,
    /// The number of trials that run at a time.
    pub(crate) concurrent: usize,
    pub(crate) seed: u64,
}

/// A metric that is found in the log.
#[derive(Clone, Debug)]
pub(crate) struct Reward {
    pub(crate) name: String,
    /// `max`, and not `min`.
    pub(crate) more_is_better: bool,
    pub(crate) regex: Regex,
}

/// Maximum number of trials of a search, as many as jobs of a project.
const MAX_SAMPLES: f64 = 10_000.0;
/// Maximum number of trials at a time: they are processes of this machine.
const MAX_CONCURRENT: f64 = 64.0;

/// A setting: key, default and type.
type Setting = (&'static str, &'static str, &'static str);

/// The documented algorithms with their own settings and a description (SOURCES X).
#[rustfmt::skip]
const ALGORITHMS: [(&str, &[Setting], &str); 3] = [
    (
        "bayes_opt_search",
        &[("kind", "ucb", "String"), ("kappa", "2.5", "Float"), ("xi", "0.0", "Float")],
        "Hyperparameter search using Gaussian process.",
    ),
    (
        "tpe_search",
        &[("gamma", "0.25", "Float"), ("n_initial_points", "20", "Integer")],
        "Hyperparameter search using the tree-structured Parzen estimator algorithm.",
    ),
    (
        "anneal_search",
        &[("avg_best_idx", "2.0", "Float"), ("shrink_coef", "0.1", "Float")],
        "Hyperparameter search using simulated annealing algorithm.",
    ),
];
/// The settings of all algorithms.
const COMMON: [Setting; 2] = [("num_samples", "20", "Integer"), ("seed", "1", "Integer")];
/// Values of `kind`, the acquisition function.
const KINDS: [&str; 3] = ["ucb", "ei", "poi"];

impl Tuning {
    /// From the body of a creation that the rules have passed; `None` if nothing is searched.
    pub(crate) fn read(algorithm: &JsonField<'_>) -> Result<Option<Self>, ApiError> {
        let Some(policies) = algorithm.get("policies")? else {
            return Ok(None);
        };
        let search = policies.get("auto_search")?;
        let Some(search) = search.filter(|search| !search.is_empty_object()) else {
            return Ok(None);
        };
        let rewards = search.items_of("reward_attrs")?;
        if rewards.is_empty() {
            return Err(ApiError::not_modelled("a search without reward_attrs"));
        }
        let rewards: Result<_, _> = rewards.iter().map(Reward::read).collect();
        let (rewards, space) = (rewards?, Space::read(&search)?);
        let configs = search.items_of("algo_configs")?;
        let (name, given) = match configs.as_slice() {
            [] => ("bayes_opt_search", Vec::new()),
            [config] => (config.required("name")?.text()?, config.items_of("params")?),
            _ => return Err(ApiError::not_modelled("a search by several algorithms")),
        };
        let Some((_, own, _)) = ALGORITHMS.iter().find(|(known, ..)| *known == name) else {
            let algorithm = format!("the search algorithm {name:?}");
            return Err(ApiError::not_modelled(algorithm));
        };
        let settings = Settings(given);
        // Settings of the algorithms are checked only: points are random with any of them.
        for (key, _, kind) in *own {
            match *kind {
                "String" => settings.check_kind(key)?,
                "Integer" => drop(settings.number(key, 0.0, 0.0..=1e6)?),
                _ => drop(settings.number(key, 0.0, 0.0..=f64::MAX)?),
            }
        }
        let number = |key, default, range| settings.number(key, default, range);
        Ok(Some(Self {
            rewards,
            space,
            samples: number("num_samples", 20.0, 1.0..=MAX_SAMPLES)? as usize,
            concurrent: number("max_concurrent", 4.0, 1.0..=MAX_CONCURRENT)? as usize,
            seed: number("seed", 1.0, 0.0..=f64::from(u32::MAX))? as u64,
        }))
    }

    pub(crate) fn leading_reward(&self) -> &Reward {
        // Not empty, see above.
        &self.rewards[0]
    }
}

impl Reward {
    /// Reads an element of `reward_attrs`. All members are required here.
    fn read(metric: &JsonField<'_>) -> Result<Self, ApiError> {
        let member = |name| match metric.get(name)? {
            Some(field) if !field.text()?.is_empty() => Ok(field),
            _ => Err(ApiError::not_modelled(format!("a metric without {name}"))),
        };
        let (name, mode, regex) = (member("name")?, member("mode")?, member("regex")?);
        Ok(Self {
            name: name.text()?.to_owned(),
            more_is_better: mode.text()? == "max",
            regex: Regex::new(regex.text()?)
                .map_err(|error| regex.must(format!("be a regular expression: {error}")))?,
        })
    }
}

/// `algo_configs[].params`: values are texts, whatever their type.
struct Settings<'a>(Vec<JsonField<'a>>);

impl Settings<'_> {
    fn find(&self, key: &str) -> Result<Option<&str>, ApiError> {
        for setting in &self.0 {
            if setting.text_of("key")? == Some(key) {
                return setting.text_of("value");
            }
        }
        Ok(None)
    }

    fn number(&self, key: &str, default: f64, range: RangeInclusive<f64>) -> Result<f64, ApiError> {
        let Some(text) = self.find(key)? else {
            return Ok(default);
        };
        let number = text.trim().parse().ok();
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (low, high) = range.into_inner();
                ApiError::invalid_parameter(format!(
                    "algo_configs.params.{key} must be a number between {low} and {high}"
                ))
            })
    }

    fn check_kind(&self, key: &str) -> Result<(), ApiError> {
        match self.find(key)? {
            Some(kind) if !KINDS.contains(&kind) => Err(ApiError::invalid_parameter(format!(
                "algo_configs.params.{key} must be one of [{}]",
                KINDS.join(" ")
            ))),
            _ => Ok(()),
        }
    }
}

/// The algorithms with their settings and defaults, as ShowSearchAlgorithms lists them.
pub(crate) fn documented_algorithms() -> Vec<Value> {
    let param = |(key, value, kind): &Setting| json!({"key": key, "value": value, "type": kind});
    let algorithm = |(name, own, description): &(_, &[Setting], _)| {
        let params: Vec<Value> = own.iter().chain(&COMMON).map(param).collect();
        json!({"name": name, "params": params, "description": description})
    };
    ALGORITHMS.iter().map(algorithm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(search: Value) -> Result<Option<Tuning>, ApiError> {
        let algorithm = json!({"policies": {"auto_search": search}});
        Tuning::read(&JsonField::root(&algorithm))
    }

    fn sound(regex: &str, configs: Value) -> Value {
        json!({
            "reward_attrs": [{"name": "acc", "mode": "max", "regex": regex}],
            "search_params": [{"name": "lr", "lower_bound": "0", "upper_bound": "1"}],
            "algo_configs": configs,
        })
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        for configs in documented_algorithms() {
            let given = read(sound("x", json!([configs]))).unwrap().unwrap();
            let bare = json!([{"name": configs["name"]}]);
            let default = read(sound("x", bare)).unwrap().unwrap();
            assert_eq!(format!("{given:?}"), format!("{default:?}"));
            assert_eq!((given.samples, given.concurrent, given.seed), (20, 4, 1));
        }
        assert!(read(json!({})).unwrap().is_none());
        assert!(read(Value::Null).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        let setting = |key: &str, value: &str| {
            sound(
                "x",
                json!([{"name": "tpe_search", "params": [{"key": key, "value": value}]}]),
            )
        };
        let mut no_reward = sound("x", json!([]));
        no_reward["reward_attrs"] = json!([]);
        let bayes =
            json!([{"name": "bayes_opt_search", "params": [{"key": "kind", "value": "up"}]}]);
        for (search, status, phrase) in [
            (sound("(", json!([])), 400, "be a regular expression"),
            (
                setting("num_samples", "0"),
                400,
                "num_samples must be a number between 1 and 10000",
            ),
            (setting("gamma", "-1"), 400, "gamma must be"),
            (setting("seed", "x"), 400, "seed must be"),
            (setting("max_concurrent", "65"), 400, "between 1 and 64"),
            (no_reward, 501, "a search without reward_attrs"),
            (sound("x", bayes), 400, "must be one of [ucb ei poi]"),
            (
                sound(
                    "x",
                    json!([{"name": "tpe_search"}, {"name": "anneal_search"}]),
                ),
                501,
                "several",
            ),
            (
                sound("x", json!([{"name": "luck"}])),
                501,
                "the search algorithm",
            ),
        ] {
            let error = read(search).unwrap_err();
            assert_eq!(error.status.as_u16(), status);
            let body = error.body("").to_string();
            assert!(body.contains(phrase), "{body}");
        }
    }
}

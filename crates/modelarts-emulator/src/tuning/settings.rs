//! `algorithm.policies.auto_search`, read.

use std::fmt;

use fancy_regex::Regex;
use serde_json::{Value, json};

use crate::{
    api::{error::ApiError, json_field::JsonField},
    tuning::{
        anneal::Anneal,
        bayes::{Acquisition, Bayes},
        search::Searcher,
        space::Space,
        tpe::Tpe,
    },
};

/// The search of a job: rewards, space and algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    pub(crate) rewards: Vec<Reward>,
    pub(crate) space: Space,
    algorithm: Algorithm,
    /// The number of trials.
    pub(crate) samples: usize,
    /// How many run at a time.
    pub(crate) concurrent: usize,
    pub(crate) seed: u64,
}

/// A metric that is found in the log.
#[derive(Clone)]
pub(crate) struct Reward {
    pub(crate) name: String,
    /// `max`, and not `min`.
    pub(crate) more_is_better: bool,
    pub(crate) regex: Regex,
}

impl fmt::Debug for Reward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.regex.as_str())
    }
}

#[derive(Clone, Debug)]
enum Algorithm {
    Bayes {
        kind: Acquisition,
        kappa: f64,
        xi: f64,
    },
    Tpe {
        gamma: f64,
        first: usize,
    },
    Anneal {
        best: f64,
        shrink: f64,
    },
}

/// The most trials of a search, as many as jobs of a project.
const MAX_SAMPLES: usize = 10_000;
/// The most trials at a time: they are processes of this machine.
const MAX_CONCURRENT: usize = 64;

impl Tuning {
    /// From the body of a creation that the rules have passed; none if nothing is searched.
    pub(crate) fn read(algorithm: &JsonField<'_>) -> Result<Option<Self>, ApiError> {
        let Some(policies) = algorithm.get("policies")? else {
            return Ok(None);
        };
        let search = policies.get("auto_search")?;
        let Some(search) = search.filter(|search| !search.is_empty_object()) else {
            return Ok(None);
        };
        let given = search.items_of("reward_attrs")?;
        if given.is_empty() {
            return Err(ApiError::not_modelled("a search without reward_attrs"));
        }
        let mut rewards = Vec::new();
        for item in given {
            let [name, mode, regex] = [
                required_text(&item, "name")?,
                required_text(&item, "mode")?,
                required_text(&item, "regex")?,
            ];
            rewards.push(Reward {
                name: name.text()?.to_owned(),
                more_is_better: mode.text()? == "max",
                regex: Regex::new(regex.text()?)
                    .map_err(|error| regex.must(format!("be a regular expression: {error}")))?,
            });
        }
        let space = Space::read(&search)?;
        let configs = search.items_of("algo_configs")?;
        let (name, given) = match configs.as_slice() {
            [] => ("bayes_opt_search", Vec::new()),
            [config] => (config.required("name")?.text()?, config.items_of("params")?),
            _ => return Err(ApiError::not_modelled("a search by several algorithms")),
        };
        let settings = Settings(given);
        let samples = settings.number("num_samples", 20.0, 1.0..=MAX_SAMPLES as f64)? as usize;
        let algorithm = match name {
            "tpe_search" => Algorithm::Tpe {
                gamma: settings.number("gamma", 0.25, 0.0..=f64::MAX)?,
                first: settings.number("n_initial_points", 20.0, 0.0..=1e6)? as usize,
            },
            "anneal_search" => Algorithm::Anneal {
                best: settings.number("avg_best_idx", 2.0, 0.0..=f64::MAX)?,
                shrink: settings.number("shrink_coef", 0.1, 0.0..=f64::MAX)?,
            },
            "bayes_opt_search" => Algorithm::Bayes {
                kind: settings.kind()?,
                kappa: settings.number("kappa", 2.5, 0.0..=f64::MAX)?,
                xi: settings.number("xi", 0.0, 0.0..=f64::MAX)?,
            },
            other => {
                return Err(ApiError::not_modelled(format!(
                    "the search algorithm {other:?}"
                )));
            }
        };
        let most = MAX_CONCURRENT as f64;
        Ok(Some(Self {
            rewards,
            space,
            algorithm,
            samples,
            concurrent: settings.number("max_concurrent", 4.0, 1.0..=most)? as usize,
            seed: settings.number("seed", 1.0, 0.0..=f64::from(u32::MAX))? as u64,
        }))
    }

    pub(crate) fn searcher(&self) -> Box<dyn Searcher> {
        match self.algorithm {
            // The number of random points is a setting of TPE only (SOURCES X).
            Algorithm::Bayes { kind, kappa, xi } => Box::new(Bayes {
                kind,
                kappa,
                xi,
                first: (self.samples / 4).max(2),
            }),
            Algorithm::Tpe { gamma, first } => Box::new(Tpe { gamma, first }),
            Algorithm::Anneal { best, shrink } => Box::new(Anneal { best, shrink }),
        }
    }

    pub(crate) fn leading_reward(&self) -> &Reward {
        // Not empty, see above.
        &self.rewards[0]
    }
}

/// A member of a metric, which a search here cannot do without.
fn required_text<'a>(metric: &JsonField<'a>, name: &str) -> Result<JsonField<'a>, ApiError> {
    match metric.get(name)? {
        Some(field) if !field.text()?.is_empty() => Ok(field),
        _ => Err(ApiError::not_modelled(format!("a metric without {name}"))),
    }
}

/// `algo_configs[].params`: texts, whatever their type.
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

    fn number(
        &self,
        key: &str,
        default: f64,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<f64, ApiError> {
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

    fn kind(&self) -> Result<Acquisition, ApiError> {
        match self.find("kind")? {
            None | Some("ucb") => Ok(Acquisition::Ucb),
            Some("ei") => Ok(Acquisition::Ei),
            Some("poi") => Ok(Acquisition::Poi),
            Some(_) => Err(ApiError::invalid_parameter(
                "algo_configs.params.kind must be one of [ucb ei poi]",
            )),
        }
    }
}

/// The algorithms with their settings and defaults, as ShowSearchAlgorithms lists them.
pub(crate) fn documented_algorithms() -> Vec<Value> {
    let param =
        |(key, value, kind): &(&str, &str, &str)| json!({"key": key, "value": value, "type": kind});
    let common = [("num_samples", "20", "Integer"), ("seed", "1", "Integer")];
    [
        (
            "bayes_opt_search",
            vec![
                ("kind", "ucb", "String"),
                ("kappa", "2.5", "Float"),
                ("xi", "0.0", "Float"),
            ],
            "Hyperparameter search using Gaussian process.",
        ),
        (
            "tpe_search",
            vec![
                ("gamma", "0.25", "Float"),
                ("n_initial_points", "20", "Integer"),
            ],
            "Hyperparameter search using the tree-structured Parzen estimator algorithm.",
        ),
        (
            "anneal_search",
            vec![
                ("avg_best_idx", "2.0", "Float"),
                ("shrink_coef", "0.1", "Float"),
            ],
            "Hyperparameter search using simulated annealing algorithm.",
        ),
    ]
    .iter()
    .map(|(name, params, description)| {
        let params: Vec<Value> = params.iter().chain(&common).map(param).collect();
        json!({"name": name, "params": params, "description": description})
    })
    .collect()
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

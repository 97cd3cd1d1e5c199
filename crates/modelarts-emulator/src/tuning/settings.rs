//! Settings of a search, read from `algorithm.policies.auto_search`.

use std::ops::RangeInclusive;

use fancy_regex::Regex;
use serde_json::{Value, json};

use self::Setting::{Number, Word};
use crate::{
    api::{error::ApiError, json_field::JsonField},
    tuning::space::Space,
};

#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    pub(crate) rewards: Vec<Reward>,
    pub(crate) space: Space,
    pub(crate) samples: usize,
    /// Maximum number of concurrent trials.
    pub(crate) concurrent: usize,
    pub(crate) seed: u64,
}

/// Metric whose values are read from the log.
#[derive(Clone, Debug)]
pub(crate) struct Reward {
    pub(crate) name: String,
    /// `true` for a metric whose mode is `max`, `false` for `min`.
    pub(crate) more_is_better: bool,
    pub(crate) regex: Regex,
}

/// Setting whose value is a number: key, default, type and permitted range.
type NumberSetting = (&'static str, &'static str, &'static str, RangeInclusive<f64>);

enum Setting {
    Number(NumberSetting),
    /// Setting with enumerated values: key, default and permitted values.
    Word(&'static str, &'static str, &'static [&'static str]),
}

const NON_NEGATIVE: RangeInclusive<f64> = 0.0..=f64::MAX;
/// Number of trials of a search. Its maximum is the default quota of jobs of a project.
const SAMPLES: NumberSetting = ("num_samples", "20", "Integer", 1.0..=10_000.0);
const SEED: NumberSetting = ("seed", "1", "Integer", 0.0..=u32::MAX as f64);
/// Maximum number of concurrent trials. An extension of the emulator, whose trials are processes.
const CONCURRENT: NumberSetting = ("max_concurrent", "4", "Integer", 1.0..=64.0);

/// Documented algorithms, each with its specific settings and a description (SOURCES X).
const ALGORITHMS: [(&str, &[Setting], &str); 3] = [
    (
        "bayes_opt_search",
        &[
            Word("kind", "ucb", &["ucb", "ei", "poi"]),
            Number(("kappa", "2.5", "Float", NON_NEGATIVE)),
            Number(("xi", "0.0", "Float", NON_NEGATIVE)),
        ],
        "Hyperparameter search using Gaussian process.",
    ),
    (
        "tpe_search",
        &[
            Number(("gamma", "0.25", "Float", NON_NEGATIVE)),
            Number(("n_initial_points", "20", "Integer", 0.0..=1e6)),
        ],
        "Hyperparameter search using the tree-structured Parzen estimator algorithm.",
    ),
    (
        "anneal_search",
        &[
            Number(("avg_best_idx", "2.0", "Float", NON_NEGATIVE)),
            Number(("shrink_coef", "0.1", "Float", NON_NEGATIVE)),
        ],
        "Hyperparameter search using simulated annealing algorithm.",
    ),
];

impl Tuning {
    /// Reads the search from a validated create request; returns `None` if the job has no search.
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
        let samples = read_number(&given, &SAMPLES)? as usize;
        let Some((_, own, _)) = ALGORITHMS.iter().find(|(known, ..)| *known == name) else {
            let algorithm = format!("the search algorithm {name:?}");
            return Err(ApiError::not_modelled(algorithm));
        };
        // The settings of an algorithm are only validated, because points are drawn at random.
        for setting in *own {
            check_setting(&given, setting)?;
        }
        Ok(Some(Self {
            rewards,
            space,
            samples,
            concurrent: read_number(&given, &CONCURRENT)? as usize,
            seed: read_number(&given, &SEED)? as u64,
        }))
    }

    pub(crate) fn leading_reward(&self) -> &Reward {
        // `read` rejects a search without rewards, so the list is not empty.
        &self.rewards[0]
    }
}

impl Reward {
    /// Reads an element of `reward_attrs`. The emulator requires all of its members.
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

/// Returns the value of a setting in `algo_configs[].params`, where all values are strings.
fn setting_text<'a>(
    given: &[JsonField<'a>],
    key: &str,
    default: &'static str,
) -> Result<&'a str, ApiError> {
    for setting in given {
        if setting.text_of("key")? == Some(key) {
            return Ok(setting.text_of("value")?.unwrap_or(default));
        }
    }
    Ok(default)
}

fn read_number(
    given: &[JsonField<'_>],
    (key, default, _, range): &NumberSetting,
) -> Result<f64, ApiError> {
    let number = setting_text(given, key, default)?.trim().parse().ok();
    let number = number.filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        invalid_setting(key, &format!("a number between {low} and {high}"))
    })
}

fn check_setting(given: &[JsonField<'_>], setting: &Setting) -> Result<(), ApiError> {
    match setting {
        Number(setting) => read_number(given, setting).map(|_| ()),
        Word(key, default, words) => {
            if words.contains(&setting_text(given, key, default)?) {
                return Ok(());
            }
            let rule = format!("one of [{}]", words.join(" "));
            Err(invalid_setting(key, &rule))
        }
    }
}

fn invalid_setting(key: &str, rule: &str) -> ApiError {
    ApiError::invalid_parameter(format!("algo_configs.params.{key} must be {rule}"))
}

/// Returns the algorithms in the form of ShowSearchAlgorithms.
pub(crate) fn documented_algorithms() -> Vec<Value> {
    let param =
        |key: &str, value: &str, kind: &str| json!({"key": key, "value": value, "type": kind});
    let algorithm = |(name, own, description): &(_, &[Setting], _)| {
        let own = own.iter().map(|setting| match setting {
            Number((key, default, kind, _)) => param(key, default, kind),
            Word(key, default, _) => param(key, default, "String"),
        });
        let common = [SAMPLES, SEED].map(|(key, default, kind, _)| param(key, default, kind));
        let params: Vec<Value> = own.chain(common).collect();
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
            sound("x", json!([{"name": "tpe_search", "params": [{"key": key, "value": value}]}]))
        };
        let mut no_reward = sound("x", json!([]));
        no_reward["reward_attrs"] = json!([]);
        let bayes =
            json!([{"name": "bayes_opt_search", "params": [{"key": "kind", "value": "up"}]}]);
        for (search, status, phrase) in [
            (sound("(", json!([])), 400, "be a regular expression"),
            (setting("num_samples", "0"), 400, "num_samples must be a number between 1 and 10000"),
            (setting("gamma", "-1"), 400, "gamma must be"),
            (setting("seed", "x"), 400, "seed must be"),
            (setting("max_concurrent", "65"), 400, "between 1 and 64"),
            (no_reward, 501, "a search without reward_attrs"),
            (sound("x", bayes), 400, "must be one of [ucb ei poi]"),
            (
                sound("x", json!([{"name": "tpe_search"}, {"name": "anneal_search"}])),
                501,
                "several",
            ),
            (
                sound(
                    "x",
                    json!([{"name": "luck", "params": [{"key": "num_samples", "value": "0"}]}]),
                ),
                400,
                "num_samples must be",
            ),
            (sound("x", json!([{"name": "luck"}])), 501, "the search algorithm"),
        ] {
            let error = read(search).unwrap_err();
            assert_eq!(error.status.as_u16(), status);
            let body = error.body("").to_string();
            assert!(body.contains(phrase), "{body}");
        }
    }
}

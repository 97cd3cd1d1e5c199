//! Parameters that a search varies.

use serde_json::{Map, Value};

use crate::{
    api::{error::ApiError, json_field::JsonField},
    validation::names::is_name,
};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Space(Vec<(String, Values)>);

#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Range, either continuous or with a number of equidistant points that include both ends.
    Range {
        low: f64,
        high: f64,
        points: Option<u32>,
    },
    List(Vec<Value>),
}

const MAX_POINTS: u32 = 1_000_000;

impl Space {
    /// Reads validated `search_params`, except those in `skip_search_params`.
    pub(crate) fn read(search: &JsonField<'_>) -> Result<Self, ApiError> {
        let skipped = search.text_of("skip_search_params")?.unwrap_or_default();
        let skipped: Vec<&str> = skipped.split([',', ';', ' ']).collect();
        let mut parameters: Vec<(String, Values)> = Vec::new();
        for item in search.items_of("search_params")? {
            let name = item.required("name")?.text()?;
            // The table of fields does not apply to stored algorithms, and names become file names.
            if !is_name(name) || parameters.iter().any(|(known, _)| known == name) {
                return Err(ApiError::of(2826, &[]));
            }
            if !skipped.contains(&name) {
                parameters.push((name.to_owned(), Values::read(&item)?));
            }
        }
        if parameters.is_empty() {
            return Err(ApiError::of(2826, &[]));
        }
        Ok(Self(parameters))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Selects values. `coordinate` returns a position from 0 to 1 in a parameter's range or list.
    pub(crate) fn values(&self, mut coordinate: impl FnMut() -> f64) -> Map<String, Value> {
        let parameters = self.0.iter();
        parameters.map(|(name, values)| (name.clone(), values.at(coordinate()))).collect()
    }
}

impl Values {
    fn read(item: &JsonField<'_>) -> Result<Self, ApiError> {
        let wrong = || ApiError::of(2826, &[]);
        let list = item.items_of("discrete_values")?;
        if !list.is_empty() {
            let values = list.iter().map(|value| value.text().map(number));
            return values.collect::<Result<_, _>>().map(Self::List);
        }
        let bound = |name: &str| -> Result<f64, ApiError> {
            let text = item.text_of(name)?.unwrap_or_default();
            text.trim().parse().map_err(|_| wrong())
        };
        let (low, high) = (bound("lower_bound")?, bound("upper_bound")?);
        let points = match item.text_of("discrete_points_num")? {
            None => 0,
            Some(text) => text.trim().parse().map_err(|_| wrong())?,
        };
        if points > MAX_POINTS {
            return Err(wrong());
        }
        let points = Some(points).filter(|points| *points > 0);
        Ok(Self::Range { low, high, points })
    }

    fn at(&self, at: f64) -> Value {
        match self {
            Self::Range { low, high, points } => {
                let part = points.map_or(at, |points| {
                    share(at, points as usize) as f64 / f64::from((points - 1).max(1))
                });
                Value::from(low + (high - low) * part)
            }
            Self::List(list) => list[share(at, list.len())].clone(),
        }
    }
}

/// Returns the index of the part that contains `at`, out of `count` equal parts of 0 to 1.
fn share(at: f64, count: usize) -> usize {
    ((at * count as f64) as usize).min(count - 1)
}

/// Converts the text of a value for the tables: `32` becomes a number, `adam` remains a string.
fn number(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| text.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn space(search: Value) -> Result<Space, ApiError> {
        Space::read(&JsonField::root(&search))
    }

    #[test]
    fn points_become_values() {
        let space = space(json!({
            "skip_search_params": "epochs, depth",
            "search_params": [
                {"name": "lr", "lower_bound": "0.1", "upper_bound": "0.3"},
                {"name": "batch", "discrete_values": ["16", "32", "adam"]},
                {"name": "depth", "discrete_values": ["1"]},
                {"name": "drop", "lower_bound": "0", "upper_bound": "1",
                 "discrete_points_num": "3"},
            ],
        }))
        .unwrap();
        assert_eq!(space.names().collect::<Vec<_>>(), ["lr", "batch", "drop"]);
        let at = |point: &[f64]| {
            let mut point = point.iter().copied();
            Value::from(space.values(|| point.next().unwrap()))
        };
        assert_eq!(at(&[0.5, 0.0, 0.0]), json!({"lr": 0.2, "batch": 16, "drop": 0.0}));
        assert_eq!(at(&[1.0, 1.0, 1.0]), json!({"lr": 0.3, "batch": "adam", "drop": 1.0}));
        assert_eq!(at(&[0.0, 0.5, 0.5]), json!({"lr": 0.1, "batch": 32, "drop": 0.5}));
    }

    #[test]
    fn the_same_seed_gives_the_same_values() {
        let lr = json!({"name": "lr", "lower_bound": "0", "upper_bound": "1"});
        let space = space(json!({"search_params": [lr]})).unwrap();
        let values = |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            [(); 20].map(|()| space.values(|| rng.f64()))
        };
        assert_eq!(values(7), values(7));
        assert_ne!(values(7), values(8));
    }

    #[test]
    fn points_on_a_line_are_not_kept() {
        let grid = |points: &str| {
            let axis = json!({"name": "a", "lower_bound": "-1", "upper_bound": "1",
                "discrete_points_num": points});
            space(json!({"search_params": [axis]}))
        };
        let million = grid("1000000").unwrap();
        let Values::Range { points, .. } = million.0[0].1 else {
            panic!("{million:?}");
        };
        assert_eq!(points, Some(1_000_000));
        let at = |space: &Space, at: f64| space.values(|| at)["a"].as_f64().unwrap();
        assert_eq!((at(&million, 0.0), at(&million, 1.0)), (-1.0, 1.0));
        let one = grid("1").unwrap();
        assert_eq!((at(&one, 0.0), at(&one, 1.0)), (-1.0, -1.0));
        assert!(grid("1000001").is_err());
    }

    #[test]
    fn a_space_needs_parameters_each_once_and_with_a_plain_name() {
        let lr = json!({"name": "lr", "lower_bound": "0", "upper_bound": "1"});
        for search in [
            json!({}),
            json!({"search_params": [lr], "skip_search_params": "lr"}),
            json!({"search_params": [lr, lr]}),
            json!({"search_params": [{"name": "../lr", "lower_bound": "0", "upper_bound": "1"}]}),
            json!({"search_params": [{"name": "/lr", "lower_bound": "0", "upper_bound": "1"}]}),
            json!({"search_params": [{"name": "lr", "lower_bound": "0", "upper_bound": "1",
                "discrete_points_num": "many"}]}),
        ] {
            assert_eq!(space(search.clone()), Err(ApiError::of(2826, &[])), "{search}");
        }
    }
}

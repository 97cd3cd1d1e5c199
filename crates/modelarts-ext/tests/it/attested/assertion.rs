//! Assertions about responses, read from `openapi/attested/manifest.json`. The tests check them on
//! the emulator.

use serde::Deserialize;
use serde_json::Value;

use super::{json_path, scenario::Scenario};

#[derive(Deserialize)]
pub struct Assertion {
    pub path: String,
    is: Relation,
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
enum Relation {
    #[serde(rename = "equal")]
    Equal,
    #[serde(rename = "absent-or-empty")]
    AbsentOrEmpty,
    #[serde(rename = "count")]
    Count,
    #[serde(rename = "there")]
    There,
    #[serde(rename = "milliseconds")]
    Milliseconds,
    #[serde(rename = "the reverse of")]
    ReverseOf,
    #[serde(rename = "has cpu_image_url or gpu_image_url")]
    HasImage,
    #[serde(rename = "at least one is not empty")]
    SomeNotEmpty,
    #[serde(
        rename = "a JSON list in a text, or names with commas; holds the engine_name of an engine"
    )]
    NamesAnEngine,
}

impl Assertion {
    /// Checks the assertion against a response. The error describes the difference.
    pub fn holds(&self, answer: &Value, scenario: &Scenario) -> Result<(), String> {
        let found = json_path::all(answer, &self.path);
        let holds = match self.is {
            Relation::Equal => {
                let expected = scenario.resolve(&self.value);
                !found.is_empty()
                    && match expected {
                        Some(expected) => found.iter().all(|value| are_equal(value, &expected)),
                        None => found.windows(2).all(|pair| pair[0] == pair[1]),
                    }
            }
            Relation::AbsentOrEmpty => found.iter().all(|value| json_path::is_empty(value)),
            Relation::Count => found
                .first()
                .and_then(|value| match value {
                    Value::Object(members) => Some(members.len()),
                    Value::Array(items) => Some(items.len()),
                    _ => None,
                })
                .is_some_and(|count| self.value == count),
            Relation::There | Relation::SomeNotEmpty => {
                found.iter().any(|value| !json_path::is_empty(value))
            }
            Relation::Milliseconds => {
                found.len() == 1 && found[0].as_u64() > Some(1_000_000_000_000)
            }
            Relation::ReverseOf => {
                let other = scenario.answer(self.value.as_str().unwrap());
                let other = json_path::all(other, &self.path);
                !found.is_empty() && found.iter().rev().eq(other.iter())
            }
            Relation::HasImage => ["cpu_image_url", "gpu_image_url"]
                .iter()
                .any(|name| found.first().is_some_and(|value| value.get(name).is_some())),
            Relation::NamesAnEngine => found
                .iter()
                .filter_map(|value| value.as_str())
                .any(|text| text.contains(scenario.engine_name())),
        };
        if holds {
            return Ok(());
        }
        let expected =
            if self.value.is_null() { String::new() } else { format!(", not {}", self.value) };
        Err(format!("{}{expected}", serde_json::json!(found)))
    }
}

/// Compares two values. 2 equals 2.0, because the service may use either type of number.
fn are_equal(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|number| Some(number) == other.as_f64())
}

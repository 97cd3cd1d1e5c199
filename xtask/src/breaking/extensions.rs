//! Comparison of the extensions at the root of the description, which programs read as data.
//!
//! Kinds of events, placeholders and waiters must not be removed. The operation and the field of a
//! waiter, and its existing outcomes, must not change. Texts of events are not compared, because
//! they change with new evidence about the service.

use serde_json::{Map, Value};

use super::change::{Break, compare_setting};

/// Compared lists of the extensions. A row contains the JSON pointer of the list, the key for the
/// name of an entry, the term for an entry in messages, and the other compared keys.
const LISTS: [(&str, &str, &str, &[&str]); 3] = [
    ("/x-events/kinds", "kind", "event kind", &[]),
    ("/x-events/placeholders", "name", "placeholder", &[]),
    (
        "/x-waiters",
        "name",
        "waiter",
        &["operation", "field", "outcomes"],
    ),
];

/// Adds a break for each removed name, and for each waiter whose condition has changed. New
/// outcomes are no breaks.
pub fn compare(before: &Value, after: &Value, breaks: &mut Vec<Break>) {
    for (list, name, word, _) in LISTS {
        for old in entries(before, list) {
            let place = format!("{word} {}", old[name].as_str().unwrap_or_default());
            let new = entries(after, list).find(|new| new[name] == old[name]);
            let Some(new) = new else {
                let what = "is gone".to_owned();
                breaks.push(Break { place, what });
                continue;
            };
            for key in ["operation", "field"] {
                compare_setting(&place, key, old, new, breaks);
            }
            let new = outcomes(new);
            for (condition, outcome) in outcomes(old) {
                let new = new.iter().find(|new| new.0 == condition);
                let new = new.map_or("not there", |(_, outcome)| outcome);
                if new != outcome {
                    breaks.push(Break {
                        place: place.clone(),
                        what: format!("{condition} was {outcome}, is {new}"),
                    });
                }
            }
        }
    }
}

/// Returns the conditions of a waiter, each with its outcome.
fn outcomes(waiter: &Value) -> Vec<(String, &str)> {
    let outcomes = entries(waiter, "/outcomes").filter_map(|outcome| {
        let condition = ["value", "error"].into_iter().find_map(|key| {
            let condition = outcome[key].as_str()?;
            Some(format!("{key} {condition}"))
        });
        Some((condition?, outcome["outcome"].as_str()?))
    });
    outcomes.collect()
}

/// Returns the entries of a list. The result is empty if the list is missing.
fn entries<'a>(root: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    let entries = root.pointer(list).and_then(Value::as_array);
    entries.into_iter().flatten()
}

/// Copies the compared parts of the extensions into a description that lacks them.
pub fn copy(description: &Value, base: &mut Value) {
    for (list, name, _, others) in LISTS {
        let kept = |entry: &Value| -> Map<_, _> {
            let keys = [name].into_iter().chain(others.iter().copied());
            keys.map(|key| (key.to_owned(), entry[key].clone()))
                .collect()
        };
        let kept: Vec<_> = entries(description, list).map(kept).collect();
        let target = list[1..]
            .split('/')
            .fold(&mut *base, |base, key| &mut base[key]);
        *target = kept.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{after, sample};

    #[test]
    fn names_that_are_gone_break() {
        for (list, place) in [
            ("/x-events/kinds", "event kind Started"),
            ("/x-events/placeholders", "placeholder task"),
            ("/x-waiters", "waiter JobRunning"),
        ] {
            assert_eq!(after(list, json!([])), [format!("{place}: is gone")]);
        }
    }

    #[test]
    fn a_waiter_waits_for_the_same() {
        let waiter = |key: &str, value| after(&format!("/x-waiters/0/{key}"), value);
        assert_eq!(
            waiter("field", json!("state")),
            ["waiter JobRunning: field was \"phase\", is \"state\""]
        );
        assert_eq!(
            waiter(
                "outcomes",
                json!([{ "value": "Running", "outcome": "failure" }])
            ),
            [
                "waiter JobRunning: value Running was success, is failure",
                "waiter JobRunning: error ModelArts.2775 was gone, is not there",
            ]
        );
    }

    #[test]
    fn texts_and_additions_are_free() {
        assert_eq!(
            after(
                "/x-events/kinds/0/texts",
                json!({ "guide": [], "api": ["It runs."] })
            ),
            [""; 0]
        );
        let mut outcomes = sample()["x-waiters"][0]["outcomes"].clone();
        let new = json!({ "value": "Failed", "outcome": "failure" });
        outcomes.as_array_mut().unwrap().push(new);
        assert_eq!(after("/x-waiters/0/outcomes", outcomes), [""; 0]);
    }
}

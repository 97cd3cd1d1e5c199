//! Differences between two requests, value by value.

use serde_json::{Map, Value};

/// Position at which two requests differ, with both values; `None` if the value is absent from a
/// request.
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// The position, as a JSON pointer into the request.
    pub at: String,
    pub theirs: Option<Value>,
    pub ours: Option<Value>,
}

pub fn between(theirs: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(theirs), Some(ours), &mut found);
    found
}

fn compare(at: String, theirs: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    match (theirs, ours) {
        (Some(Value::Object(theirs)), Some(Value::Object(ours))) => {
            for name in names(theirs, ours) {
                compare(format!("{at}/{name}"), theirs.get(name), ours.get(name), found);
            }
        }
        (Some(Value::Array(theirs)), Some(Value::Array(ours))) => {
            for index in 0..theirs.len().max(ours.len()) {
                compare(format!("{at}/{index}"), theirs.get(index), ours.get(index), found);
            }
        }
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => {
            found.push(Difference { at, theirs: theirs.cloned(), ours: ours.cloned() })
        }
    }
}

fn names<'a>(theirs: &'a Map<String, Value>, ours: &'a Map<String, Value>) -> Vec<&'a String> {
    let more = ours.keys().filter(|name| !theirs.contains_key(*name));
    theirs.keys().chain(more).collect()
}

#[test]
fn a_difference_has_its_place() {
    use serde_json::json;
    let found = between(
        &json!({"query": [["a", "1"]], "body": {"x": 1, "y": [1, 2]}}),
        &json!({"query": [["a", "1"]], "body": {"x": "1", "y": [1], "z": null}}),
    );
    let difference = |at: &str, theirs, ours| Difference { at: at.into(), theirs, ours };
    assert_eq!(
        found,
        [
            difference("/body/x", Some(json!(1)), Some(json!("1"))),
            difference("/body/y/1", Some(json!(2)), None),
            difference("/body/z", None, Some(json!(null))),
        ]
    );
}

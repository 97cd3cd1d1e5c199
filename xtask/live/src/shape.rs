//! Shape of a JSON value: its members and their types, without the values.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::description::type_of;

/// Type of each member by JSON pointer, with `*` for any element of a list.
pub type Shape = BTreeMap<String, &'static str>;

/// Returns the shape of a value. It is empty for null, an empty string and an empty object.
pub fn of(value: &Value) -> Shape {
    let mut shape = Shape::new();
    collect(String::new(), value, &mut shape);
    shape
}

fn collect(at: String, value: &Value, shape: &mut Shape) {
    match value {
        Value::Null => return,
        Value::String(text) if text.is_empty() => return,
        Value::Object(members) if members.is_empty() => return,
        Value::Array(list) => list
            .iter()
            .for_each(|it| collect(format!("{at}/*"), it, shape)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, it)| collect(format!("{at}/{name}"), it, shape)),
        _ => {}
    }
    shape.insert(at, type_of(value));
}

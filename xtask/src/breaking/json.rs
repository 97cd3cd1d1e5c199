//! Accessors for parts of a description.

use serde_json::Value;

/// Returns the entries of an object. The result is empty for other values.
pub fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns the strings of a list. The result is empty for other values.
pub fn strings(value: &Value) -> Vec<&str> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// Returns the target of a local reference, or the value itself.
pub fn follow<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"]
        .as_str()
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        .unwrap_or(value)
}

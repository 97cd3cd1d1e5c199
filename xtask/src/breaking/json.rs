//! Reading parts of a description.

use serde_json::Value;

/// The entries of an object, or none.
pub fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The strings of a list, or none.
pub fn strings(value: &Value) -> Vec<&str> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// The target of a local reference, or the value itself.
pub fn follow<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"]
        .as_str()
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        .unwrap_or(value)
}

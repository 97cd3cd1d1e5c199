//! Edits of the JSON of a request, by paths such as `spec.resource.flavor_id`.

use serde::Serialize;
use serde_json::{Map, Value};

pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let mut object = Value::Null;
    for (path, value) in fields {
        *slot(&mut object, path) = value;
    }
    object
}

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

pub(super) fn get<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    names.try_fold(body, |value, name| value.get(name))
}

pub(super) fn text_at<'a>(body: &'a Value, path: &str) -> &'a str {
    get(body, path).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn slot<'a>(body: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(body, member)
}

fn member<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    // Indexing creates a missing member.
    &mut value[name]
}

/// Sets the value at a path. A value that cannot be encoded as JSON becomes null.
pub(super) fn set(body: &mut Value, path: &str, value: impl Serialize) {
    *slot(body, path) = serde_json::to_value(value).unwrap_or_default();
}

pub(super) fn push(body: &mut Value, path: &str, value: impl Serialize) {
    let list = slot(body, path);
    let value = serde_json::to_value(value).unwrap_or_default();
    match list {
        Value::Array(items) => items.push(value),
        _ => *list = Value::Array(vec![value]),
    }
}

pub(super) fn insert(body: &mut Value, path: &str, key: &str, value: String) {
    *member(slot(body, path), key) = value.into();
}

pub(super) fn remove(body: &mut Value, path: &str) -> Option<Value> {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => {
            let parent = parent.split('.').try_fold(&mut *body, |value, name| value.get_mut(name));
            (parent?, name)
        }
        None => (body, path),
    };
    parent.as_object_mut()?.remove(name)
}

pub(super) fn prune(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(prune);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(prune);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_grow_as_they_are_written() {
        let mut body = json!({"spec": null, "algorithm": {"inputs": null}});
        set(&mut body, "spec.resource.node_count", 2);
        push(&mut body, "algorithm.inputs", "a");
        push(&mut body, "algorithm.inputs", "b");
        insert(&mut body, "metadata.annotations", "a.b/c", "true".into());
        let whole = json!({
            "spec": {"resource": {"node_count": 2}},
            "algorithm": {"inputs": ["a", "b"]},
            "metadata": {"annotations": {"a.b/c": "true"}},
        });
        assert_eq!(body, whole);
        assert_eq!(remove(&mut body, "spec.resource.node_count"), Some(json!(2)));
        assert_eq!(remove(&mut body, "spec.volumes.x"), None);
        assert_eq!(remove(&mut body, "metadata"), Some(whole["metadata"].clone()));
        assert_eq!(body, json!({"spec": {"resource": {}}, "algorithm": {"inputs": ["a", "b"]}}));
    }

    #[test]
    fn nulls_are_taken_away() {
        let mut body = json!({"a": null, "b": [null, {"c": null, "d": 1}]});
        prune(&mut body);
        assert_eq!(body, json!({"b": [{"d": 1}]}));
    }
}

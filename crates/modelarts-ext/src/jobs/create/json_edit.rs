//! Edits of the JSON of a request, by paths such as `spec.resource.flavor_id`.

use serde_json::{Map, Value};

/// Returns the value at a path, and creates missing objects on the way.
pub(super) fn slot<'a>(body: &'a mut Value, path: &str) -> &'a mut Value {
    let mut value = body;
    for name in path.split('.') {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        // Indexing creates missing fields.
        value = &mut value[name];
    }
    value
}

pub(super) fn set(body: &mut Value, path: &str, value: impl Into<Value>) {
    *slot(body, path) = value.into();
}

/// Appends to a list.
pub(super) fn push(body: &mut Value, path: &str, value: impl Into<Value>) {
    let list = slot(body, path);
    match list {
        Value::Array(items) => items.push(value.into()),
        _ => *list = Value::Array(vec![value.into()]),
    }
}

/// Sets an entry of a map, whose key may have dots.
pub(super) fn insert(body: &mut Value, path: &str, key: String, value: impl Into<Value>) {
    let map = slot(body, path);
    if !map.is_object() {
        *map = Value::Object(Map::new());
    }
    if let Value::Object(entries) = map {
        entries.insert(key, value.into());
    }
}

/// Removes a field, and keeps its parent.
pub(super) fn remove(body: &mut Value, path: &str) -> Option<Value> {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => {
            let parent = parent
                .split('.')
                .try_fold(&mut *body, |value, name| value.get_mut(name));
            (parent?, name)
        }
        None => (body, path),
    };
    parent.as_object_mut()?.remove(name)
}

/// Removes every null.
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
        insert(&mut body, "metadata.annotations", "a.b/c".into(), "true");
        let whole = json!({
            "spec": {"resource": {"node_count": 2}},
            "algorithm": {"inputs": ["a", "b"]},
            "metadata": {"annotations": {"a.b/c": "true"}},
        });
        assert_eq!(body, whole);
        assert_eq!(
            remove(&mut body, "spec.resource.node_count"),
            Some(json!(2))
        );
        assert_eq!(remove(&mut body, "spec.volumes.x"), None);
        assert_eq!(
            remove(&mut body, "metadata"),
            Some(whole["metadata"].clone())
        );
        assert_eq!(
            body,
            json!({"spec": {"resource": {}}, "algorithm": {"inputs": ["a", "b"]}})
        );
    }

    #[test]
    fn nulls_are_taken_away() {
        let mut body = json!({"a": null, "b": [null, {"c": null, "d": 1}]});
        prune(&mut body);
        assert_eq!(body, json!({"b": [{"d": 1}]}));
    }
}

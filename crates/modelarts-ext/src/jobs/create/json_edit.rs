//! Writing into the JSON of a request.

use serde_json::{Map, Value};

/// The value at the end of a way such as `spec.resource.flavor_id`; what is not
/// there yet is made.
pub(crate) fn slot<'a>(body: &'a mut Value, way: &str) -> &'a mut Value {
    let mut here = body;
    for name in way.split('.') {
        if !here.is_object() {
            *here = Value::Object(Map::new());
        }
        // An object makes what it is indexed with.
        here = &mut here[name];
    }
    here
}

pub(crate) fn set(body: &mut Value, way: &str, value: impl Into<Value>) {
    *slot(body, way) = value.into();
}

/// Appends to a list.
pub(crate) fn push(body: &mut Value, way: &str, value: impl Into<Value>) {
    let list = slot(body, way);
    match list {
        Value::Array(items) => items.push(value.into()),
        _ => *list = Value::Array(vec![value.into()]),
    }
}

/// Sets an entry of a map, whose key may have dots.
pub(crate) fn insert(body: &mut Value, way: &str, key: String, value: impl Into<Value>) {
    let map = slot(body, way);
    if !map.is_object() {
        *map = Value::Object(Map::new());
    }
    if let Value::Object(entries) = map {
        entries.insert(key, value.into());
    }
}

/// Removes a field; what held it stays.
pub(crate) fn remove(body: &mut Value, way: &str) -> Option<Value> {
    let (parent, name) = match way.rsplit_once('.') {
        Some((parent, name)) => {
            let parent = parent
                .split('.')
                .try_fold(&mut *body, |value, name| value.get_mut(name));
            (parent?, name)
        }
        None => (body, way),
    };
    parent.as_object_mut()?.remove(name)
}

/// Takes away every null.
pub(crate) fn prune(value: &mut Value) {
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

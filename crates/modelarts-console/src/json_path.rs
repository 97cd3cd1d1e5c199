//! Fields of JSON bodies by their paths.

use serde_json::Value;

/// Returns the JSON pointer of a path such as `spec.resource.node_count`. The key of an annotation
/// may contain dots and slashes.
pub(crate) fn pointer(path: &str) -> String {
    const ANNOTATIONS: &str = "metadata.annotations.";
    match path.strip_prefix(ANNOTATIONS) {
        Some(key) => format!("/metadata/annotations/{}", step(key)),
        None => format!("/{}", path.replace('.', "/")),
    }
}

/// Returns a key as a step of a JSON pointer.
pub(crate) fn step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Removes and returns the value at a JSON pointer.
pub(crate) fn take(value: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, key) = pointer.rsplit_once('/')?;
    let parent = value.pointer_mut(parent)?.as_object_mut()?;
    parent.remove(&key.replace("~1", "/").replace("~0", "~"))
}

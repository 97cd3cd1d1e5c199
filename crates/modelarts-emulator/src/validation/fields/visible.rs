//! The fields of a request that responses return.

use serde_json::Value;

use crate::validation::fields::{
    field_spec::{FieldSpec, Handling},
    field_tree::{CREATION, Node},
};

/// Adds to a rendered job the fields of its creation that are returned unchanged.
pub(crate) fn give_back(shown: &mut Value, given: &Value) {
    merge(&CREATION, shown, given);
}

fn merge(node: &Node, shown: &mut Value, given: &Value) {
    match (shown, given) {
        (Value::Object(shown), Value::Object(given)) => {
            for (name, given) in given.iter().filter(|(_, given)| !given.is_null()) {
                let Some(node) = node.below.get(name.as_str()) else {
                    continue;
                };
                let there = shown.get_mut(name).filter(|shown| !shown.is_null());
                match (node.handling(), there) {
                    (Handling::Acted | Handling::Echoed | Handling::Stored, Some(shown)) => {
                        merge(node, shown, given);
                    }
                    (Handling::Echoed | Handling::Stored, None) => {
                        shown.insert(name.clone(), filtered(node, given, is_shown));
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(shown), Value::Array(given)) => {
            if let Some(node) = node.below.get("[]") {
                for (shown, given) in shown.iter_mut().zip(given) {
                    merge(node, shown, given);
                }
            }
        }
        _ => {}
    }
}

/// True if responses have such fields.
fn is_shown(handling: Handling) -> bool {
    matches!(
        handling,
        Handling::Acted | Handling::Echoed | Handling::Stored
    )
}

/// The body of a creation without the members that no response has.
pub(crate) fn visible_part(body: &Value) -> Value {
    filtered(&CREATION, body, is_shown)
}

/// The visible part of another body, whose table is `lines`.
pub(crate) fn visible_part_of(lines: &'static [FieldSpec], body: &Value) -> Value {
    filtered(&Node::of(lines), body, is_shown)
}

/// The body of a creation without the members that are not in the table.
pub(crate) fn known_part(body: &Value) -> Value {
    filtered(&CREATION, body, |_| true)
}

/// A value without the members that are not in the table, or that `keep` rejects.
fn filtered(node: &Node, given: &Value, keep: fn(Handling) -> bool) -> Value {
    match given {
        Value::Object(members) if !node.is_free() => members
            .iter()
            .filter_map(|(name, value)| {
                let node = node.below.get(name.as_str())?;
                keep(node.handling()).then(|| (name.clone(), filtered(node, value, keep)))
            })
            .collect(),
        Value::Array(items) => match node.below.get("[]") {
            Some(node) => items
                .iter()
                .map(|item| filtered(node, item, keep))
                .collect(),
            None => given.clone(),
        },
        _ => given.clone(),
    }
}

//! Fields of a request that responses return.

use serde_json::Value;

use crate::validation::fields::{
    CREATION,
    field::{Field, Handling},
};

/// Adds the fields of the create request that are returned unchanged.
pub(crate) fn give_back(shown: &mut Value, given: &Value) {
    merge(&CREATION, shown, given);
}

fn merge(field: &Field, shown: &mut Value, given: &Value) {
    match (shown, given) {
        (Value::Object(shown), Value::Object(given)) => {
            for (name, given) in given.iter().filter(|(_, given)| !given.is_null()) {
                let Some(member) = field.member(name) else {
                    continue;
                };
                match shown.get_mut(name).filter(|shown| !shown.is_null()) {
                    Some(shown) if member.handling.is_shown() => merge(member, shown, given),
                    None if matches!(member.handling, Handling::Echoed | Handling::Stored) => {
                        shown.insert(name.clone(), filtered(member, given, Handling::is_shown));
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(shown), Value::Array(given)) => {
            if let Some(element) = field.element() {
                for (shown, given) in shown.iter_mut().zip(given) {
                    merge(element, shown, given);
                }
            }
        }
        _ => {}
    }
}

/// Returns a CreateTrainingJob body without the members that responses never contain.
pub(crate) fn visible_part(body: &Value) -> Value {
    visible_part_of(&CREATION, body)
}

pub(crate) fn visible_part_of(field: &Field, body: &Value) -> Value {
    filtered(field, body, Handling::is_shown)
}

/// Returns a CreateTrainingJob body without the members that are not in the table.
pub(crate) fn known_part(body: &Value) -> Value {
    filtered(&CREATION, body, |_| true)
}

/// Returns a value without the members that the table lacks or for which `keep` returns `false`.
fn filtered(field: &Field, given: &Value, keep: fn(Handling) -> bool) -> Value {
    match (given, field.element()) {
        (Value::Object(members), _) if !field.is_free() => members
            .iter()
            .filter_map(|(name, value)| {
                let member = field.member(name)?;
                keep(member.handling).then(|| (name.clone(), filtered(member, value, keep)))
            })
            .collect(),
        (Value::Array(items), Some(element)) => {
            items.iter().map(|item| filtered(element, item, keep)).collect()
        }
        _ => given.clone(),
    }
}

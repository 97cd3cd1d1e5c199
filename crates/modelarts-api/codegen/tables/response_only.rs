//! Fields that occur in the response of an operation but not in its request body.

use serde_json::Value;

use super::super::{
    description::{Operation, json_schema, members, resolve},
    extensions::Effect,
};

/// Returns the paths of these fields for an operation that creates an object, and an empty list for
/// any other operation. Fields inside a listed field are omitted.
pub fn paths(description: &Value, operation: &Operation<'_>, effect: Effect) -> Vec<String> {
    let mut paths = Vec::new();
    if effect == Effect::Create
        && let Some(sent) = operation.body(description).and_then(json_schema)
    {
        let responses = members(operation.definition, "responses");
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            if let Some(answered) = json_schema(resolve(description, response)) {
                compare(description, answered, sent, "", &mut paths);
            }
        }
    }
    paths
}

fn compare(
    description: &Value,
    answered: &Value,
    sent: &Value,
    path: &str,
    paths: &mut Vec<String>,
) {
    let (answered, sent) = (resolve(description, answered), resolve(description, sent));
    if let (Some(answered), Some(sent)) = (answered.get("items"), sent.get("items")) {
        return compare(description, answered, sent, &format!("{path}[]"), paths);
    }
    for (name, answered) in members(answered, "properties") {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        match sent.pointer(&format!("/properties/{name}")) {
            Some(sent) => compare(description, answered, sent, &path, paths),
            None => paths.push(path),
        }
    }
}

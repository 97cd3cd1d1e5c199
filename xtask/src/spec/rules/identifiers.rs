//! Rules on the names of operations.

use std::collections::BTreeMap;

use heck::ToUpperCamelCase;
use serde_json::Value;

use super::super::{document::Document, offence::Offence, pointer::join};

/// Checks `operationId`, which progenitor requires, and from which every generator derives the name
/// of a method.
pub fn operations(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for operation in &document.operations {
        let Some(id) = operation.value.get("operationId").and_then(Value::as_str) else {
            offences.push(Offence::new(
                &operation.place,
                "has no operationId; give it the service's own name",
            ));
            continue;
        };
        let place = join(&operation.place, "operationId");
        let pascal = id.to_upper_camel_case();
        if pascal != id {
            offences.push(Offence::new(&place, format!("write {id} as {pascal}")));
        }
        if let Some(other) = seen.insert(id.to_lowercase(), id) {
            let message = format!("{id} is taken by {other}; case does not count");
            offences.push(Offence::new(&place, message));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{LIST, with},
        *,
    };

    #[test]
    fn names_that_are_missing_or_clash_fire() {
        let of = |id: Value| with(operations, LIST, "operationId", id);
        assert_eq!(
            of(json!(null)),
            [format!(
                "{LIST}: has no operationId; give it the service's own name"
            )]
        );
        assert_eq!(
            of(json!("listJobs")),
            [format!("{LIST}/operationId: write listJobs as ListJobs")]
        );
        let post = LIST.replace("/get", "/post");
        assert_eq!(
            of(json!("CreateJob")),
            [format!(
                "{post}/operationId: CreateJob is taken by CreateJob; case does not count"
            )]
        );
    }

    #[test]
    fn a_name_of_its_own_is_silent() {
        assert_eq!(
            with(operations, LIST, "operationId", json!("ShowJobs")),
            [""; 0]
        );
    }
}

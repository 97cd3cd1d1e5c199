//! What each operation must say that OpenAPI has no word for.

use serde_json::{Value, json};

use super::super::{
    document::{Document, Operation, entries},
    offence::Offence,
    pointer::join,
};

/// The extensions that exist, all on operations.
const EXTENSIONS: [&str; 4] = ["x-effect", "x-clouds", "x-error-codes", "x-pagination"];

/// Retries depend on it, so nobody may forget it.
pub fn effect(document: &Document) -> Vec<Offence> {
    document
        .operations
        .iter()
        .filter_map(|operation| {
            let effect = operation.value.get("x-effect").and_then(Value::as_str);
            let message = match (effect, method(operation)) {
                (Some("read"), "put" | "delete" | "patch") => {
                    "a read is a GET, or a POST that searches"
                }
                (Some("idempotent" | "create"), "get") => "a GET is a read",
                (Some("read" | "idempotent" | "create"), _) => return None,
                _ => "write read, idempotent or create: what sending it twice does",
            };
            Some(Offence::new(join(&operation.place, "x-effect"), message))
        })
        .collect()
}

fn method<'a>(operation: &'a Operation) -> &'a str {
    operation.place.rsplit('/').next().unwrap_or_default()
}

/// Where the operation exists.
pub fn clouds(document: &Document) -> Vec<Offence> {
    let admitted = [json!(["huawei"]), json!(["otc"]), json!(["huawei", "otc"])];
    document
        .operations
        .iter()
        .filter(|operation| {
            let clouds = operation.value.get("x-clouds");
            !clouds.is_some_and(|clouds| admitted.contains(clouds))
        })
        .map(|operation| {
            Offence::new(
                join(&operation.place, "x-clouds"),
                "write [huawei], [otc] or [huawei, otc]: where the operation exists",
            )
        })
        .collect()
}

/// A misspelt extension says nothing to anybody.
pub fn known_extensions(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for operation in &document.operations {
        for (key, _) in entries(Some(operation.value)) {
            if key.starts_with("x-") && !EXTENSIONS.contains(&key.as_str()) {
                offences.push(Offence::new(
                    join(&operation.place, key),
                    format!("no such extension; there are {}", EXTENSIONS.join(", ")),
                ));
            }
        }
    }
    for schema in &document.schemas {
        // What x-open-enum says is judged with the parameter.
        let of_parameter = schema.place.contains("/parameters/");
        for (key, _) in entries(Some(schema.value))
            .filter(|(key, _)| key.starts_with("x-") && !(of_parameter && *key == "x-open-enum"))
        {
            offences.push(Offence::new(
                join(&schema.place, key),
                "schemas have no extensions here",
            ));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{CREATE, JOB, LIST, with},
        *,
    };

    #[test]
    fn an_effect_that_is_missing_or_cannot_be_fires() {
        let place = format!("{LIST}/x-effect");
        for none in [json!(null), json!("reads")] {
            assert_eq!(
                with(effect, LIST, "x-effect", none),
                [format!(
                    "{place}: write read, idempotent or create: what sending it twice does"
                )]
            );
        }
        assert_eq!(
            with(effect, LIST, "x-effect", json!("create")),
            [format!("{place}: a GET is a read")]
        );
    }

    #[test]
    fn a_post_may_have_any_effect() {
        for value in ["read", "idempotent", "create"] {
            assert_eq!(with(effect, CREATE, "x-effect", json!(value)), [""; 0]);
        }
    }

    #[test]
    fn clouds_that_are_missing_or_unknown_fire() {
        for wrong in [json!(null), json!([]), json!("otc"), json!(["aws"])] {
            assert_eq!(
                with(clouds, LIST, "x-clouds", wrong),
                [format!(
                    "{LIST}/x-clouds: write [huawei], [otc] or [huawei, otc]: where the operation exists"
                )]
            );
        }
    }

    #[test]
    fn both_clouds_are_silent() {
        for right in [json!(["huawei"]), json!(["otc"]), json!(["huawei", "otc"])] {
            assert_eq!(with(clouds, LIST, "x-clouds", right), [""; 0]);
        }
    }

    #[test]
    fn other_extensions_fire() {
        assert_eq!(
            with(known_extensions, LIST, "x-efect", json!("read")),
            [format!(
                "{LIST}/x-efect: no such extension; there are x-effect, x-clouds, x-error-codes, \
                 x-pagination"
            )]
        );
        assert_eq!(
            with(known_extensions, JOB, "x-extensible-enum", json!([])),
            [format!(
                "{JOB}/x-extensible-enum: schemas have no extensions here"
            )]
        );
    }

    #[test]
    fn known_extensions_are_silent() {
        assert_eq!(
            with(known_extensions, LIST, "x-effect", json!("read")),
            [""; 0]
        );
    }
}

//! Rules on extensions: effects, clouds and sources of operations, and known values of parameters.

use serde_json::{Value, json};

use super::super::{
    super::codegen,
    document::{Document, Operation, Role, Schema, entries},
    offence::Offence,
    pointer::join,
};

/// The extensions of the whole description.
const OF_ROOT: [&str; 3] = ["x-error-table", "x-events", "x-waiters"];
/// The extensions of operations.
const EXTENSIONS: [&str; 5] = [
    "x-effect",
    "x-clouds",
    "x-sources",
    "x-error-codes",
    "x-pagination",
];

/// Checks `x-effect`, on which retries depend.
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

/// Checks `x-clouds`, which lists the clouds on which the operation exists.
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

/// Checks that the description of an operation that only one cloud has ends with a sentence that
/// names the cloud, and that no other description does. Generated code does not show `x-clouds`.
pub fn clouds_in_words(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for operation in &document.operations {
        let text = |key: &str| operation.value.get(key).and_then(Value::as_str);
        let description = text("description").unwrap_or_default().trim_end();
        let clouds = operation.value.get("x-clouds");
        for (cloud, sentence) in [
            ("huawei", "Huawei Cloud only."),
            ("otc", "Open Telekom Cloud only."),
        ] {
            let only = clouds == Some(&json!([cloud]));
            let message = match (only, description.ends_with(sentence)) {
                (true, false) => format!("end with: {sentence} x-clouds says so"),
                (false, true) => format!("ends with: {sentence} x-clouds says otherwise"),
                _ => continue,
            };
            offences.push(Offence::new(join(&operation.place, "description"), message));
        }
    }
    offences
}

/// Checks `x-sources`, which lists the documents that describe an operation.
pub fn sources(document: &Document) -> Vec<Offence> {
    let known = |tag: &Value| codegen::SOURCES.iter().any(|(known, _)| tag == known);
    document
        .operations
        .iter()
        .filter(|operation| {
            let sources = operation.value.get("x-sources").and_then(Value::as_array);
            !sources.is_some_and(|tags| !tags.is_empty() && tags.iter().all(known))
        })
        .map(|operation| {
            let tags: Vec<_> = codegen::SOURCES.iter().map(|(tag, _)| *tag).collect();
            Offence::new(
                join(&operation.place, "x-sources"),
                format!("write which documents it comes from: {}", tags.join(", ")),
            )
        })
        .collect()
}

/// Checks the names of extensions, because a misspelt extension would have no effect.
pub fn known_extensions(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    let operations = document.operations.iter();
    let operations = operations.map(|it| (it.place.as_str(), it.value, EXTENSIONS.as_slice()));
    let root = ("", document.root, OF_ROOT.as_slice());
    for (place, value, known) in operations.chain([root]) {
        for (key, _) in entries(Some(value)) {
            if key.starts_with("x-") && !known.contains(&key.as_str()) {
                offences.push(Offence::new(
                    join(place, key),
                    format!("no such extension; there are {}", known.join(", ")),
                ));
            }
        }
    }
    for schema in &document.schemas {
        // Skips parameters, because the rule on parameters checks their `x-open-enum`.
        let of_parameter = schema.place.contains("/parameters/");
        for (key, value) in entries(Some(schema.value)).filter(|(key, _)| key.starts_with("x-")) {
            let message = match key.as_str() {
                "x-open-enum" if of_parameter => continue,
                "x-open-enum" if is_text_with_constants(document, schema, value) => continue,
                "x-open-enum" => {
                    "must be on a schema of type string and name one that lists values"
                }
                _ => "schemas have no extensions here",
            };
            offences.push(Offence::new(join(&schema.place, key), message));
        }
    }
    offences
}

/// Returns true if a schema is a string whose `x-open-enum` names an enumeration with its known
/// values. This form replaces `anyOf` where generators for Go and Java would define a wrapper type,
/// which is inconvenient for comparisons.
fn is_text_with_constants(document: &Document, schema: &Schema, constants: &Value) -> bool {
    let place = constants
        .as_str()
        .map(|name| join(&join("/components/schemas", name), "enum"));
    matches!(schema.role, Role::Property | Role::Named(_))
        && schema.value.get("type") == Some(&json!("string"))
        && place.is_some_and(|place| document.at(&place).is_some())
}

#[cfg(test)]
mod tests {
    use crate::workspace;

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
    fn words_that_differ_from_the_clouds_fire() {
        let place = format!("{LIST}/description");
        assert_eq!(
            with(clouds_in_words, LIST, "x-clouds", json!(["huawei"])),
            [format!(
                "{place}: end with: Huawei Cloud only. x-clouds says so"
            )]
        );
        let text = json!("Lists jobs. Open Telekom Cloud only.\n");
        assert_eq!(
            with(clouds_in_words, LIST, "description", text),
            [format!(
                "{place}: ends with: Open Telekom Cloud only. x-clouds says otherwise"
            )]
        );
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
    fn sources_that_are_missing_or_unknown_fire() {
        for wrong in [json!(null), json!([]), json!("O"), json!(["O", "Z"])] {
            assert_eq!(
                with(sources, LIST, "x-sources", wrong),
                [format!(
                    "{LIST}/x-sources: write which documents it comes from: \
                     O, S, W, T, P, F1, F2, F3, F4, F5, U, X, K, C, C1, C2, C3, C4, C5, C6, C7, V"
                )]
            );
        }
        assert_eq!(with(sources, LIST, "x-sources", json!(["F1"])), [""; 0]);
    }

    /// `x-sources` of each operation must equal its row in the table of operations in SOURCES.md.
    #[test]
    fn the_sources_of_the_description_are_those_of_the_table() {
        let root = workspace::description();
        let table = std::fs::read_to_string(root.with_file_name("SOURCES.md")).unwrap();
        let description = crate::regenerate::read(&root).unwrap();
        for operation in &Document::new(&description).operations {
            let says = |key: &str| operation.value.get(key);
            let id = says("operationId").and_then(Value::as_str).unwrap();
            let tags = says("x-sources").and_then(Value::as_array).unwrap();
            let tags: Vec<_> = tags.iter().filter_map(Value::as_str).collect();
            let row = format!("\n| {id} | {} |", tags.join(" "));
            assert!(table.contains(&row), "SOURCES.md has no row {row}");
        }
    }

    /// Each row of a contradiction must contain the statements of the documents, the decision and
    /// its reason.
    #[test]
    fn every_contradiction_has_an_id_a_decision_and_a_reason() {
        let file = workspace::description().with_file_name("SOURCES.md");
        let text = std::fs::read_to_string(file).unwrap();
        let mut ids = Vec::new();
        let (_, contradictions) = text.split_once("\n## Contradictions\n").unwrap();
        let (contradictions, _) = contradictions.split_once("\n## ").unwrap();
        for row in contradictions.lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            assert_eq!(cells.len(), 4, "{row}");
            assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
            if let Some(id) = cells[0].strip_prefix("D-") {
                ids.push(id.parse::<u32>().unwrap());
            }
        }
        ids.sort_unstable();
        // Missing ids were never assigned.
        let given = (1..=25).chain(30..=40).chain(50..=137);
        let given: Vec<u32> = given.chain(140..=148).chain(150..=159).collect();
        assert_eq!(ids, given);
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
                "{LIST}/x-efect: no such extension; there are x-effect, x-clouds, x-sources, \
                 x-error-codes, x-pagination"
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
    fn other_extensions_of_the_description_fire() {
        assert_eq!(
            with(known_extensions, "", "x-tagGroups", json!([])),
            ["/x-tagGroups: no such extension; there are x-error-table, x-events, x-waiters"]
        );
    }

    #[test]
    fn constants_that_are_none_fire() {
        let property = "/components/schemas/ApiError/properties/error_code";
        let message = format!(
            "{property}/x-open-enum: must be on a schema of type string and name one that lists values"
        );
        for name in [json!("Job"), json!("Nothing"), json!(1)] {
            assert_eq!(
                with(known_extensions, property, "x-open-enum", name),
                [message.as_str()]
            );
        }
        assert_eq!(
            with(known_extensions, property, "type", json!("integer")),
            [message]
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

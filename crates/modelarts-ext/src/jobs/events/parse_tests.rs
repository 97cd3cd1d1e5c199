//! Tests of `EventKind` against `x-events` of the description and `openapi/vectors/events.json`.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value, json};

use crate::jobs::events::kind::EventKind;

/// Variants that are not in the OpenAPI description: `DependenciesFailed` has no documented text,
/// and `Other` is any other event.
const NOT_IN_DESCRIPTION: [&str; 2] = ["DependenciesFailed", "Other"];

fn catalogue() -> Value {
    let description: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    description["x-events"].clone()
}

fn vectors() -> Vec<Value> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/vectors/events.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    vectors["cases"].as_array().unwrap().clone()
}

/// Returns the name of the kind and its fields, from its JSON. Fields are named like the
/// placeholders, and durations are in seconds.
fn name_and_fields(kind: &EventKind) -> (String, Map<String, Value>) {
    let json = serde_json::to_value(kind).unwrap();
    let fields = json.as_object().unwrap().iter();
    let fields = fields.filter(|(field, _)| *field != "kind");
    let fields = fields.map(|(field, value)| {
        let placeholder = match field.as_str() {
            "took_seconds" => "seconds",
            "limit_seconds" => "limit",
            field => field,
        };
        (placeholder.to_owned(), value.clone())
    });
    (pascal_case(json["kind"].as_str().unwrap()), fields.collect())
}

/// Returns the name of a variant from its name in JSON.
fn pascal_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect()
}

/// Compares two sets of fields. Numbers in different forms, such as 12 and 12.0, are equal.
fn assert_fields(fields: &Map<String, Value>, expected: &Map<String, Value>, text: &str) {
    let names = |fields: &Map<String, Value>| fields.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(fields), names(expected), "{text}");
    for (name, value) in fields {
        let expected = &expected[name];
        let equal = value == expected || value.is_number() && value.as_f64() == expected.as_f64();
        assert!(equal, "{text}: {name} is {value}, not {expected}");
    }
}

/// Returns two sets of values for the placeholders of the description. Each value is given as text
/// and in parsed form.
fn values() -> [Vec<(&'static str, &'static str, Value)>; 2] {
    let first = vec![
        ("task", "worker-0", json!("worker-0")),
        ("seconds", "1.500", json!(1.5)),
        ("cause", "no agency", json!("no agency")),
        ("error", "dns", json!("dns")),
        ("files", "requirements.txt", json!(["requirements.txt"])),
        ("parameter", "data_url", json!("data_url")),
        ("limit", "1 hour", json!(3600)),
        ("exit_code", "0", json!(0)),
        ("object", "Pod", json!("Pod")),
        ("name", "modelarts-job-1-worker-0", json!("modelarts-job-1-worker-0")),
        ("reason", "Started", json!("Started")),
        ("text", "Started container", json!("Started container")),
    ];
    let second = vec![
        ("task", "ps-12", json!("ps-12")),
        ("seconds", "7", json!(7)),
        ("cause", "obs://example: 403: denied.", json!("obs://example: 403: denied.")),
        ("error", "[Errno 2] no: file", json!("[Errno 2] no: file")),
        ("files", "a b.txt, c.txt", json!(["a b.txt", "c.txt"])),
        ("parameter", "my data", json!("my data")),
        ("limit", "12 hours", json!(43200)),
        ("exit_code", "137", json!(137)),
        ("object", "Resource pool", json!("Resource pool")),
        ("name", "my pool", json!("my pool")),
        ("reason", "Full", json!("Full")),
        ("text", "node: none is free", json!("node: none is free")),
    ];
    [first, second]
}

#[test]
fn every_text_of_the_description_is_read_with_all_its_values() {
    let catalogue = catalogue();
    let mut texts = 0;
    for kind in catalogue["kinds"].as_array().unwrap() {
        let name = kind["kind"].as_str().unwrap();
        let listed = ["guide", "api"].map(|wording| kind["texts"][wording].as_array().unwrap());
        for template in listed.into_iter().flatten() {
            for values in values() {
                let mut text = template.as_str().unwrap().to_owned();
                let mut expected = Map::new();
                for (placeholder, written, value) in values {
                    let mark = format!("{{{placeholder}}}");
                    if text.contains(&mark) {
                        text = text.replace(&mark, written);
                        expected.insert(placeholder.to_owned(), value);
                    }
                }
                assert!(!text.contains('{'), "{text}: a placeholder without a value");
                let parsed = EventKind::parse(&text);
                let (parsed_name, mut fields) = name_and_fields(&parsed);
                // Removes the fields that this wording does not state.
                fields.retain(|field, value| !value.is_null() || expected.contains_key(field));
                assert_eq!(parsed_name, name, "{text}");
                assert_fields(&fields, &expected, &text);
                assert_eq!(parsed.is_final(), kind["final"] == true, "{text}");
                texts += 1;
            }
        }
    }
    assert_eq!(texts, 2 * 37, "30 texts of the guide, 6 of the API, 1 of the cluster");
}

#[test]
fn the_examples_of_the_description_are_read() {
    let catalogue = catalogue();
    for placeholder in catalogue["placeholders"].as_array().unwrap() {
        let name = placeholder["name"].as_str().unwrap();
        let known = values().iter().all(|values| values.iter().any(|value| value.0 == name));
        assert!(known, "{name}: add it to the values above");
    }
    for kind in catalogue["kinds"].as_array().unwrap() {
        for example in kind["examples"].as_array().into_iter().flatten() {
            let text = example["text"].as_str().unwrap();
            let (name, fields) = name_and_fields(&EventKind::parse(text));
            assert_eq!(name, kind["kind"], "{text}");
            let mut written = kind["texts"]["api"][0].as_str().unwrap().to_owned();
            for (field, value) in &fields {
                written = written.replace(&format!("{{{field}}}"), value.as_str().unwrap());
            }
            assert_eq!(written, text);
        }
    }
}

#[test]
fn the_kinds_are_those_of_the_description() {
    // The error of serde for an unknown variant lists all variants.
    let message =
        serde_json::from_value::<EventKind>(json!({"kind": "?"})).unwrap_err().to_string();
    let variants = message.split('`').skip(3).step_by(2).map(pascal_case);
    let variants: BTreeSet<String> = variants.collect();
    let catalogue = catalogue();
    let kinds = catalogue["kinds"].as_array().unwrap().iter();
    let kinds = kinds.map(|kind| kind["kind"].as_str().unwrap());
    let kinds: BTreeSet<String> = kinds.chain(NOT_IN_DESCRIPTION).map(str::to_owned).collect();
    assert_eq!(variants, kinds);
}

#[test]
fn the_vectors_hold() {
    let cases = vectors();
    assert_eq!(cases.len(), 128);
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let parsed = EventKind::parse(text);
        let (name, fields) = name_and_fields(&parsed);
        assert_eq!(name, case["kind"], "{}: {text}", case["name"]);
        assert_fields(&fields, case["fields"].as_object().unwrap(), text);
        assert_eq!(parsed.is_final(), case["final"] == true, "{text}");
        assert_eq!(parsed.task(), case["fields"]["task"].as_str(), "{text}");
    }
}

/// A `Duration` has 9 decimals, so this message is missing from the vectors, which contain exact
/// values.
#[test]
fn durations_may_have_more_decimals_than_nanoseconds() {
    let text = "[worker-0][time used: 0.2960195541381836s] Upload training output(parameter name: \
                train_url) finished.";
    let parsed = EventKind::OutputUploaded {
        task: "worker-0".to_owned(),
        took: Some(Duration::from_nanos(296_019_554)),
        parameter: "train_url".to_owned(),
    };
    assert_eq!(EventKind::parse(text), parsed);
}

/// Returns `true` if the text matches the template with arbitrary values for its placeholders.
fn is_of(template: &str, text: &str) -> bool {
    let mut rest = text;
    // The even parts are literals; the odd parts are names of placeholders.
    for (index, literal) in template.split(['{', '}']).step_by(2).enumerate() {
        match rest.split_once(literal) {
            Some((value, after)) if index > 0 || value.is_empty() => rest = after,
            _ => return false,
        }
    }
    rest.is_empty() || template.ends_with('}')
}

#[test]
fn each_text_of_the_description_has_an_exact_vector() {
    let cases = vectors();
    let exact = cases.iter().filter(|case| case["exact"] == true);
    let exact: Vec<&Value> = exact.collect();
    let catalogue = catalogue();
    let mut texts = Vec::new();
    for kind in catalogue["kinds"].as_array().unwrap() {
        for wording in ["guide", "api"] {
            for text in kind["texts"][wording].as_array().unwrap() {
                texts.push((&kind["kind"], text.as_str().unwrap()));
            }
        }
    }
    let fits = |kind: &Value, template: &str, case: &Value| {
        case["kind"] == *kind && is_of(template, case["text"].as_str().unwrap())
    };
    for (kind, template) in &texts {
        let found = exact.iter().any(|case| fits(kind, template, case));
        assert!(found, "no case has the text {template}");
    }
    for case in exact {
        let found = texts.iter().any(|(kind, template)| fits(kind, template, case));
        assert!(found, "{case} is no text of x-events");
    }
}

/// Tests the message of a failed installation. Only the emulator sends it, so it occurs neither in
/// the description nor in the vectors.
#[test]
fn packages_that_cannot_be_installed_have_their_kind() {
    let prefix = "Failed to install Python dependency packages.";
    fn fields(seconds: Value, files: &[&str], cause: &str) -> Value {
        json!({"task": "worker-0", "seconds": seconds, "files": files, "cause": cause})
    }
    for (text, expected) in [
        (
            format!(
                "[worker-0] [Duration: 9] {prefix} Import the following files: a.txt, b.txt. \
                 Failure cause: no match for torch, 1."
            ),
            fields(json!(9), &["a.txt", "b.txt"], "no match for torch, 1."),
        ),
        (
            format!("[worker-0] {prefix} Failure cause: offline"),
            fields(Value::Null, &[], "offline"),
        ),
        (format!("[worker-0] {prefix}"), fields(Value::Null, &[], "")),
    ] {
        let parsed = EventKind::parse(&text);
        let (name, fields) = name_and_fields(&parsed);
        assert_eq!(name, "DependenciesFailed", "{text}");
        assert_fields(&fields, expected.as_object().unwrap(), &text);
        assert_eq!(parsed.task(), Some("worker-0"));
        assert!(!parsed.is_final());
    }
}

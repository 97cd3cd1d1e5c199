//! Tests of the comparison that `cargo xtask payload` prints, with the captured bodies in
//! `tests/fixtures`: their types lose and change no value.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use crate::comparison::{self, Finding};

/// Schemas with the names of their fixtures.
const FIXTURES: [(&str, &str); 12] = [
    ("Algorithm", "algorithm_nulls"),
    ("ApiError", "error_events error_train"),
    ("Empty", "delete_empty_string delete_null"),
    ("ListTrainingJobEventsResponse", "events_null events_numbers events_text"),
    ("ListTrainingJobsResponse", "list"),
    ("LogPreview", "logs_preview"),
    ("ShowAutoSearchTrialsResponse", "trials"),
    ("ShowTrainJobTagsResponse", "tags"),
    ("ShowTrainingJobEnginesResponse", "engines_filler"),
    ("ShowTrainingJobFlavorsResponse", "flavors"),
    ("TrainingJob", "create_response details_environments_list details_newer details_older stop"),
    ("TrainingJobMetrics", "metrics"),
];

fn description() -> Value {
    serde_json::from_str(modelarts_api::DESCRIPTION).unwrap()
}

fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn fixtures_are_unchanged_by_their_types() {
    let (folder, description) = (Path::new("tests/fixtures"), description());
    // The transport converts this body to an `ApiError` first.
    let mut used = BTreeSet::from(["error_iam_nested.json".to_owned()]);
    let mut differences = Vec::new();
    for (schema, names) in FIXTURES {
        for name in names.split(' ') {
            let file = format!("{name}.json");
            let body = fs::read(folder.join(&file)).expect(&file);
            let (findings, _) = comparison::of(&description, schema, &body).expect(&file);
            differences.extend(findings.into_iter().filter(|finding| finding.kind != "note"));
            used.insert(file);
        }
    }
    let fields_of_a_newer_service_and_an_omission = [
        r#"unknown  /items/2/metadata/cost_center: "K-17" became null"#,
        r#"unknown  /items/2/scheduler_hint: {"weight":3} became null"#,
        r#"unknown  /items/2/status/queue_position: 4 became null"#,
        r#"filler   /items/1: "......" became null"#,
    ];
    assert_eq!(lines(&differences), fields_of_a_newer_service_and_an_omission);
    let files = fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.collect::<BTreeSet<_>>(), used, "add new fixtures to FIXTURES");
}

#[test]
fn bodies_that_cannot_be_decoded_are_errors() {
    let cases = r#"
        TrainingJob | {"kind" 5} | not JSON: expected `:` at line 1 column 9
        TrainingJob | [{},{}] | cannot be decoded: invalid type: sequence, expected an object
        VolumeRequest | {"nfs":{"local_path":7}} | cannot be decoded: nfs.local_path: invalid type
        Empty | [1] | cannot be decoded: the response must have no body, not [1]
        trainingjob | {} | no schema is called trainingjob; the nearest name is TrainingJob
    "#;
    let description = description();
    for case in cases.trim().lines() {
        let [schema, body, expected] = columns(case);
        let error = comparison::of(&description, schema, body.as_bytes()).unwrap_err();
        assert!(error.starts_with(expected), "{case}: {error}");
    }
    for body in ["", " \n", "\"\"", "null", "{ }"] {
        let (findings, _) = comparison::of(&description, "Empty", body.as_bytes()).unwrap();
        assert_eq!(lines(&findings), [""; 0], "{body}");
    }
}

#[test]
fn differences_have_a_kind_and_a_place() {
    let cases = r#"
        {"a":[null],"b":" ","c/d":{}} | {"b":[]} | note /a, note /b, note /c~1d
        {"a":"0027","b":1,"new":1} | {"a":27.0,"b":true} | note /a, note /b, unknown /new
        {"a":9007199254740993,"b":2} | {"a":9007199254740992.0,"b":true} | changed /a, changed /b
        {"a":"x","b":"1"} | {"a":"X","b":"true"} | changed /a, changed /b
        {"a":0} | {"b":0} | lost /a, changed /b
        {"list":["...",null,{"n":"1"}]} | {"list":[{"n":1}]} | filler /list/0, note /list/2/n
        {"list":[{},5]} | {"list":[{}]} | dropped /list
        {"texts":["x",{}]} | {"texts":["x"]} | dropped /texts
        {"list":{"n":1}} | {"list":[{"n":1}]} | note /list
        {"one":[{"n":1},{"n":2}]} | {"one":{"n":2}} | note /one, changed /one/0/n
    "#;
    let item = json!({ "properties": { "n": {} } });
    let schema = json!({ "properties": {
        "a": {}, "b": {}, "c/d": {}, "list": { "items": item }, "one": item, "texts": {},
    } });
    for case in cases.trim().lines() {
        let [sent, returned, expected] = columns(case);
        let [sent, returned] = [sent, returned].map(|json| serde_json::from_str(json).unwrap());
        let findings = comparison::between(&Value::Null, &schema, &sent, &returned);
        let found = findings.iter().map(|it| format!("{} {}", it.kind, it.pointer));
        assert_eq!(found.collect::<Vec<_>>().join(", "), expected, "{case}");
    }
}

fn columns(row: &str) -> [&str; 3] {
    let columns: Vec<_> = row.trim().split(" | ").collect();
    columns.try_into().unwrap()
}

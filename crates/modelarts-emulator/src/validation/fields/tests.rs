//! Tests of the tables of fields against the OpenAPI description.

use std::collections::BTreeSet;

use modelarts_api::{FIELDS, Shape};
use serde_json::{Value, json};

use crate::validation::fields::{
    ALGORITHM, CHANGE, CREATION,
    field::{Field, Handling, Kind},
    ignored, rows, visible,
};

/// Returns all fields of a body by path, with `[]` for each element of an array.
pub(in crate::validation) fn all_fields(body: &Field) -> Vec<(String, &Field)> {
    let mut found = Vec::new();
    walk(body, "", &mut found);
    found
}

fn walk<'a>(parent: &'a Field, path: &str, found: &mut Vec<(String, &'a Field)>) {
    for field in &parent.members {
        let dot = if path.is_empty() || field.name == "[]" { "" } else { "." };
        let path = format!("{path}{dot}{}", field.name);
        found.push((path.clone(), field));
        walk(field, &path, found);
    }
}

/// Returns a body that contains only this field and its parents, without the members of the field.
pub(in crate::validation) fn alone(path: &str, field: &Field) -> Field {
    let mut alone = field.clone();
    alone.members.clear();
    let steps = path.replace("[]", ".[]");
    let (parents, _) = steps.rsplit_once('.').unwrap_or_default();
    for name in parents.rsplit('.').filter(|name| !name.is_empty()) {
        let kind = if alone.name == "[]" { Kind::List } else { Kind::Object };
        let mut parent = Field::body("");
        parent.name = name.to_owned().leak();
        parent.kind = kind;
        parent.members.push(alone);
        alone = parent;
    }
    let mut body = Field::body("");
    body.members.push(alone);
    body
}

/// Adds the paths of all fields of a request schema.
fn described(schema: &str, path: &str, found: &mut BTreeSet<String>) {
    for field in FIELDS.iter().filter(|field| field.schema == schema) {
        let dot = if path.is_empty() { "" } else { "." };
        let mut path = format!("{path}{dot}{}", field.name);
        let mut shape = field.shape;
        loop {
            found.insert(path.clone());
            match shape {
                Shape::List(element) => {
                    path += "[]";
                    shape = *element;
                }
                Shape::Object(schema) => break described(schema, &path, found),
                _ => break,
            }
        }
    }
}

#[test]
fn the_page_has_all_fields_of_the_description() {
    for (section, body, schema, free) in [
        ("CreateTrainingJob\n", &*CREATION, "CreateTrainingJobRequest", 0),
        ("ChangeTrainingJobDescription\n", &*CHANGE, "ChangeTrainingJobDescriptionRequest", 0),
        // Rules for jobs and algorithms check the values of these.
        ("CreateAlgorithm and ChangeAlgorithm\n", &*ALGORITHM, "AlgorithmRequest", 32),
    ] {
        let fields = all_fields(body);
        // Each line of the table was read, and found its parent.
        assert_eq!(rows(section).count(), fields.len(), "{section}");
        let page = include_str!("../../../FIELDS.md");
        let text = page.split("\n## ").find(|text| text.starts_with(section)).unwrap();
        assert_eq!(text.matches("\n| `").count(), fields.len(), "{section}");
        let listed: BTreeSet<String> = fields.into_iter().map(|(path, _)| path).collect();
        let mut expected = BTreeSet::new();
        described(schema, "", &mut expected);
        let missing: Vec<_> = expected.difference(&listed).collect();
        assert_eq!(missing.len(), free, "{missing:?}");
    }
}

/// Adds the paths of the properties of a schema in the description.
fn properties(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let mut schema = schema;
    while let Some(reference) = schema["$ref"].as_str() {
        schema = root.pointer(&reference[1..]).unwrap();
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{name}");
        found.insert(path.clone());
        properties(root, property, &path, found);
    }
    if let Some(items) = schema.get("items") {
        properties(root, items, &format!("{path}[]"), found);
    }
    for list in ["allOf", "anyOf", "oneOf"] {
        for part in schema[list].as_array().into_iter().flatten() {
            properties(root, part, path, found);
        }
    }
}

#[test]
fn fields_that_are_not_shown_are_not_in_responses() {
    let root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    let mut shown = BTreeSet::new();
    let job = &root["components"]["schemas"]["TrainingJob"];
    properties(&root, job, "", &mut shown);
    assert!(shown.len() > 300, "{}", shown.len());
    for (path, field) in all_fields(&CREATION) {
        if matches!(field.handling, Handling::Unshown | Handling::Silent) {
            assert!(!shown.contains(&path), "{path}: {:?}", field.handling);
        }
    }
}

fn of(body: &Value) -> Vec<String> {
    ignored::ignored_paths(body).into_iter().collect()
}

#[test]
fn ignored_fields_are_named_once_and_by_the_highest_path() {
    let body = json!({
        "kind": "job",
        "note": "x",
        "metadata": {
            "name": "a",
            "id": "read-only",
            "annotations": {"tensorboard/enable": "true", "jupyter-lab/enable": "false",
                "own": "1"},
        },
        "algorithm": {
            "engine": {"install_sys_packages": false, "run_user": "1000", "colour": "red"},
            "environments": {"ANY": "1"},
            "inputs": [
                {"name": "a", "remote": {"dataset": {"id": "d", "dataset_proportion": 5}}},
                {"name": "b", "remote": {"dataset": {"id": "d", "dataset_proportion": 6}}, "x": 1},
            ],
        },
        "spec": {
            "resource": {"policy": "regular", "node_count": 1},
            "runtime_type": "production",
            "notification": {"topic_urn": "t", "events": ["JobFailed"]},
            "log_export_config": {"version": null},
            "custom_metrics": [],
            "retention": {"policy": "enabled"},
        },
        "status": {"phase": "Completed"},
    });
    assert_eq!(
        of(&body),
        [
            "algorithm.engine.colour",
            "algorithm.engine.run_user",
            "algorithm.inputs[].remote.dataset.dataset_proportion",
            "algorithm.inputs[].x",
            "metadata.annotations.tensorboard/enable",
            "note",
            "spec.notification",
            "spec.resource.policy",
            "spec.retention",
        ]
    );
    assert_eq!(of(&json!({"spec": {"runtime_type": "debug"}})), ["spec.runtime_type"]);
    for other in [json!(null), json!([]), json!("x"), json!({})] {
        assert_eq!(of(&other), [""; 0]);
    }
}

#[test]
fn the_header_is_bounded_and_has_no_strange_bytes() {
    let header = |paths: &[&str]| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        ignored::header(&paths).map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(header(&[]), None);
    assert_eq!(header(&["b", "a"]).unwrap(), "a,b");
    assert_eq!(header(&["ä,b\r\nX: 1"]).unwrap(), "%C3%A4%2Cb%0D%0AX:%201");
    assert_eq!(header(&["x".repeat(3000).as_str()]).unwrap(), "...");
    let names: Vec<String> = (1000..2000).map(|n| format!("name-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let long = header(&names).unwrap();
    assert!(long.starts_with("name-1000,name-1001,") && long.ends_with(",..."), "{long}");
    assert!((2000..=2048).contains(&long.len()), "{}", long.len());
}

#[test]
fn fields_are_given_back_where_answers_have_them() {
    let given = json!({
        "algorithm": {
            "autosearch_config_path": "/config/a.yaml",
            "inputs": [
                {"name": "a", "remote_constraint": [{"data_type": "obs"}]},
                {"name": "b", "remote": {"dataset": {"name": "n", "dataset_proportion": 5}}},
            ],
        },
        "spec": {
            "asset_model": {"name": "m", "model_desc": "d", "unknown": 1},
            "notification": {"topic_urn": "t", "events": ["JobFailed"]},
            "auto_stop": {"duration": 1},
            "retention": {"policy": "enabled"},
            "runtime_type": null,
        },
        "train_type": "SFT",
        "unknown": 1,
    });
    let mut shown = json!({
        "algorithm": {"inputs": [{"name": "a"}, {"name": "b", "remote": {"dataset": {"id": "d"}}}]},
        "spec": {"custom_metrics": null},
    });
    visible::give_back(&mut shown, &given);
    assert_eq!(
        shown,
        json!({
            "algorithm": {
                "autosearch_config_path": "/config/a.yaml",
                "inputs": [
                    {"name": "a", "remote_constraint": [{"data_type": "obs"}]},
                    {"name": "b", "remote": {"dataset": {"id": "d", "name": "n"}}},
                ],
            },
            "spec": {
                "asset_model": {"name": "m"},
                "custom_metrics": null,
                "notification": {"topic_urn": "t", "events": ["JobFailed"]},
            },
        })
    );
}

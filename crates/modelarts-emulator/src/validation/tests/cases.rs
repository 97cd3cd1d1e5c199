//! Request bodies for tests: for each rule, one that violates only it, and one at its limit.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// Returns a valid body.
pub(crate) fn sound() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "sound"},
        "algorithm": {
            "code_dir": "obs://bucket/code/",
            "boot_file": "obs://bucket/code/train.py",
            "engine": {"engine_id": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    })
}

/// Returns a valid body with a custom image in a pool.
pub(crate) fn image() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "image"},
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "python train.py"},
        "spec": {"resource": {"pool_id": "cpu"}},
    })
}

/// Returns a valid body with a stored algorithm.
pub(crate) fn stored() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "stored"},
        "algorithm": {
            "id": "known",
            "inputs": [{"name": "data_url", "remote": {"obs": {"obs_url": "/bucket/data/"}}}],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    })
}

/// Returns `body` with the members at the given pointers replaced; null removes a member.
pub(crate) fn with(mut body: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let mut here = &mut body;
        let steps: Vec<&str> = pointer.trim_start_matches('/').split('|').collect();
        let (last, parents) = steps.split_last().unwrap();
        for step in parents {
            here = &mut here[*step];
        }
        if value.is_null() {
            here.as_object_mut().unwrap().remove(*last);
        } else {
            here[*last] = value.clone();
        }
    }
    body
}

/// Test case of `cases.yaml`.
pub(super) struct Case {
    pub(super) rule: String,
    pub(super) body: Value,
    pub(super) error: Option<ExpectedError>,
}

/// Status, code and part of the message of an expected error.
pub(super) type ExpectedError = (u16, u16, String);

/// Element of `cases.yaml`: one of the bodies, with changes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    rule: String,
    sound: Option<BTreeMap<String, Value>>,
    image: Option<BTreeMap<String, Value>>,
    stored: Option<BTreeMap<String, Value>>,
    error: Option<ExpectedError>,
}

/// Returns the test cases.
pub(super) fn cases() -> Vec<Case> {
    let rows: Vec<Row> = serde_saphyr::from_str(include_str!("cases.yaml")).unwrap();
    let case = |row: Row| {
        let (body, changes) = match (row.sound, row.image, row.stored) {
            (Some(changes), None, None) => (sound(), changes),
            (None, Some(changes), None) => (image(), changes),
            (None, None, Some(changes)) => (stored(), changes),
            _ => panic!("{}: one of the bodies must be given", row.rule),
        };
        let changes: Vec<_> =
            changes.iter().map(|(path, value)| (&**path, value.clone())).collect();
        Case { rule: row.rule, body: with(body, &changes), error: row.error }
    };
    rows.into_iter().map(case).collect()
}

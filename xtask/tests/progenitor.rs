//! Tests the statement of `openapi/CLIENTS.md` about progenitor without the simplifications of
//! modelarts-api.
// clippy exempts only functions with a test attribute, but not the functions that they call.
#![allow(clippy::unwrap_used)]

use std::{fs, panic, path::Path};

use progenitor::Generator;
use serde_json::Value;

const OPERATIONS: [&str; 3] =
    ["ShowTrainingJobLogsFromAom", "ShowTrainingJobLogsPreview", "ShowTrainingJobMetrics"];

fn generates(description: &Value) -> bool {
    let openapi = serde_json::from_value(description.clone()).unwrap();
    panic::catch_unwind(|| Generator::default().generate_tokens(&openapi))
        .is_ok_and(|generated| generated.is_ok())
}

#[test]
fn plain_progenitor_stops_at_a_204_beside_a_200_in_three_operations() {
    let openapi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi");
    let yaml = fs::read_to_string(openapi.join("modelarts.yaml")).unwrap();
    let yaml: yaml_serde::Value = yaml_serde::from_str(&yaml).unwrap();
    let mut description: Value = yaml_serde::from_value(yaml).unwrap();
    assert!(!generates(&description));

    let mut without = Vec::new();
    let paths = description["paths"].as_object_mut().unwrap();
    for path in paths.values_mut() {
        for operation in path.as_object_mut().unwrap().values_mut() {
            let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
            if let Some(responses) = responses.filter(|it| it.contains_key("200"))
                && responses.remove("204").is_some()
            {
                without.push(operation["operationId"].as_str().unwrap().to_owned());
            }
        }
    }
    without.sort();
    assert_eq!(without, OPERATIONS);
    assert!(generates(&description));

    let page = fs::read_to_string(openapi.join("CLIENTS.md")).unwrap();
    let line = page.lines().find(|line| line.starts_with("- progenitor"));
    for operation in OPERATIONS {
        assert!(line.unwrap().contains(&format!("`{operation}`")));
    }
}

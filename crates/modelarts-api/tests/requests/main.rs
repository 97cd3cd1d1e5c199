//! Comparison of the requests of all operations with the official SDK's requests for the same
//! calls, and of the SDK's classes with the description. `record.py` and `classes.py` record the
//! requests and classes; `crates/modelarts-api/tests/requests/record` runs both again.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used, clippy::panic)]

mod calls;
mod class_deviations;
mod classes;
mod deviations;
mod difference;
mod recorded_call;
mod sent;

use std::collections::{BTreeMap, BTreeSet};

use deviations::{DEVIATIONS, Deviation, NOT_IN_THE_SDK};
use modelarts_api::{Client, Error, OPERATIONS, types};
use recorded_call::RecordedCall;
use serde_json::{Value, json};

/// Returns the recorded calls by operation; the value is null for operations that the SDK lacks.
fn recorded() -> BTreeMap<String, Value> {
    serde_json::from_str(include_str!("recorded.json")).unwrap()
}

#[tokio::test]
async fn every_request_is_the_sdks_but_for_the_listed_deviations() {
    let mut used = BTreeSet::new();
    let mut surprises = Vec::new();
    for (operation, record) in recorded() {
        if record.is_null() {
            continue;
        }
        let call = RecordedCall::new(&operation, &record);
        let made = async |client: &Client| drop(calls::make(&operation, client, &call).await);
        let ours = sent::by(made).await;
        assert_eq!(call.not_taken(), Vec::<String>::new(), "{operation}");
        for difference in difference::between(&record["request"], &ours) {
            match DEVIATIONS.iter().position(|d| d.covers(&operation, &difference)) {
                Some(row) => {
                    used.insert(row);
                }
                None => surprises.push(format!("{operation} {difference:?}")),
            }
        }
    }
    assert_eq!(surprises, Vec::<String>::new(), "differ and are not listed");
    let unused: Vec<&Deviation> = (0..DEVIATIONS.len())
        .filter(|row| !used.contains(row))
        .map(|row| &DEVIATIONS[row])
        .collect();
    assert!(unused.is_empty(), "listed and do not occur: {unused:#?}");
}

/// Operations whose responses have no body.
const WITHOUT_BODY: [&str; 8] = [
    "BatchDeleteTrainingJob",
    "ChangeTrainingJobDescription",
    "CreateTrainJobTags",
    "DeleteAlgorithm",
    "DeleteTrainJobTags",
    "DeleteTrainingExperiment",
    "DeleteTrainingJob",
    "NotifyTrainingJobInformation",
];

#[tokio::test]
async fn an_answer_without_a_value_is_the_result_of_operations_without_one() {
    for (operation, record) in recorded() {
        if record.is_null() {
            continue;
        }
        let call = RecordedCall::new(&operation, &record);
        for body in ["", "null", "\"\""] {
            sent::answered(body, async |client| {
                let what = format!("{operation} {body:?}");
                match calls::make(&operation, client, &call).await {
                    Ok(()) => assert!(WITHOUT_BODY.contains(&&*operation), "{what}"),
                    Err(Error::Decode { .. }) => {
                        assert!(!WITHOUT_BODY.contains(&&*operation), "{what}");
                    }
                    Err(other) => panic!("{what}: {other}"),
                }
            })
            .await;
        }
    }
}

/// Tests how the values of other types, which the SDK sends, are decoded: types that occur in
/// requests only reject them, and types that also occur in responses convert them. The comparison
/// of requests cannot detect this, because it replaces these values by those of the generated
/// client.
#[test]
fn the_sdks_values_of_other_types_are_refused_or_converted() {
    let mut decoded = Vec::new();
    for (operation, record) in recorded() {
        for (row, deviation) in DEVIATIONS.iter().enumerate() {
            if !deviation.is_in_body_of(&operation) {
                continue;
            }
            let mut body = record["request"]["body"].clone();
            for (_, other) in DEVIATIONS.iter().enumerate().filter(|(other, _)| *other != row) {
                other.apply(&operation, &mut body);
            }
            let read = serde_path_to_error::deserialize::<_, types::AlgorithmRequest>(&body);
            let result = match read {
                Ok(read) => json!(read).pointer(&deviation.at["/body".len()..]).cloned().unwrap(),
                Err(error) => error.to_string().into(),
            };
            decoded.push(format!("{operation}: {result}"));
        }
    }
    assert_eq!(
        decoded,
        [
            r#"ChangeAlgorithm: "metadata.id: invalid type: integer `2`, expected a string""#,
            r#"ChangeAlgorithm: {"key of attributes":"attributes & 21"}"#,
            r#"CreateAlgorithm: "metadata.id: invalid type: integer `1`, expected a string""#,
            r#"CreateAlgorithm: {"key of attributes":"attributes & 20"}"#,
        ]
    );
}

#[test]
fn every_recorded_operation_is_described_and_the_others_are_listed() {
    let described: BTreeSet<_> = OPERATIONS.iter().map(|row| row.id.to_owned()).collect();
    let recorded = recorded();
    // An operation that is added to the description has no record until `record` runs.
    let unknown: Vec<_> = recorded.keys().filter(|id| !described.contains(*id)).collect();
    assert_eq!(
        unknown, [""; 0],
        "the description lacks them; run crates/modelarts-api/tests/requests/record"
    );
    let missing: Vec<_> = recorded
        .iter()
        .filter(|(_, record)| record.is_null())
        .map(|(operation, _)| operation.as_str())
        .collect();
    let listed: Vec<_> = NOT_IN_THE_SDK.iter().map(|(operation, _)| *operation).collect();
    assert_eq!(missing, listed);
}

/// The SDK lacks this operation, so its request is compared with the request in the API reference.
#[tokio::test]
async fn a_link_to_a_log_is_asked_for_as_the_reference_prints_it() {
    let ours = sent::by(async |client| {
        client
            .show_obs_url_of_training_job_logs()
            .project_id("p")
            .training_job_id("job")
            .task_id("worker-0")
            .content_type(types::LogLinkType::ApplicationOctetStream)
            .send()
            .await
            .map(drop)
            .unwrap();
    })
    .await;
    assert_eq!(
        ours,
        json!({
            "method": "GET",
            "path": "/v2/p/training-jobs/job/tasks/worker-0/logs/url",
            "query": [["Content-Type", "application/octet-stream"]],
            "headers": {},
            "body": null,
        })
    );
}

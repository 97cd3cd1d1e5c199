//! Tests of the requests that calls by name build. No request is sent.

use modelarts_api::{OPERATIONS, PARAMETERS, ParameterLocation};
use serde_json::json;

use crate::{
    client::Client,
    credentials::Credentials,
    error::Error,
    operations::{OperationRows, call::OperationCall},
    pagination::source::Source,
};

fn call(operation: &str) -> Result<OperationCall, Error> {
    Client::builder()
        .endpoint("http://127.0.0.1:9")
        .project_id("p1")
        .credentials(Credentials::keys("key", "secret"))
        .build()?
        .operation(operation)
}

/// Returns the method and the URL of the request, or the message of its error.
fn line(call: OperationCall) -> String {
    match call.request() {
        Ok(request) => format!("{} {}", request.method(), request.url()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_parameter_travels_where_the_description_says() {
    let events = call("ListTrainingJobEvents").unwrap();
    let events = events
        .parameter("training_job_id", "j-1")
        .parameter("pattern", "a b&c")
        .parameter("limit", 7)
        .parameter("X-Language", "en-us");
    let request = events.request().unwrap();
    assert_eq!(
        request.url().as_str(),
        "http://127.0.0.1:9/v2/p1/training-jobs/j-1/events?limit=7&pattern=a+b%26c"
    );
    assert_eq!(request.headers()["x-language"], "en-us");
    assert_eq!(request.headers()["accept"], "application/json");

    let stop = call("StopTrainingJob").unwrap();
    let stop = stop.parameter("training_job_id", "j-1").body(json!({"action_type": "terminate"}));
    let request = stop.request().unwrap();
    assert_eq!(request.method(), "POST");
    let body = request.body().and_then(reqwest::Body::as_bytes);
    assert_eq!(body, Some(&br#"{"action_type":"terminate"}"#[..]));
    assert_eq!(request.headers()["content-type"], "application/json");
}

#[test]
fn names_that_are_not_in_the_description_are_rejected() {
    let unknown = call("ListTrainingJob").map(line).unwrap_err().to_string();
    assert_eq!(unknown, "no operation is called ListTrainingJob; did you mean ListTrainingJobs?");
    let events = || call("ListTrainingJobEvents").unwrap();
    let job = || events().parameter("training_job_id", "j-1");
    assert_eq!(line(events()), "ListTrainingJobEvents: training_job_id must be given");
    assert_eq!(
        line(job().parameter("limits", 7)),
        "ListTrainingJobEvents: no parameter is called limits; did you mean limit?"
    );
    assert_eq!(
        line(job().parameter("limit", "ten")),
        "ListTrainingJobEvents: limit \"ten\": it must be a whole number"
    );
    assert_eq!(line(job().body(json!({}))), "ListTrainingJobEvents: it must have no body");
    for wrong in ["", "..", "a/b"] {
        let text = line(events().parameter("training_job_id", wrong));
        assert!(text.contains("it must be"), "{text}");
    }
    assert_eq!(
        line(call("CreateTrainingJob").unwrap()),
        "CreateTrainingJob: a body must be given (CreateTrainingJobRequest)"
    );
    assert_eq!(
        line(call("CreateTrainingJob").unwrap().body("job")),
        "CreateTrainingJob: the body must be an object"
    );
}

#[test]
fn every_operation_can_be_called_by_its_name() {
    for operation in OPERATIONS {
        let mut call = call(operation.id).unwrap();
        for parameter in operation.parameters().filter(|row| row.required) {
            call = match parameter.location {
                ParameterLocation::Body => call.body(json!({})),
                _ => call.parameter(parameter.name, 1),
            };
        }
        let request = call.request().unwrap();
        assert!(!request.url().path().contains(['{', '%']), "{request:?}");
    }
    // Every parameter belongs to a known operation.
    let belongs = |id| OPERATIONS.iter().any(|operation| operation.id == id);
    assert!(PARAMETERS.iter().all(|row| belongs(row.operation)));
}

#[test]
fn lists_set_their_own_paging_parameters() {
    let page = |call: OperationCall| {
        let rows = OperationRows(call);
        let pagination = rows.pagination().unwrap();
        rows.page(pagination, 2, 50).request().unwrap()
    };
    let request = page(call("ListAlgorithms").unwrap());
    assert_eq!(request.url().query(), Some("offset=2&limit=50"));
    let jobs = call("ListTrainingJobs").unwrap();
    let request = page(jobs.body(json!({"workspace_id": "0"})));
    let body = request.body().and_then(reqwest::Body::as_bytes).unwrap();
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body, json!({"workspace_id": "0", "offset": 2, "limit": 50}));

    let refused = |call: OperationCall| {
        let error = OperationRows(call).check().err();
        error.map(|error| error.to_string())
    };
    let events = call("ListTrainingJobEvents").unwrap();
    let text = refused(events.parameter("offset", 1)).unwrap();
    assert!(text.contains("offset must not be given"), "{text}");
    let jobs = call("ListTrainingJobs").unwrap();
    let text = refused(jobs.body(json!({"limit": 1}))).unwrap();
    assert!(text.contains("limit must not be given"), "{text}");
    let text = refused(call("CreateTrainingJob").unwrap()).unwrap();
    assert!(text.contains("CreateTrainingJob is not a list"), "{text}");
    let text = refused(call("ShowTrainingJobLogsFromAom").unwrap()).unwrap();
    assert!(text.contains("by line numbers"), "{text}");
}

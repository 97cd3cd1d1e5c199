//! Arguments of builders: text, builders, arrays and integers without conversions.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

use std::{borrow::Cow, collections::BTreeMap};

use modelarts_api::types::{
    self, CreateTrainingJobRequest, FilterKey, JobAlgorithmRequest, JobFilter, JobMetadataRequest,
    JobResourceRequest, JobSpecRequest, ListTrainingJobsRequest, LogExportPath, SortOrder,
    StopTrainingJobRequest,
};
use serde_json::{Value, json};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn json_of(request: impl serde::Serialize) -> Value {
    serde_json::to_value(request).unwrap()
}

#[test]
fn text_needs_no_conversion() -> Result {
    let description = String::from("run 7");
    let metadata: JobMetadataRequest = JobMetadataRequest::builder()
        .name("leaves")
        .description(&description)
        .workspace_id(Some("0"))
        .annotations([("a", "1"), ("b", "2")])
        .try_into()?;
    assert_eq!(
        json_of(&metadata),
        json!({
            "name": "leaves", "description": "run 7", "workspace_id": "0",
            "annotations": {"a": "1", "b": "2"},
        })
    );
    // The types of the fields are accepted, too.
    let same: JobMetadataRequest = JobMetadataRequest::builder()
        .name(String::from("leaves"))
        .description(Some(description))
        .workspace_id("0".to_owned())
        .annotations(BTreeMap::from([("a".into(), "1".into()), ("b".into(), "2".into())]))
        .try_into()?;
    assert_eq!(json_of(&same), json_of(&metadata));
    let same = JobMetadataRequest::builder().name("leaves").description("run 7");
    let same = same.workspace_id("0").annotations(vec![("a", "1"), ("b", "2")]);
    assert_eq!(json_of(JobMetadataRequest::try_from(same)?), json_of(&metadata));
    let names = ["leaves"].iter().map(|name| JobMetadataRequest::builder().name(name));
    for same in names {
        let same = same.description(Cow::from("run 7")).workspace_id("0");
        let same = same.annotations([("a", "1"), ("b", "2")]);
        assert_eq!(json_of(JobMetadataRequest::try_from(same)?), json_of(&metadata));
    }
    Ok(())
}

#[test]
fn objects_are_built_by_the_method_that_takes_their_builder() -> Result {
    let body: CreateTrainingJobRequest = CreateTrainingJobRequest::builder()
        .kind("job")
        .metadata(JobMetadataRequest::builder().name("leaves"))
        .algorithm(JobAlgorithmRequest::builder().code_dir("/bucket/code/"))
        .spec(
            JobSpecRequest::builder()
                .resource(JobResourceRequest::builder().flavor_id("f").node_count(2))
                .log_export_path(LogExportPath::builder().obs_url("/bucket/logs/")),
        )
        .try_into()?;
    assert_eq!(
        json_of(body),
        json!({
            "kind": "job",
            "metadata": {"name": "leaves"},
            "algorithm": {"code_dir": "/bucket/code/"},
            "spec": {
                "resource": {"flavor_id": "f", "node_count": 2},
                "log_export_path": {"obs_url": "/bucket/logs/"},
            },
        })
    );
    Ok(())
}

#[test]
fn lists_are_made_of_arrays_and_vectors() -> Result {
    let filter = || JobFilter::builder().key("phase").operator("in").value(["Running", "Pending"]);
    let body = ListTrainingJobsRequest::builder().limit(50).order("asc").sort_by("create_time");
    let of_array: ListTrainingJobsRequest = body.clone().filters([filter()]).try_into()?;
    assert_eq!(
        json_of(&of_array),
        json!({
            "limit": 50, "order": "asc", "sort_by": "create_time",
            "filters": [{"key": "phase", "operator": "in", "value": ["Running", "Pending"]}],
        })
    );
    let other = JobFilter::builder().key(FilterKey::Phase).operator(types::FilterOperator::In);
    let other = other.value(vec!["Running", "Pending"]);
    for filters in [vec![filter()], vec![other]] {
        let of_vec: ListTrainingJobsRequest =
            body.clone().order(SortOrder::Asc).filters(filters).try_into()?;
        assert_eq!(json_of(of_vec), json_of(&of_array));
    }
    Ok(())
}

#[test]
fn an_error_names_the_field() {
    let body = ListTrainingJobsRequest::builder().order("up");
    let error = ListTrainingJobsRequest::try_from(body).unwrap_err();
    assert_eq!(error.to_string(), "error converting supplied value for order: invalid value");
    let body = ListTrainingJobsRequest::builder().limit(u64::MAX);
    let error = ListTrainingJobsRequest::try_from(body).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error converting supplied value for limit: 18446744073709551615 must be at most \
         9223372036854775807"
    );
    let body = CreateTrainingJobRequest::builder().metadata(JobMetadataRequest::builder());
    let error = CreateTrainingJobRequest::try_from(body.kind("job")).unwrap_err();
    assert_eq!(error.to_string(), "no value supplied for metadata.name");
    let filters = [JobFilter::builder().key("phase").operator("near")];
    let body = ListTrainingJobsRequest::builder().filters(filters);
    let error = ListTrainingJobsRequest::try_from(body).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error converting supplied value for filters: error converting supplied value for \
         operator: invalid value"
    );
    let stop = StopTrainingJobRequest::builder();
    let error = StopTrainingJobRequest::try_from(stop).unwrap_err();
    assert_eq!(error.to_string(), "no value supplied for action_type");
}

//! Tests of the generated tables, which contain facts of the description that generated types lack.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used)]

use modelarts_api::{
    LIMITS, OPERATIONS, Offset, Operation, Pagination, ParameterLocation, Rule, Shape,
    request_path::{create_training_job, input, job_resource},
};

fn pagination(operation: &str) -> Pagination {
    let row = OPERATIONS.iter().find(|row| row.id == operation);
    row.unwrap().pagination.unwrap()
}

#[test]
fn a_list_has_the_names_of_its_parameters_and_fields() {
    let jobs = pagination("ListTrainingJobs");
    assert_eq!((jobs.offset, jobs.location), (Offset::PageIndex, ParameterLocation::Body));
    assert_eq!(
        (jobs.offset_name, jobs.limit_name, jobs.max_limit),
        (Some("offset"), Some("limit"), Some(50))
    );
    assert_eq!((jobs.items, jobs.total), ("items", Some("total")));
    assert_eq!((jobs.cursor, jobs.disputed), (None, false));
    // The entries are in a nested field, or the response body itself is the list.
    assert_eq!(pagination("ShowAutoSearchTrials").items, "items.data");
    assert_eq!(pagination("ListTrainingJobTasks").items, "");
}

#[test]
fn lines_of_a_log_are_asked_for_by_a_cursor() {
    let lines = pagination("ShowTrainingJobLogsFromAom");
    assert_eq!((lines.offset, lines.disputed, lines.offset_name), (Offset::LineCursor, true, None));
    assert_eq!((lines.limit_name, lines.max_limit), (Some("lines"), Some(500)));
    let cursor = lines.cursor.unwrap();
    assert_eq!((cursor.name, cursor.order_name), ("base_line", "order"));
    assert_eq!((cursor.first, cursor.last), ("start_line", "end_line"));
}

#[test]
fn names_of_parameters_are_there_as_the_kind_of_paging_needs_them() {
    for row in OPERATIONS {
        let Some(paging) = row.pagination else {
            continue;
        };
        let has =
            (paging.offset_name.is_some(), paging.limit_name.is_some(), paging.cursor.is_some());
        let needs = match paging.offset {
            Offset::PageIndex | Offset::Record => (true, true, false),
            Offset::LineCursor => (false, true, true),
            _ => (false, false, false),
        };
        assert_eq!(has, needs, "{}", row.id);
    }
}

#[test]
fn parameters_have_their_location() {
    let events = Operation::find("list_training_job_events").unwrap();
    let rows: Vec<_> = events.parameters().collect();
    let names: Vec<_> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names[..2], ["project_id", "training_job_id"]);
    let of = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    let job = of("training_job_id");
    assert_eq!((job.location, job.required), (ParameterLocation::Path, true));
    assert_eq!((job.schema, job.shape), ("TrainingJobId", Shape::Text));
    let limit = of("limit");
    assert_eq!((limit.location, limit.required), (ParameterLocation::Query, false));
    assert_eq!((limit.schema, limit.shape), ("", Shape::Integer));
    assert_eq!(of("X-Language").location, ParameterLocation::Header);

    let create = Operation::find("create_training_job").unwrap();
    let body = create.parameters().last().unwrap();
    assert_eq!((body.location, body.required), (ParameterLocation::Body, true));
    assert_eq!(body.shape, Shape::Object("CreateTrainingJobRequest"));
}

#[test]
fn limits_state_if_the_bound_itself_is_admitted() {
    let rules = |schema: &str, field: &str| -> Vec<Rule> {
        let of = |limit: &&modelarts_api::Limit| (limit.schema, limit.field) == (schema, field);
        LIMITS.iter().filter(of).map(|limit| limit.rule).collect()
    };
    assert_eq!(rules("ContainerFlavorRequest", "cpu_core_num"), [Rule::ExclusiveMinimum(0.0)]);
    assert_eq!(rules("ContainerFlavorRequest", "accelerator_num"), [Rule::Minimum(0.0)]);
}

#[test]
fn paths_begin_at_a_schema() {
    assert_eq!(create_training_job::SCHEMA, "CreateTrainingJobRequest");
    assert_eq!(create_training_job::spec::RESOURCE, "spec.resource");
    assert_eq!(create_training_job::spec::resource::FLAVOR_ID, "spec.resource.flavor_id");
    assert_eq!(job_resource::FLAVOR_ID, "flavor_id");
    assert_eq!(input::remote::obs::OBS_URL, "remote.obs.obs_url");
}

#[test]
fn paths_mark_elements_and_entries() {
    use create_training_job::algorithm;
    assert_eq!(algorithm::inputs::ELEMENT, "algorithm.inputs[]");
    assert_eq!(algorithm::inputs::NAME, "algorithm.inputs[].name");
    assert_eq!(algorithm::environments::ENTRY, "algorithm.environments{}");
}

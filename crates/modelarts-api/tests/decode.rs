//! Tests that decode the fixtures, and compare the resulting values.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{collections::BTreeMap, fs, path::Path};

use modelarts_api::{
    decode::{self, Decode, Skipped},
    types::{
        Algorithm, ApiError, EventLevel, EventSource, ListTrainingJobEventsResponse,
        ListTrainingJobsResponse, LogPreview, MetricName, Phase, SecondaryPhase,
        ShowAutoSearchTrialsResponse, ShowTrainJobTagsResponse, ShowTrainingJobEnginesResponse,
        ShowTrainingJobFlavorsResponse, TrainingJob, TrainingJobEvent, TrainingJobMetrics,
    },
};
use serde_json::json;

fn fixture(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read(directory.join(name)).unwrap()
}

/// Decodes a fixture; the test fails if a list element is skipped.
fn whole<T: Decode>(name: &str) -> T {
    let (value, skipped) = decode::body(&fixture(name)).unwrap();
    assert_eq!(skipped, Skipped::default(), "{name}");
    value
}

#[test]
fn totals_are_numbers_also_when_they_are_text() {
    let numbers: ListTrainingJobEventsResponse = whole("events_numbers.json");
    let text: ListTrainingJobEventsResponse = whole("events_text.json");
    for events in [&numbers, &text] {
        let page = (events.total, events.limit, events.offset);
        assert_eq!(page, (Some(19), Some(9), Some(0)));
        assert_eq!(events.order.as_deref(), Some("desc"));
        assert_eq!(events.start_time.as_deref(), Some("2025-04-24T17:00:00+08:00"));
        assert_eq!(events.events.len(), 9);
    }
    // The two pages differ only in the spelling of numbers.
    assert_eq!(numbers, text);
}

#[test]
fn an_event_has_all_four_fields() {
    let events = whole::<ListTrainingJobEventsResponse>("events_numbers.json").events;
    let TrainingJobEvent { level, message, source, time, .. } = &events[0];
    assert_eq!(*level, Some(EventLevel::Error));
    assert_eq!(message.as_deref(), Some("Training job failed."));
    assert_eq!(*source, Some(EventSource::Job));
    assert_eq!(time.as_deref(), Some("2025-04-24T17:32:44+08:00"));
    // Quotation marks in a message are preserved.
    let message = events[8].message.as_deref().unwrap();
    assert!(message.ends_with("Successfully pulled image \"ocr-team/lines:5.1\""));
}

#[test]
fn two_spellings_of_a_source_are_equal_and_each_is_kept() {
    let events = whole::<ListTrainingJobEventsResponse>("events_text.json").events;
    let source = |index: usize| events[index].source.clone().unwrap();
    let (upper, mixed) = (source(7), source(8));
    assert_eq!((upper.as_str(), mixed.as_str()), ("K8S", "K8s"));
    assert_eq!(upper, mixed);
    assert_eq!(mixed, EventSource::K8s);
    assert_ne!(mixed, source(6));
    assert_eq!(json!(mixed), json!("K8s"));
    assert_eq!(mixed.canonical().as_str(), "K8S");
}

#[test]
fn no_events_are_an_empty_list() {
    let events: ListTrainingJobEventsResponse = whole("events_null.json");
    assert_eq!(events.total, Some(0));
    assert_eq!(events.events, []);
}

#[test]
fn a_page_of_jobs_loses_its_null_row_and_counts_it() {
    let (page, skipped) = decode::body::<ListTrainingJobsResponse>(&fixture("list.json")).unwrap();
    assert_eq!((skipped.rows, skipped.nested), (1, 0));
    assert_eq!(skipped.first_error, None, "null is no error");
    assert_eq!(page.total, Some(5059));
    assert_eq!((page.count, page.limit, page.offset), (Some(3), Some(3), Some(0)));
    assert_eq!(page.ai_project.as_deref(), Some("default-ai-project"));
    let names: Vec<_> = page
        .items
        .iter()
        .map(|job| job.metadata.as_ref().unwrap().name.as_deref().unwrap())
        .collect();
    assert_eq!(names, ["leaf-scan-22", "leaf-scan-23"]);
}

#[test]
fn an_unknown_phase_is_kept_and_unknown_fields_are_skipped() {
    let (page, _) = decode::body::<ListTrainingJobsResponse>(&fixture("list.json")).unwrap();
    let job = &page.items[1];
    let status = job.status.as_ref().unwrap();
    let phase = status.phase.clone().unwrap();
    assert!(matches!(&phase, Phase::Other(text) if text == "Hibernating"));
    assert_eq!(status.secondary_phase.as_ref().unwrap().as_str(), "Snapshotting");
    // The fixture contains these times as strings, next to unknown fields.
    assert_eq!(status.duration, Some(5_400_000));
    assert_eq!(status.start_time, Some(1_733_050_000_000));
    let again = serde_json::to_value(job).unwrap();
    assert_eq!(again["status"]["phase"], json!("Hibernating"));
    assert_eq!(again["status"]["queue_position"], json!(null));
    assert_eq!(again["scheduler_hint"], json!(null));
}

#[test]
fn a_running_record_may_end_before_it_starts() {
    let job: TrainingJob = whole("details_newer.json");
    let records = job.status.unwrap().running_records;
    assert_eq!(records.len(), 2);
    assert_eq!(
        (records[0].start_at, records[0].end_at),
        (Some(1_733_043_000), Some(1_733_041_200))
    );
    assert_eq!(records[0].end_reason.as_deref(), Some("exit with 139"));
    assert_eq!(records[0].end_related_task.as_deref(), Some("worker-1"));
    assert_eq!(records[0].end_recover.as_ref().unwrap().as_str(), "job_reschedule");
    assert_eq!(
        records[0].end_recover_before_downgrade.as_ref().unwrap().as_str(),
        "npu_proc_restart"
    );
    assert_eq!(records[1].start_type.as_ref().unwrap().as_str(), "restarted");
    assert_eq!(records[1].end_recover, None);
}

#[test]
fn both_generations_of_the_details_page() {
    let newer: TrainingJob = whole("details_newer.json");
    let metrics = &newer.spec.as_ref().unwrap().custom_metrics;
    assert_eq!(metrics.len(), 1);
    assert_eq!(metrics[0].metrics_url.as_deref(), Some("/leaf_metrics"));
    assert_eq!(metrics[0].metrics_port, Some(9464));

    let older: TrainingJob = whole("details_older.json");
    let status = older.status.as_ref().unwrap();
    assert_eq!(status.phase, Some(Phase::Abnormal));
    assert_eq!(status.secondary_phase, Some(SecondaryPhase::CreateFailed));
    assert_eq!(status.node_count_metrics, [[1_688_360_408_000, 0], [1_688_360_414_000, 0]]);
    assert_eq!(status.tasks, ["worker-0"]);
    assert_eq!(status.running_records, []);
    let metadata = older.metadata.as_ref().unwrap();
    assert_eq!(metadata.create_time, Some(1_688_360_405_417));
    assert_eq!(metadata.description.as_deref(), Some(""));
    let resource = older.spec.as_ref().unwrap().resource.as_ref().unwrap();
    assert_eq!(resource.node_count, Some(1));
    let info = resource.flavor_detail.as_ref().unwrap().flavor_info.as_ref().unwrap();
    let npu = info.npu.as_ref().unwrap();
    assert_eq!((npu.unit_num, npu.memory.as_deref()), (Some(1), Some("32GB")));
    assert_eq!(info.disk.as_ref().unwrap().size, Some(480), "came as text");
    let input = &older.algorithm.as_ref().unwrap().inputs[0];
    assert_eq!(
        input.remote.as_ref().unwrap().obs.as_ref().unwrap().obs_url.as_deref(),
        Some("/leaf-lab/scan/images/")
    );
}

#[test]
fn environments_are_one_map_also_when_they_are_a_list_of_maps() {
    let job: TrainingJob = whole("details_environments_list.json");
    assert_eq!(
        job.algorithm.unwrap().environments,
        BTreeMap::from([
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("OMP_NUM_THREADS".to_owned(), "4".to_owned()),
        ])
    );
}

#[test]
fn a_job_just_created_has_nulls_for_what_is_not_yet_known() {
    let job: TrainingJob = whole("create_response.json");
    let status = job.status.as_ref().unwrap();
    assert_eq!(status.phase, Some(Phase::Creating));
    assert_eq!((status.duration, status.start_time), (Some(0), Some(0)));
    assert_eq!(status.node_count_metrics, [[0; 0]; 0]);
    assert_eq!(status.tasks, ["worker-0", "server-0"]);
    assert_eq!(job.metadata.as_ref().unwrap().user_name.as_deref(), Some(""));
    let algorithm = job.algorithm.as_ref().unwrap();
    assert!(algorithm.policies.is_some(), "an empty object is an object");
    assert_eq!(algorithm.parameters[0].value.as_deref(), Some("64"));
    let constraint = algorithm.parameters[1].constraint.as_ref().unwrap();
    assert_eq!((constraint.editable, constraint.required), (Some(true), Some(false)));
    assert_eq!(algorithm.outputs[0].period.as_deref(), Some("45"), "came as a number");
    let engine = algorithm.engine.as_ref().unwrap();
    assert_eq!(engine.v1_compatible, Some(false));
    assert_eq!(engine.tags[0].value.as_deref(), Some("True"), "text stays text");
    let spec = job.spec.as_ref().unwrap();
    assert!(spec.log_export_path.is_some());
}

#[test]
fn a_stopped_job_is_terminating() {
    let job: TrainingJob = whole("stop.json");
    assert_eq!(job.status.unwrap().phase, Some(Phase::Terminating));
    let resource = job.spec.unwrap().resource.unwrap();
    assert_eq!(resource.policy.unwrap().as_str(), "economic");
}

#[test]
fn a_log_keeps_its_lines() {
    let log: LogPreview = whole("logs_preview.json");
    let content = log.content.unwrap();
    assert_eq!(content.lines().count(), 3);
    assert!(content.ends_with("line 2: loss 1.9871\n"));
    assert_eq!((log.current_size, log.full_size), (Some(98_304), Some(7_340_032)));
}

#[test]
fn errors_have_a_code_a_message_and_sometimes_a_solution() {
    let error: ApiError = whole("error_train.json");
    assert_eq!(error.error_code.as_deref(), Some("ModelArts.2751"));
    assert_eq!(error.error_msg.as_deref(), Some("training job name is duplicate."));
    assert_eq!(error.error_solution.as_deref(), Some("Choose another name for the job."));
    let error: ApiError = whole("error_events.json");
    assert_eq!(error.error_code.as_deref(), Some("ModelArts.50004000"));
    assert_eq!(error.error_solution, None);
}

#[test]
fn a_filler_among_engines_is_skipped() {
    let (page, skipped) =
        decode::body::<ShowTrainingJobEnginesResponse>(&fixture("engines_filler.json")).unwrap();
    assert_eq!((skipped.rows, skipped.nested), (1, 0));
    assert_eq!(skipped.first_error.as_deref(), Some("invalid type: string, expected an object"));
    assert_eq!(page.total, Some(14), "of which the page shows two");
    let [jax, scikit] = page.items.as_slice() else {
        panic!("{} engines", page.items.len());
    };
    assert_eq!(jax.engine_name.as_deref(), Some("JAX"));
    assert_eq!(jax.v1_compatible, Some(false));
    assert_eq!(jax.run_user.as_deref(), Some("1102"));
    assert_eq!(jax.tags, []);
    let images = jax.image_info.as_ref().unwrap();
    assert_eq!(images.cpu_image_url.as_deref(), Some(""));
    assert_eq!(images.gpu_image_url.as_deref(), Some("leaf-lab/jax:train"));
    assert_eq!(scikit.v1_compatible, Some(true));
    assert_eq!(scikit.tags[0].value.as_deref(), Some("True"));
}

#[test]
fn a_table_of_trials_keeps_each_cell_in_its_column() {
    let trials: ShowAutoSearchTrialsResponse = whole("trials.json");
    assert_eq!((trials.total, trials.limit), (Some(2), Some(50)));
    assert_eq!(trials.group_by.as_deref(), Some(""));
    let table = trials.items.unwrap();
    assert_eq!(table.header[0], "", "the column of the numbers has no name");
    let column = |name: &str| table.header.iter().position(|it| it == name).unwrap();
    assert_eq!(table.data[0][column("config")], json!({ "dropout": 0.25, "trial_index": 0 }));
    assert_eq!(table.data[0][column("done")], json!("True"), "text stays text");
    assert_eq!(table.data[1][column("status")], json!("RUNNING"));
    // An empty cell keeps its position.
    assert_eq!(table.data[1][column("f1")], json!(null));
    assert!(table.data.iter().all(|row| row.len() == table.header.len()));
}

#[test]
fn metrics_say_minus_one_where_nothing_was_measured() {
    let metrics = whole::<TrainingJobMetrics>("metrics.json").metrics;
    assert_eq!(metrics[0].metric, Some(MetricName::CpuUsage));
    assert_eq!(metrics[0].value, [-1.0, -1.0, 12.5, 40.0, 38.25]);
    assert_eq!(metrics[1].value, [-1.0; 5]);
    // An unknown metric without points.
    assert_eq!(metrics[2].metric.as_ref().unwrap().as_str(), "hbmBandwidth");
    assert_eq!(metrics[2].value, [0.0; 0]);
}

#[test]
fn flavors_have_numbers_where_text_was_sent() {
    let page: ShowTrainingJobFlavorsResponse = whole("flavors.json");
    assert_eq!(page.total_count, Some(2));
    let info = page.flavors[0].flavor_info.as_ref().unwrap();
    assert_eq!(info.max_num, Some(3));
    assert_eq!(info.gpu.as_ref().unwrap().unit_num, Some(2));
    assert_eq!(info.disk.as_ref().unwrap().size, Some(3200));
    let attributes = &page.flavors[0].attributes;
    assert_eq!(attributes["is_free"], "true");
    // The service sends this list as a string, which is preserved unchanged.
    assert_eq!(page.flavors[0].support_engines.as_deref(), Some("[\"jax_0.4-cuda_12.1\"]"));
    let cpu = &page.flavors[1];
    assert!(cpu.attributes.is_empty());
    let info = cpu.flavor_info.as_ref().unwrap();
    assert_eq!((&info.gpu, &info.disk), (&None, &None));
    assert_eq!(info.cpu.as_ref().unwrap().core_num, Some(4));
}

#[test]
fn an_algorithm_may_say_null_nearly_everywhere() {
    let algorithm: Algorithm = whole("algorithm_nulls.json");
    let metadata = algorithm.metadata.unwrap();
    assert_eq!(metadata.is_valid, Some(true));
    assert_eq!(metadata.create_time, Some(1_733_040_000_123));
    assert_eq!((metadata.description, metadata.size), (None, Some(8192)));
    assert_eq!((metadata.tags.len(), metadata.attr_list.len()), (0, 0));
    assert_eq!(algorithm.share_info, None);
    assert_eq!(algorithm.resource_requirements, []);
    assert!(algorithm.advanced_config.is_some(), "an empty object is one");
    let config = algorithm.job_config.unwrap();
    assert_eq!(config.inputs.len(), 1, "an object is a list of one");
    assert_eq!(config.inputs[0].name.as_deref(), Some("data_url"));
    assert_eq!(config.outputs, []);
    let rate = &config.parameters[0];
    assert_eq!(rate.value.as_deref(), Some("0.5"));
    assert_eq!(rate.i18n_description, None);
    assert_eq!(rate.constraint.as_ref().unwrap().valid_range, ["0", "1"]);
    let root = config.code_tree.unwrap();
    let names: Vec<_> = root.children.iter().map(|it| it.name.as_deref()).collect();
    assert_eq!(names, [Some("main.py"), Some("lib/")]);
}

#[test]
fn values_of_tags_are_text() {
    let tags = whole::<ShowTrainJobTagsResponse>("tags.json").tags;
    let pairs: Vec<_> = tags
        .iter()
        .map(|tag| (tag.key.as_deref().unwrap(), tag.value.as_deref().unwrap()))
        .collect();
    assert_eq!(pairs, [("owner", "leaf-team"), ("budget", "311"), ("spare", "")]);
}

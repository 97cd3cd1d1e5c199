//! Tests of jobs that are copied from the details of other jobs.

use std::time::Duration;

use modelarts_ext::{CreateJob, types::NotificationEvent};
use serde_json::{Value, json};

use crate::support::{
    clock::TestClock,
    create_job::{client, everything},
    rule_cases::patched,
    server::{Server, json_answer},
    site::Site,
};

#[tokio::test]
async fn a_job_is_copied_and_changed() {
    let site = Site::start().await;
    let job = site.script("first", "").output("train_url", "obs://bucket/out/");
    let job = job.parameter("epochs", 3).env("MODE", "quick").nodes(2).auto_restart(2);
    let sent = job.body();
    let first = job.submit().await.unwrap();
    let second = first.copy_as("second").await.unwrap().parameter("epochs", 4);
    let body = second.body();
    assert_eq!(body["metadata"]["name"], "second");
    assert_eq!(body["metadata"]["annotations"], sent["metadata"]["annotations"]);
    for way in [
        "/algorithm/code_dir",
        "/algorithm/boot_file",
        "/algorithm/engine",
        "/algorithm/environments",
        "/algorithm/outputs/0/remote",
        "/spec/resource",
    ] {
        let (sent, copied) = (sent.pointer(way), body.pointer(way));
        let normal = |value: Option<&Value>| value.unwrap().to_string().replace("obs:/", "");
        assert_eq!(normal(copied), normal(sent), "{way}");
    }
    assert_eq!(body.pointer("/algorithm/parameters/0/value"), Some(&json!("4")));
    let second = second.submit().await.unwrap();
    assert_ne!(second.id(), first.id());
    assert_eq!(second.name(), "second");
}

#[tokio::test]
async fn setters_of_several_fields_replace_all_of_a_copy() {
    let details = json!({"kind": "job", "metadata": {"id": "j", "name": "a"}, "spec": {
        "auto_stop": {"time_unit": "MINUTES", "duration": 90, "other": 1},
        "reserved_time": {"time_unit": "MINUTES", "duration": 90, "other": 1},
        "notification": {"topic_urn": "t", "events": ["JobFailed"], "other": 1},
        "output_model": {"obs": {"obs_path": "/b/", "local_path": "/l", "other": 1}, "other": 1},
    }});
    let hour = Duration::from_secs(3600);
    let job = copied(&details).await.auto_stop(hour).reserve(2 * hour);
    let job = job
        .notify("u", [NotificationEvent::JobCompleted])
        .output_model("obs://bucket/model/", "/model");
    assert_eq!(
        job.without_field("spec.resource").body()["spec"],
        json!({
            "auto_stop": {"time_unit": "HOURS", "duration": 1},
            "reserved_time": {"time_unit": "HOURS", "duration": 2},
            "notification": {"topic_urn": "u", "events": ["JobCompleted"]},
            "output_model": {"obs": {"obs_path": "obs://bucket/model/", "local_path": "/model"}},
            "resource": {"node_count": 1},
        })
    );
}

/// Returns the details of a job with all request fields, and with fields that occur only in
/// responses.
fn shown() -> Value {
    let mut shown = everything().body();
    let more = json!({
        "metadata": {"id": "j", "create_time": 1, "user_name": "me", "ai_project": "default",
            "tags": null, "annotations": {"key_task": "worker"},
            "training_experiment_reference": {"name": "bert-tests", "serial_number": "1"}},
        "status": {"phase": "Completed"},
        "algorithm": {
            "name": "a", "policies": {"auto_search": {"algo_configs": null}},
            "engine": {"v1_compatible": false, "usage": "training", "tags": []},
        },
        "spec": {
            "is_hosted_log": true,
            "resource": {
                "policy": "regular", "flavor_name": "x", "pool_name": "p", "pool_info": {}
            },
        },
        "endpoints": {
            "ssh": {"task_urls": [{"task": "worker-0", "url": "ssh://x"}]},
            "jupyter_lab": {"url": "https://x", "token": "secret"},
        },
        "ftjob_config": {"train_process": 0, "ft_job_uuid": ""},
    });
    shown = patched(&shown, &more);
    shown["algorithm"]["policies"] = everything().body()["algorithm"]["policies"].clone();
    shown["algorithm"]["outputs"][0]["mode"] = "upload_periodically".into();
    shown["algorithm"]["outputs"][0]["period"] = 30.into();
    shown["algorithm"]["inputs"][1]["remote"]["dataset"]["obs_url"] = "obs://bucket/d/".into();
    shown
}

async fn copied(details: &Value) -> CreateJob {
    let details = details.to_string();
    let answer = || json_answer("200 OK", "", &details);
    let server = Server::start([answer(), answer()]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    job.copy_as("again").await.unwrap()
}

#[tokio::test]
async fn nothing_that_a_create_can_carry_is_lost_in_a_copy() {
    let copy = copied(&shown()).await;
    let mut expected = everything().body();
    expected["metadata"]["name"] = "again".into();
    // The service added the annotation, which is also valid in requests.
    expected["metadata"]["annotations"]["key_task"] = "worker".into();
    assert_eq!(copy.body(), expected);
    assert_eq!(copy.check().violations, []);
}

#[tokio::test]
async fn details_of_the_service_are_sent_again() {
    // Code and engine in addition to the id of an algorithm may belong to the job itself.
    let details = json!({
        "kind": "job",
        "metadata": {"id": "j", "name": "a", "description": ""},
        "algorithm": {
            "id": "alg", "name": "mine", "code_dir": "/bucket/code/",
            "boot_file": "/bucket/code/a.py", "command": "",
            "engine": {
                "engine_id": "e", "engine_name": "E", "engine_version": "1", "run_user": "1102"
            },
            "parameters": [{"name": "p", "value": "", "description": "", "i18n_description": null}],
            "policies": {},
        },
        "spec": {
            "resource": {
                "policy": "regular", "flavor_id": "f", "flavor_name": "F", "node_count": "2"
            },
            "schedule_policy": {"priority": 0}, "log_export_path": {}, "volumes": null,
        },
    });
    let copy = copied(&details).await;
    assert_eq!(
        copy.body(),
        json!({
            "kind": "job", "metadata": {"name": "again"},
            "algorithm": {
                "id": "alg", "code_dir": "/bucket/code/", "boot_file": "/bucket/code/a.py",
                "engine": {"engine_id": "e", "engine_name": "E", "engine_version": "1"},
                "parameters": [{"name": "p", "value": ""}],
            },
            "spec": {"resource": {"flavor_id": "f", "node_count": 2}},
        })
    );
    assert_eq!(copy.check().violations, []);
    // The details specify the engine in three forms.
    let mut details = details;
    details["algorithm"]["id"] = "".into();
    let copy = copied(&details).await;
    assert_eq!(
        copy.body()["algorithm"]["engine"],
        json!({"engine_id": "e", "engine_name": "E", "engine_version": "1"})
    );
    assert_eq!(copy.check().violations, []);
    // The details of a custom image contain a user id.
    details["algorithm"]["engine"] =
        json!({"engine_id": "", "image_url": "o/i:1", "run_user": "1000"});
    details["algorithm"]["command"] = "run".into();
    details["algorithm"]["boot_file"] = "".into();
    let copy = copied(&details).await;
    assert_eq!(
        copy.body()["algorithm"],
        json!({
            "code_dir": "/bucket/code/", "command": "run",
            "engine": {"image_url": "o/i:1", "run_user": "1000"},
            "parameters": [{"name": "p", "value": ""}],
        })
    );
    assert_eq!(copy.check().violations, []);
}

/// Request of a fine-tuning job that the service executed.
const FINE_TUNING: &str =
    include_str!("../../../../../../openapi/attested/bodies/job-fine-tuning.json");

/// Returns the details of the fine-tuning job. Responses contain neither `train_type` nor
/// `spec.asset_id`.
fn shown_fine_tuning() -> Value {
    let answer = json!({
        "metadata": {"id": "j"},
        "status": {"phase": "Completed"},
        "train_type": null,
        "spec": {"asset_id": null},
        "ftjob_config": {"train_process": 0, "ft_job_uuid": ""},
    });
    patched(&serde_json::from_str(FINE_TUNING).unwrap(), &answer)
}

#[tokio::test]
async fn a_fine_tuning_job_is_copied_with_its_configuration() {
    let copy = copied(&shown_fine_tuning()).await;
    let mut expected: Value = serde_json::from_str(FINE_TUNING).unwrap();
    expected["metadata"]["name"] = "again".into();
    expected["ftjob_config"]["train_process"] = 0.into();
    take(&mut expected, "train_type");
    take(&mut expected["spec"], "asset_id");
    assert_eq!(copy.body(), expected);
    assert_eq!(copy.check().violations, []);

    let config = serde_json::from_value(expected["ftjob_config"].clone()).unwrap();
    let again = copy.fine_tuning("SFT".parse().unwrap(), config).asset("a");
    assert_eq!(again.check().violations, []);
}

fn take(object: &mut Value, name: &str) {
    object.as_object_mut().unwrap().remove(name).unwrap();
}

/// Tests that `from_json` and `from_yaml` convert these details into the same request as `copy_as`.
async fn assert_read_as_copied(details: &Value) {
    let mut copy = copied(details).await.body();
    copy["metadata"]["name"] = details["metadata"]["name"].clone();
    let (client, text) = (client(), details.to_string());
    let jobs = client.training_jobs();
    assert_eq!(jobs.from_json(&text).unwrap().body(), copy);
    assert_eq!(jobs.from_yaml(&text).unwrap().body(), copy);
}

#[tokio::test]
async fn details_in_a_document_become_the_request_that_a_copy_is() {
    assert_read_as_copied(&shown()).await;
    assert_read_as_copied(&shown_fine_tuning()).await;
    let plain = json!({
        "kind": "job",
        "metadata": {"id": "j", "name": "a", "description": "",
            "training_experiment_reference": {"id": "e", "name": "bert-tests"}},
        "status": {"phase": "Completed"},
        "algorithm": {
            "code_dir": "/bucket/code/", "boot_file": "/bucket/code/a.py", "inputs": [],
            "engine": {"engine_id": "e", "image_url": "", "run_user": "1102"},
            "parameters": [{"name": "p", "value": ""}],
        },
        "spec": {
            "resource": {"flavor_id": "f", "node_count": 1},
            "schedule_policy": {"priority": 0},
        },
        "ftjob_config": {"train_process": 0, "ft_job_uuid": ""},
    });
    assert_read_as_copied(&plain).await;
    // A request body is sent unchanged.
    let mut written = plain;
    take(&mut written, "status");
    take(&mut written["metadata"], "id");
    let job = client().training_jobs().from_value(&written).unwrap();
    assert_eq!(job.body(), written);
}

/// Undocumented fields at every level, as a newer service may return them.
const NEW: &str = r#"{
    "kind": "job", "billing_mode": {"plan": "monthly", "note": null},
    "metadata": {"id": "j", "name": "a", "labels": ["x", "y"]},
    "status": {"phase": "Completed", "progress": 1},
    "algorithm": {
        "command": "run", "sandbox": true,
        "engine": {"image_url": "o/i:1", "image_digest": "sha256:1", "v1_compatible": false},
        "inputs": [
            {
                "name": "data_url", "cached": 0,
                "remote": {"obs": {"obs_url": "/bucket/a/", "etag": "e"}}
            },
            null,
            {"name": "more", "remote": {"lake": {"table": "t"}}}
        ],
        "environments": {"A": "1"},
        "parameters": {"name": "p", "value": 3, "constraint": null}
    },
    "spec": {
        "resource": {"flavor_id": "f", "node_count": "2", "zone": "az1", "pool_info": {"x": 1}},
        "volumes": [{"evs": {"id": "v"}}],
        "schedule_policy": {"preemptible": "true", "deadline": 5, "priority": 0},
        "notification": null, "log_export_path": {},
        "auto_stop": {"duration": "4", "time_unit": "HOURS"}
    }
}"#;

#[tokio::test]
async fn undocumented_fields_are_kept_and_sent() {
    let answer = json_answer("200 OK", "", NEW);
    let made = json!({"kind": "job", "metadata": {"id": "k", "name": "again"}}).to_string();
    let server =
        Server::start([answer.clone(), answer, json_answer("201 Created", "", &made)]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    let copy = job.copy_as("again").await.unwrap();
    let body = json!({
        "kind": "job", "billing_mode": {"plan": "monthly", },
        "metadata": {"name": "again", "labels": ["x", "y"]},
        "algorithm": {
            "command": "run", "sandbox": true,
            "engine": {"image_url": "o/i:1", "image_digest": "sha256:1"},
            "inputs": [
                {"name": "data_url", "cached": 0,
                    "remote": {"obs": {"obs_url": "/bucket/a/", "etag": "e"}}},
                {"name": "more", "remote": {"lake": {"table": "t"}}},
            ],
            "environments": {"A": "1"},
            "parameters": [{"name": "p", "value": "3"}],
        },
        "spec": {
            "resource": {"flavor_id": "f", "node_count": 2, "zone": "az1"},
            "volumes": [{"evs": {"id": "v"}}],
            "schedule_policy": {"preemptible": true, "deadline": 5},
            "auto_stop": {"duration": 4, "time_unit": "HOURS"},
        },
    });
    assert_eq!(copy.body(), body);
    let report = copy.check();
    let fields: Vec<_> = report.warnings.iter().map(|warning| warning.field()).collect();
    assert_eq!(
        fields,
        [
            "spec.volumes[0]",
            "algorithm.engine.image_digest",
            "algorithm.inputs[0].cached",
            "algorithm.inputs[0].remote.obs.etag",
            "algorithm.inputs[1].remote.lake",
            "algorithm.sandbox",
            "billing_mode",
            "metadata.labels",
            "spec.resource.zone",
            "spec.schedule_policy.deadline",
            "spec.volumes[0].evs",
        ]
    );
    assert_eq!(
        report.warnings[6].to_string(),
        "billing_mode: no document names this field; it is sent as it is"
    );
    // The copy is sent with the values that the service returned.
    copy.clone().unchecked().without_token().submit().await.unwrap();
    let request = server.requests().pop().unwrap();
    let sent: Value = serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(sent, body);
    assert_eq!(server.left(), 0);

    let copy = copy.without_field("billing_mode").without_field("spec.volumes");
    assert_eq!(copy.body().get("billing_mode"), None);
    assert_eq!(copy.body()["spec"].get("volumes"), None);
}

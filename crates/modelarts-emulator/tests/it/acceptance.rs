//! Acceptance criteria of the emulator, and the tests that verify them.
//!
//! `openapi/SOURCES.md` contains a row for each fact behind the criteria. The facts about jobs are
//! in its section "Behaviour".

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Cloud,
    clock::ManualClock,
    jobs::RunnerKind,
    pools::{Pool, PoolKind},
    script::Script,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::Site;

/// Acceptance criteria, each with the name of its test, below the file of the test in this
/// directory.
const POINTS: &str = "
# handlers/api
1. 204 before the first log = the_log_is_a_204_before_its_first_byte
2. terminate on Completed: 409 2796 = only_active_jobs_are_terminated_and_only_so
3. a deleted id: 400 2775 with error_solution = a_job_that_does_not_exist_is_a_400
4. a duplicate name: 400 2751 = a_name_is_taken_until_its_job_is_gone
# handlers/jobs/operations
1. 2819 after thirty days = a_link_to_a_log_works_five_minutes
17. -1 is a gap in metrics = metrics_are_measured
# acceptance
5. run_user 0 on the public pool: 400 2855 = root_is_for_dedicated_pools
6. a ninth SFS mount, a mount on /cache = volumes_are_limited_in_number_and_place
13. the head of the queue blocks = the_head_of_the_queue_blocks_smaller_jobs
# validation/refused_jobs
7. environment variable 101 = broken_rules_of_a_creation_name_the_field
# execution/restart
8. exit 1: retries by the switch, unconditional up to three = restarts_are_counted
9. a hang is an event; with hang-retry restarted in place = a_job_that_hangs_is_restarted_in_place
10. preempted: Pending again, schedule_count + 1 = a_preempted_job_waits_and_runs_again
# execution/running
11. outputs come back after a failure = \
the_exit_code_decides_and_outputs_come_back_also_after_a_failure
16. MA_VJ_NAME and VC_* = a_boot_file_gets_its_code_arguments_and_directories
# handlers/jobs/search
12. jobs are paged by page = offset_is_the_number_of_a_page
# handlers/collections
12. algorithms are paged by page = algorithms_are_changed_listed_and_deleted
# server/faults
14. an unknown phase = responses_have_undocumented_values
15. 429 with and without Retry-After = statuses_and_pages_replace_the_answer
# runner/storage
16. VC_WORKER_HOSTS resolves = three_workers_of_the_example_sum_their_values
18. the log's cap = a_log_has_a_cap
# handlers/jobs/events
19. K8S and K8s = all_events_of_a_completed_job
19. found by either = events_are_filtered
# execution/stopping
20. auto_stop does not come back = auto_stop_is_honoured
";

#[test]
fn every_point_has_its_test() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut file = "";
    let mut text = String::new();
    for line in POINTS.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix("# ") {
            file = name;
            text = std::fs::read_to_string(directory.join(format!("{file}.rs"))).unwrap();
            continue;
        }
        let (point, test) = line.split_once(" = ").unwrap();
        assert!(text.contains(&format!("fn {test}()")), "{point}: {file}::{test}");
    }
    for number in 1..=20 {
        let begin = format!("{number}. ");
        assert!(POINTS.lines().any(|line| line.starts_with(&begin)), "{number}");
    }
}

#[tokio::test]
async fn root_is_for_dedicated_pools() {
    let site = Site::start().await;
    let mut job = site.script("root", "");
    job["algorithm"]["engine"]["run_user"] = "0".into();
    let reply = site.post("/training-jobs", &job).await;
    reply.refused(400, "ModelArts.2855");
    job["spec"]["resource"] = json!({"pool_id": "pool-cpu", "node_count": 1});
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
}

#[tokio::test]
async fn volumes_are_limited_in_number_and_place() {
    let nfs = tempfile::tempdir().unwrap();
    let site = Site::with(|builder| builder.nfs_root(nfs.path())).await;
    let mut job = site.script("mounts", "");
    job["spec"]["resource"] = json!({"pool_id": "pool-cpu", "node_count": 1});
    let mounts = |count: usize, place: &str| -> Value {
        (0..count)
            .map(|at| {
                json!({"nfs": {"nfs_server_path": format!("10.0.0.1:/{at}"),
                "local_path": format!("{place}{at}")}})
            })
            .collect()
    };
    for (volumes, status) in [
        (mounts(9, "/mnt/"), 400),
        (mounts(8, "/mnt/"), 201),
        (json!([{"nfs": {"nfs_server_path": "10.0.0.1:/a", "local_path": "/cache"}}]), 400),
    ] {
        job["spec"]["volumes"] = volumes;
        let reply = site.post("/training-jobs", &job).await;
        assert_eq!(reply.status, status, "{}", reply.text);
        if status == 400 {
            assert_eq!(reply.json()["error_code"], "ModelArts.2788");
        }
    }
}

/// A pool has two nodes, one of which is in use. A job that requests two nodes waits, and so does a
/// later job that requests one node.
#[tokio::test]
async fn the_head_of_the_queue_blocks_smaller_jobs() {
    let script = Script::from_json(r#"{"default": [{"seconds": 60}]}"#).unwrap();
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| {
        builder
            .pool(Pool::new("two", PoolKind::Cpu, 2))
            .clock(clock)
            .runner(RunnerKind::Simulated(script))
    })
    .await;
    let mut ids = Vec::new();
    for (name, nodes) in [("first", 1), ("large", 2), ("small", 1)] {
        let mut job = site.script(name, "");
        job["spec"]["resource"] = json!({"pool_id": "two", "node_count": nodes});
        ids.push(site.create(&job).await);
    }
    // Enough nodes are free for the third job from the start.
    for (seconds, expected) in [
        (30, ["Running", "Pending", "Pending"]),
        (60, ["Completed", "Running", "Pending"]),
        (60, ["Completed", "Completed", "Running"]),
        (60, ["Completed", "Completed", "Completed"]),
    ] {
        assert!(site.emulator.advance(Duration::from_secs(seconds)).await);
        for (id, phase) in ids.iter().zip(expected) {
            assert_eq!(site.phase(id).await, phase);
        }
    }
}

#[tokio::test]
async fn the_clouds_differ() {
    let otc = Site::with(|builder| builder.cloud(Cloud::Otc)).await;
    let huawei = Site::start().await;
    let retries = "fault-tolerance/job-retry-num";
    for (site, change, expected) in [
        (&otc, ("annotations", json!({retries: "4"})), (400, "ModelArts.2788")),
        (&huawei, ("annotations", json!({retries: "4"})), (201, "")),
        (&huawei, ("annotations", json!({retries: "129"})), (400, "ModelArts.2788")),
    ] {
        let mut job = site.script("cloud", "");
        job["metadata"][change.0] = change.1;
        let reply = site.post("/training-jobs", &job).await;
        assert_eq!(reply.error(), (expected.0, expected.1.to_owned()), "{job}");
    }
    // In a login, the region is used as the project name.
    let otc = Site::with(|builder| builder.password("p").cloud(Cloud::Otc)).await;
    let huawei = Site::with(|builder| builder.password("p")).await;
    for (site, project, status) in [
        (&otc, "eu-de", 201),
        (&otc, "cn-north-4", 401),
        (&huawei, "cn-north-4", 201),
        (&huawei, "eu-de", 401),
    ] {
        let user = json!({"name": "emulator", "password": "p", "domain": {"name": "emulator"}});
        let login = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": project}},
        }});
        let url = format!("{}/v3/auth/tokens", site.emulator.url());
        let reply = site.client.http.post(url).body(login.to_string()).send().await;
        assert_eq!(reply.unwrap().status(), status, "{project}");
    }
}

/// Responses contain nulls, empty objects or no body in the same cases as the examples (SOURCES
/// D-06, D-31, D-32).
#[tokio::test]
async fn absent_values_have_the_documented_form() {
    let site = Site::start().await;
    let mut job = site.script("empty", "");
    job["algorithm"]["policies"] = json!({"auto_search": null});
    job["algorithm"]["parameters"] = json!([{"name": "lr", "value": "1"}]);
    job["spec"]["log_export_path"] = json!({"obs_url": ""});
    let created = site.post("/training-jobs", &job).await.json();
    for (pointer, expected) in [
        ("/status/node_count_metrics", json!(null)),
        ("/status/duration", json!(0)),
        ("/status/start_time", json!(0)),
        ("/metadata/description", json!("")),
        ("/metadata/user_name", json!("")),
        ("/algorithm/policies", json!({})),
        ("/algorithm/parameters/0/i18n_description", json!(null)),
        ("/spec/log_export_path", json!({})),
    ] {
        assert_eq!(created.pointer(pointer), Some(&expected), "{pointer}");
    }
    let id = created["metadata"]["id"].as_str().unwrap();
    site.emulator.wait_until_settled(id).await;

    let algorithm = json!({
        "metadata": {"name": "a"},
        "job_config": {
            "code_dir": "/bucket/empty/code/",
            "boot_file": "/bucket/empty/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
        },
        "resource_requirements": [],
    });
    let stored = site.post("/algorithms", &algorithm).await.json();
    for (pointer, expected) in [
        ("/resource_requirements", json!(null)),
        ("/advanced_config", json!({})),
        ("/metadata/update_time", json!(0)),
    ] {
        assert_eq!(stored.pointer(pointer), Some(&expected), "{pointer}");
    }
    let algorithm = stored["metadata"]["id"].as_str().unwrap();

    for (method, path, body, expected) in [
        (Method::PUT, format!("/training-jobs/{id}"), r#"{"description": "d"}"#, (200, "null")),
        (Method::DELETE, format!("/training-jobs/{id}"), "", (202, "\"\"")),
        (Method::DELETE, format!("/algorithms/{algorithm}"), "", (202, "null")),
    ] {
        let reply = site.send(method, &path, body.into()).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), expected, "{path}");
    }
}

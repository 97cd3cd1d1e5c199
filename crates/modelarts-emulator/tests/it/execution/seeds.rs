//! Seeded jobs, which have an invented past.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{StartError, User, clock::ManualClock, seeds::Seeds};
use serde_json::{Value, json};

use crate::support::{Reply, Site};

async fn seed(site: &Site, jobs: Value) -> Reply {
    let url = format!("{}/_emulator/seeds", site.emulator.url());
    let body = json!({"jobs": jobs}).to_string();
    let request = site.client.http.post(url).body(body);
    Reply::of(request.send().await.unwrap()).await
}

fn ids(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status, 201, "{}", reply.text);
    serde_json::from_value(reply.json()["ids"].clone()).unwrap()
}

async fn events(site: &Site, id: &str) -> Value {
    let path = format!("/training-jobs/{id}/events");
    site.get(&path).await.json()["events"].take()
}

#[tokio::test]
async fn a_seeded_job_has_its_given_history() {
    let site = Site::start().await;
    let reply = seed(
        &site,
        json!([{
            "id": "5e1c7b52-5d1d-4a35-9c1b-6f3a3c9d0a11", "name": "old", "phase": "Failed",
            "exit_code": 2, "created": "2022-11-26T16:00:00+08:00",
            "started": 1_669_449_660_000_i64, "ended": 1_669_449_720_000_i64,
            "events": [
                {"time": 1_669_449_600_000_i64, "message": "first"},
                {"time": 1_669_449_720_000_i64, "message": "second", "level": "Error",
                 "source": "Task"},
            ],
            "logs": {"worker-0": "one\ntwo\n"},
            "metrics": {"worker-0": {"cpuUsage": [-1, 50.5], "gpuUtil": [7]}},
            "tags": {"team": "blue"},
        }]),
    )
    .await;
    let id = "5e1c7b52-5d1d-4a35-9c1b-6f3a3c9d0a11";
    assert_eq!(ids(&reply), [id]);
    let job = site.details(id).await;
    assert_eq!(job["metadata"]["create_time"], 1_669_449_600_000_i64);
    let status = &job["status"];
    assert_eq!(status["phase"], "Failed");
    assert_eq!(status["start_time"], 1_669_449_660_000_i64);
    assert_eq!(status["duration"], 60_000);
    assert_eq!(status["task_statuses"][0]["exit_code"], 2);
    assert_eq!(
        status["running_records"],
        json!([{
            "start_at": 1_669_449_660, "end_at": 1_669_449_720, "start_type": "init_or_rescheduled",
            "end_reason": "exit with 2", "end_related_task": "worker-0",
        }])
    );
    assert_eq!(
        events(&site, id).await,
        json!([
            {"time": "2022-11-26T16:00:00+08:00", "message": "first", "level": "Info",
             "source": "Job"},
            {"time": "2022-11-26T16:02:00+08:00", "message": "second", "level": "Error",
             "source": "Task"},
        ])
    );
    let metrics = site.get(&format!("/training-jobs/{id}/metrics/worker-0")).await;
    let metrics = metrics.json();
    assert_eq!(metrics["metrics"][0]["value"], json!([-1.0, 50.5]));
    assert_eq!(metrics["metrics"][2]["value"], json!([7.0, -1.0]));
    let tags = site.get(&format!("/modelarts-training-job/{id}/tags")).await;
    assert_eq!(tags.json()["tags"], json!([{"key": "team", "value": "blue"}]));
    // The log is three years old, and therefore beyond its retention period.
    let path = format!("/training-jobs/{id}/tasks/worker-0/logs/preview");
    let log = site.get(&path).await;
    log.refused(400, "ModelArts.2819");
}

#[tokio::test]
async fn a_seeded_job_of_each_phase_stays_until_it_is_ended() {
    let site = Site::start().await;
    let phases = [
        "Creating",
        "Pending",
        "Running",
        "Terminating",
        "Completed",
        "Failed",
        "Terminated",
        "Abnormal",
    ];
    let jobs: Vec<Value> = phases
        .iter()
        .map(|phase| {
            json!({"name": phase, "phase": phase,
            "logs": {"worker-0": format!("{phase}\n")}})
        })
        .collect();
    let all = ids(&seed(&site, json!(jobs)).await);
    for (id, phase) in all.iter().zip(phases) {
        assert_eq!(site.phase(id).await, phase);
        assert_eq!(site.log(id).await, format!("{phase}\n"));
    }
    assert_eq!(
        site.messages(&all[5]).await,
        [
            "Training job created.",
            "The training job is queuing and awaiting resource allocation.",
            "Training job is running.",
            "[worker-0] training started.",
            "[worker-0] Training finished. Exit code 1.",
            "Training job failed.",
        ]
    );
    for id in &all[..3] {
        assert_eq!(site.terminate(id).await.status, 202);
        site.emulator.wait_for(id, "Terminated").await.unwrap();
        site.emulator.wait_until_settled(id).await;
    }
    for id in &all {
        let path = format!("/training-jobs/{id}");
        assert_eq!(site.delete(&path).await.status, 202);
        site.emulator.wait_until_gone(id).await;
    }
    let list = site.post("/training-job-searches", &json!({})).await;
    assert_eq!(list.json()["total"], 0);
}

#[tokio::test]
async fn many_jobs_are_seeded_for_any_user_and_survive_a_restart() {
    let place = tempfile::tempdir().unwrap();
    let seeds = json!({"jobs": [
        {"name": "many-{n}", "count": 120, "user": "bob"},
        {"name": "stands", "phase": "Running", "user": "bob"},
    ]});
    let start = async || {
        Site::with(|builder| {
            let mut bob = User::new("bob");
            bob.project_id = "b".into();
            let mut ann = User::new("ann");
            ann.project_id = "a".into();
            builder
                .data_dir(place.path())
                .user(ann)
                .user(bob)
                .seed_jobs(Seeds::from_json(&seeds.to_string()).unwrap())
        })
        .await
    };
    for _ in 0..2 {
        let mut site = start().await;
        let own = site.post("/training-job-searches", &json!({})).await;
        assert_eq!(own.json()["total"], 0);
        // Because the test has no access key of the other user, it uses a token.
        site.client.project_id = "b".into();
        let url = format!("{}/_emulator/health", site.emulator.url());
        let health = Reply::of(site.client.http.get(url).send().await.unwrap()).await;
        assert_eq!(health.json()["jobs"], 121);
        site.emulator.shutdown().await;
    }
}

#[tokio::test]
async fn invalid_seeds_are_refused_and_create_nothing() {
    let site = Site::start().await;
    ids(&seed(&site, json!([{"name": "taken"}])).await);
    for (seeded, sentence) in [
        (json!({}), "jobs[0] must have `name` or `job`"),
        (json!({"name": "a", "phase": "Done"}), "jobs[0].phase must be one of Creating, "),
        (
            json!({"name": "a", "phase": "Pending", "started": 1}),
            "jobs[0].started: a job that is Pending has not run",
        ),
        (
            json!({"name": "a", "phase": "Running", "ended": 1}),
            "jobs[0].ended: a job that is Running has not ended",
        ),
        (
            json!({"name": "a", "exit_code": 1}),
            "jobs[0].exit_code: a job that is Completed has not failed",
        ),
        (
            json!({"name": "a", "phase": "Failed", "exit_code": 0}),
            "jobs[0].exit_code must be between 1 and 255",
        ),
        (
            json!({"name": "a", "created": "2999-01-01T00:00:00Z"}),
            "jobs[0].created must not be in the future",
        ),
        (
            json!({"name": "a", "created": 5000, "started": 4000}),
            "jobs[0].started must not be before",
        ),
        (
            json!({"name": "a", "created": "soon"}),
            "a time must be RFC 3339 or milliseconds, not \"soon\"",
        ),
        (
            json!({"name": "a", "created": i64::MIN}),
            "a time must be RFC 3339 or milliseconds, not -9223372036854775808",
        ),
        (json!({"name": "a", "count": 2}), "jobs[0]: several jobs need the placeholder {n}"),
        (json!({"name": "a", "id": "x"}), "jobs[0].id must be a UUID"),
        (json!({"name": "a", "user": "eve"}), "jobs[0].user: there is no user eve"),
        (json!({"name": "a b"}), "jobs[0].job: ModelArts."),
        (
            json!({"name": "a", "logs": {"worker-1": ""}}),
            "jobs[0].logs: worker-1 is not a task of the job: worker-0",
        ),
        (
            json!({"name": "a", "metrics": {"worker-0": {"cpu": [1]}}}),
            "jobs[0].metrics.worker-0.cpu must be one of cpuUsage",
        ),
        (
            json!({"name": "a", "events": [{"time": 2, "message": ""}, {"time": 1,
                "message": ""}]}),
            "jobs[0].events must be in the order",
        ),
        (json!({"name": "a", "colour": "red"}), "unknown field `colour`"),
    ] {
        let reply = seed(&site, json!([seeded.clone(), {"name": "b"}])).await;
        assert_eq!(reply.error(), (400, "Emulator.0400".to_owned()), "{seeded}");
        let error_message = reply.json()["error_msg"].as_str().unwrap().to_owned();
        assert!(error_message.contains(sentence), "{seeded}: {error_message}");
    }
    // The conflict is detected when the first job has already been created; that job is removed
    // again.
    let reply = seed(&site, json!([{"name": "b"}, {"name": "taken"}])).await;
    assert_eq!(reply.status, 400, "{}", reply.text);
    let list = site.post("/training-job-searches", &json!({})).await;
    assert_eq!(list.json()["total"], 1);
    let bad = Seeds::from_json(r#"{"jobs": [{"name": "a", "phase": "Done"}]}"#).unwrap();
    let builder = modelarts_emulator::Emulator::builder();
    let error = builder.seed_jobs(bad).start().await.unwrap_err();
    assert!(matches!(error, StartError::Seeds(_)), "{error}");
}

/// A file occupies the path of the directory of the second of three jobs.
#[tokio::test]
async fn a_log_that_cannot_be_written_removes_all_seeded_jobs() {
    let site = Site::start().await;
    let id = "0d2f4b7a-4a0c-4b6e-9a51-3f0f5d7d1c11";
    let jobs = &site.jobs;
    std::fs::write(jobs.join(id), "").unwrap();
    let logs = json!({"worker-0": "a line"});
    let seeds = json!([
        {"name": "a", "logs": logs},
        {"name": "b", "id": id, "logs": logs, "metrics": {"worker-0": {"cpuUsage": [1]}}},
        {"name": "c"},
    ]);
    let reply = seed(&site, seeds).await;
    reply.refused(400, "Emulator.0400");
    let error_message = reply.json()["error_msg"].as_str().unwrap().to_owned();
    assert!(error_message.starts_with("the job b: its log cannot be written"), "{error_message}");
    let list = site.post("/training-job-searches", &json!({})).await;
    assert_eq!(list.json()["total"], 0);
}

#[tokio::test]
async fn the_duration_of_a_seeded_running_job_grows() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
    let id = ids(&seed(&site, json!([{"name": "runs", "phase": "Running"}])).await).remove(0);
    assert!(site.emulator.advance(Duration::from_secs(600)).await);
    let status = site.details(&id).await["status"].take();
    assert_eq!((&status["phase"], &status["duration"]), (&json!("Running"), &json!(600_000)));
}

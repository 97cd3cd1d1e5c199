//! Tests of the details and metrics of a job.

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use modelarts_emulator::seeds::Seeds;
use modelarts_ext::{
    Job,
    jobs::{MetricSeries, follow::JobUpdate},
    types::Phase,
};
use serde_json::json;

use crate::support::{
    clock::{TestClock, seconds},
    faults::SHOW,
    script_barrier::ScriptBarrier,
    server::{Server, json_answer},
    site::Site,
};

#[tokio::test]
async fn a_job_has_accessors_for_common_values() {
    let server = Server::start([
        json_answer(
            "200 OK",
            "",
            &json!({
                "metadata": {"id": "job-1", "create_time": 1_641_892_642_625_i64},
                "spec": {
                    "log_export_path": {"obs_url": "obs://bucket/logs/"},
                    "resource": {
                        "node_count": 2,
                        "flavor_detail": {
                            "billing": {"code": "modelarts.vm.gpu.example", "unit_num": 1},
                            "flavor_info": {"gpu": {"unit_num": 4}},
                        },
                    },
                },
                "status": {
                    "phase": "Failed", "start_time": 1_641_892_655_000_i64, "duration": 268_000,
                    "running_records": [
                        {"start_at": 1_701_327_093, "end_at": 1_701_322_341,
                         "end_reason": "exit with 127", "start_type": "init_or_rescheduled"},
                        {"start_at": 1_701_327_193, "start_type": "restarted"},
                    ],
                    "task_statuses": [{"task": "worker-1", "exit_code": 127, "message": "no"}],
                },
                "tasks": [
                    {"role": "server", "log_export_path": {"obs_url": ""}},
                    {"role": "worker", "log_export_path": {"obs_url": "obs://bucket/w/"}},
                ],
            })
            .to_string(),
        ),
        json_answer(
            "200 OK",
            "",
            &json!({"metadata": {"id": "job-2", "create_time": 1000},
                "status": {"phase": "Creating", "start_time": 0, "duration": 0},
                "spec": {"log_export_path": {}},
                "tasks": [{"role": "worker", "log_export_path": {"obs_url": "obs://bucket/w"}}]})
            .to_string(),
        ),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    assert_eq!(job.time_queued(), Some(Duration::from_millis(12_375)));
    assert_eq!(job.cards(), Some(8.0));
    assert_eq!(job.card_hours(), Some(8.0 * 268.0 / 3600.0));
    assert_eq!(job.billing_code(), Some("modelarts.vm.gpu.example"));
    assert_eq!(job.time_run(), Some(seconds(268)));
    assert_eq!(job.restarts(), Some(1));
    assert_eq!(job.runs()[0].end_reason.as_deref(), Some("exit with 127"));
    assert_eq!(job.exit_codes().collect::<Vec<_>>(), [("worker-1", 127)]);
    let dirs = ["obs://bucket/logs/", "obs://bucket/w/"];
    assert_eq!(job.log_dirs().collect::<Vec<_>>(), dirs);
    // Logs are in the log directory of the task's role, or in that of the job if the role has none.
    for (task, dir) in [("worker-1", "w"), ("server-0", "logs"), ("other", "logs")] {
        assert_eq!(
            job.log_object(task),
            Some(format!("obs://bucket/{dir}/modelarts-job-job-1-{task}.log"))
        );
    }

    let new = client.training_jobs().get("job-2").await.unwrap();
    assert_eq!((new.started_at(), new.time_queued(), new.time_run()), (None, None, None));
    assert_eq!((new.restarts(), new.exit_codes().count()), (None, 0));
    assert_eq!((new.cards(), new.card_hours(), new.billing_code()), (None, None, None));
    assert_eq!(
        new.log_object("worker-0").as_deref(),
        Some("obs://bucket/w/modelarts-job-job-2-worker-0.log")
    );
    assert_eq!(new.log_object("server-0"), None);
    assert_eq!(new.log_dirs().collect::<Vec<_>>(), ["obs://bucket/w"]);
}

/// Returns the phase and the exit codes of a job, and whether its times are known.
fn facts(job: &Job) -> (Phase, Vec<(&str, i64)>, bool, bool) {
    (job.phase(), job.exit_codes().collect(), job.started_at().is_some(), job.time_run().is_some())
}

/// Each way of waiting returns the end, and does not change the job that it was started from.
#[tokio::test]
async fn a_job_is_one_answer() {
    let site = Site::start().await;
    for way in ["wait", "stream", "wait_all", "follow"] {
        let job = site.script(way, "exit(3)").submit().await.unwrap();
        site.emulator.wait_until_settled(job.id()).await;
        let end = match way {
            "wait" => job.wait().await.unwrap().job().clone(),
            "stream" => {
                let seen: Vec<_> = job.wait().stream().try_collect().await.unwrap();
                seen.last().unwrap().job.clone()
            }
            "wait_all" => {
                let all = site.client.training_jobs().wait_all([job.clone()]);
                all.await.unwrap()[0].job().clone()
            }
            _ => match job.follow().try_collect::<Vec<_>>().await.unwrap().pop() {
                Some(JobUpdate::Phase(job)) => *job,
                other => panic!("{other:?}"),
            },
        };
        assert_eq!(facts(&job), (Phase::Creating, vec![], false, false), "{way}");
        let ended = (Phase::Failed, vec![("worker-0", 3)], true, true);
        assert_eq!(facts(&end), ended, "{way}");
        // Such a short job has no metrics. The end knows the start of the job without a call.
        let shown = site.count(SHOW).0;
        for (job, calls) in [(&end, 0), (&job, 1)] {
            let error = job.metrics("worker-0").await.unwrap_err();
            assert_eq!(error.operation(), Some("ShowTrainingJobMetrics"), "{way}");
            assert_eq!(site.count(SHOW).0, shown + calls, "{way}");
        }
    }
}

#[tokio::test]
async fn metrics_are_series_from_the_start_of_the_job() {
    let site = Site::start().await;
    let seeds = json!({"jobs": [
        {"name": "new", "phase": "Pending"},
        {"name": "measured", "phase": "Running",
         "created": "2026-01-15T08:20:00Z", "started": "2026-01-15T08:20:30Z",
         "metrics": {"worker-0": {"memUsage": [-1, -1, 12.5, -1, 0]}}},
    ]});
    let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
    let ids = site.emulator.seed(&seeds).await.unwrap();
    let jobs = site.client.training_jobs();
    let new = jobs.get(&ids[0]).await.unwrap();
    assert!(new.metrics("worker-0").await.unwrap_err().is_not_ready());

    let job = jobs.get(&ids[1]).await.unwrap();
    let series = job.metrics("worker-0").await.unwrap();
    let names: Vec<_> = series.iter().map(MetricSeries::metric).collect();
    assert_eq!(names, ["cpuUsage", "memUsage", "gpuUtil", "gpuMemUsage", "npuUtil", "npuMemUsage"]);
    let start = job.started_at().unwrap();
    // The start is 2026-01-15T08:20:30Z.
    assert_eq!(start, SystemTime::UNIX_EPOCH + seconds(1_768_465_230));
    let values = [None, None, Some(12.5), None, Some(0.0)];
    let points = (0..).zip(values).map(|(minute, value)| (start + seconds(60 * minute), value));
    assert_eq!(series[1].points().collect::<Vec<_>>(), points.collect::<Vec<_>>());
    assert!(series[2..].iter().all(MetricSeries::is_blank));

    let error = job.metrics("worker-9").await.unwrap_err();
    assert!(error.to_string().contains("worker-9"), "{error}");
}

#[tokio::test]
async fn metrics_read_the_start_of_the_job_and_keep_the_handle() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let job = site.script("runs", &barrier.script("", "")).submit().await;
    let job = job.unwrap();
    let waiting = barrier.reached().await;
    // The handle was read before the job started; the job is now running.
    let shown = site.count(SHOW).0;
    let error = job.metrics("worker-0").await.unwrap_err();
    assert_eq!(error.operation(), Some("ShowTrainingJobMetrics"));
    assert_eq!(site.count(SHOW).0, shown + 1);
    assert_eq!(job.started_at(), None);

    site.at_pause(job.id(), async move {
        waiting.release().await;
    });
    let observations: Vec<_> = job.wait().stream().try_collect().await.unwrap();
    let phases = observations.iter().map(|seen| seen.job.phase());
    assert_eq!(phases.collect::<Vec<_>>(), [Phase::Running, Phase::Completed]);
}

/// The time of the end of a job that never ran is only in its events.
#[tokio::test]
async fn phases_without_a_known_time_have_no_duration() {
    let site = Site::start().await;
    let jobs = site.client.training_jobs();
    let now = SystemTime::UNIX_EPOCH + seconds(1_768_466_000);
    let created = 1_768_465_845_000_i64;
    for (status, expected) in [
        (
            json!({"phase": "Terminated"}),
            vec![("Creating", true, None), ("Terminated", false, None)],
        ),
        (json!({"phase": "Pending"}), vec![("Pending", true, Some(155))]),
        (
            json!({"phase": "Failed", "start_time": created + 5000}),
            vec![("Creating", true, Some(5)), ("Running", true, None), ("Failed", false, None)],
        ),
        (
            json!({"phase": "Failed", "start_time": created + 5000, "duration": 7000}),
            vec![("Creating", true, Some(5)), ("Running", true, Some(7)), ("Failed", true, None)],
        ),
    ] {
        let details = json!({"metadata": {"id": "j", "create_time": created}, "status": status});
        let phases = jobs.job_from_json(details.to_string()).unwrap().phases(&[]);
        let phases: Vec<_> = phases
            .iter()
            .map(|phase| {
                let duration = phase.duration(now).map(|duration| duration.as_secs());
                (phase.phase.as_str(), phase.start.is_some(), duration)
            })
            .collect();
        assert_eq!(phases, expected);
    }
    for (wrong, expected) in [
        ("{", "the details of the job: EOF while parsing an object at line 1 column 1"),
        ("{}", "the details of the job must have an id, metadata.id"),
    ] {
        assert_eq!(jobs.job_from_json(wrong).unwrap_err().to_string(), expected);
    }
}

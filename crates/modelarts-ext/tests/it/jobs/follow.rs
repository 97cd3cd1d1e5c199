//! Tests of followed jobs: phases, events and logs.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_emulator::seeds::Seeds;
use modelarts_ext::{LogItem, RetryPolicy, jobs::follow::JobUpdate};
use serde_json::json;

use super::fixtures::update_lines;
use crate::support::{clock::seconds, faults::status, script_barrier::ScriptBarrier, site::Site};

#[tokio::test]
async fn a_job_is_followed_as_a_whole() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script("print('hello', flush=True)", "print('bye')");
    let job = site.script("whole", &script).submit().await.unwrap();
    let waiting = barrier.reached().await;
    site.at_pause(job.id(), async move {
        waiting.release().await;
    });
    let news: Vec<_> = job.follow().try_collect().await.unwrap();
    assert_eq!(
        update_lines(&news, job.id()),
        [
            "= Running",
            "! Training job created.",
            "! The training job is queuing and awaiting resource allocation.",
            "! [Pod: modelarts-job-ID-worker-0] Pulled: Successfully pulled image \
             \"pytorch_1.8.0\"",
            "! [Pod: modelarts-job-ID-worker-0] SuccessfulCreate: Created container",
            "! [Pod: modelarts-job-ID-worker-0] Started: Started container",
            "! [worker-0] The training code is being downloaded.",
            "! [worker-0] [Duration: 0.000] Training code downloaded.",
            "! Training job is running.",
            "! [worker-0] training started.",
            "worker-0: hello",
            "worker-0: bye",
            "! [worker-0] Training finished. Exit code 0.",
            "! Training job executed.",
            "! Billing information synchronized.",
            "= Completed",
        ]
    );
    assert_eq!(site.clock.slept(), [seconds(5)]);
}

#[tokio::test]
async fn all_tasks_of_a_job_are_followed() {
    let site = Site::start().await;
    let script = "import os\nprint('I am', os.environ['VC_TASK_INDEX'])";
    let job = site.run(site.script("many", script).nodes(2)).await;
    let news = job.updates().quiet(Duration::ZERO).follow();
    let news: Vec<_> = news.try_collect().await.unwrap();
    let lines = update_lines(&news, job.id());
    for task in ["worker-0", "worker-1"] {
        let index = &task[7..];
        let line = lines.iter().position(|line| *line == format!("{task}: I am {index}"));
        let end = format!("! [{task}] Training finished. Exit code 0.");
        let end = lines.iter().position(|line| *line == end);
        assert!(line.is_some() && line < end, "{lines:?}");
    }
    assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);

    let news = job.updates().quiet(Duration::ZERO).without_logs().follow();
    let news: Vec<_> = news.try_collect().await.unwrap();
    assert!(!news.iter().any(|news| matches!(news, JobUpdate::Log { .. })));
    assert!(matches!(news.last(), Some(JobUpdate::Phase(_))));
}

#[tokio::test]
async fn a_job_whose_log_was_deleted_is_followed() {
    let site = Site::start().await;
    // The service deletes logs after 30 days.
    let seeds = json!({"jobs": [{
        "name": "old", "created": "2025-01-15T08:30:00Z",
        "events": [{"time": "2025-01-15T08:30:01Z", "message": "the only event"}],
        "logs": {"worker-0": "once written\n"},
    }]});
    let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
    let id = site.emulator.seed(&seeds).await.unwrap().remove(0);
    let job = site.client.training_jobs().get(&id).await.unwrap();
    let error = job.logs("worker-0").preview().await.unwrap_err();
    assert_eq!(error.code(), Some("ModelArts.2819"));

    let log = job.logs("worker-0").quiet(Duration::ZERO);
    let items: Vec<LogItem> = log.follow().try_collect().await.unwrap();
    assert_eq!(items, [LogItem::Gap { bytes: None }]);

    let updates = job.updates().quiet(Duration::ZERO);
    let news: Vec<JobUpdate> = updates.follow().try_collect().await.unwrap();
    let texts = news.iter().map(|news| match news {
        JobUpdate::Phase(job) => job.phase().to_string(),
        JobUpdate::Event(event) => event.message().to_owned(),
        JobUpdate::Log { task, item } => format!("{task}: {item:?}"),
        other => format!("{other:?}"),
    });
    assert_eq!(
        texts.collect::<Vec<_>>(),
        ["the only event", "worker-0: Gap { bytes: None }", "Completed"]
    );
}

#[tokio::test]
async fn interruptions_are_items_on_request() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = site.run(site.script("bumpy", "print('x')")).await;
    let follow = async |reports: bool| {
        let job = client.training_jobs().get(job.id()).await.unwrap();
        site.fault(2, "ShowTrainingJobDetails", status(503, None));
        let updates = job.updates();
        let updates = match reports {
            true => updates.report_interruptions(),
            false => updates,
        };
        let news: Vec<_> = updates.follow().try_collect().await.unwrap();
        news
    };
    let news = follow(true).await;
    let at = |wanted: fn(&JobUpdate) -> bool| {
        let found: Vec<_> = news.iter().map(wanted).collect();
        assert_eq!(found.iter().filter(|found| **found).count(), 1);
        found.iter().position(|found| *found).unwrap()
    };
    let lost = at(|news| matches!(news, JobUpdate::Interrupted { .. }));
    let restored = at(|news| matches!(news, JobUpdate::Resumed));
    let end = at(|news| matches!(news, JobUpdate::Phase(_)));
    assert!(lost < restored && restored < end);
    let json = serde_json::to_value(&news[lost]).unwrap();
    assert_eq!(json["update"], "interrupted");
    let error = json["error"].as_str().unwrap();
    assert!(error.starts_with("ShowTrainingJobDetails: "), "{error}");

    let plain = follow(false).await;
    assert_eq!(plain.len(), news.len() - 2);
}

//! Waiting for one job, and for many, and what is known of them then.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::TryStreamExt;
use modelarts_emulator::{Fault, Seeds, Timing};
use modelarts_ext::{Job, Outcome, RetryPolicy, Series, TerminatedBy, Waited, types::Phase};
use serde_json::json;

use crate::support::{
    clock::{TestClock, seconds},
    gate::Gate,
    faults::{LIST, SHOW},
    server::{Reply, Server, json_answer},
    site::Site,
};

#[tokio::test]
async fn a_wait_ends_where_it_is_told_to() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(100);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let gate = Gate::new().await;
    let job = site.script("until", &gate.script("", "")).submit().await;
    let job = job.unwrap();
    site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    let (emulator, clock, id) = (
        Arc::clone(&site.emulator),
        site.clock.clone(),
        job.id().to_owned(),
    );
    site.clock.step(async move {
        clock.advance(seconds(100));
        emulator.wait_for(&id, "Running").await.unwrap();
    });
    let running = |job: &Job| job.phase() == Phase::Running;
    let end = job.wait().until(running).await.unwrap();
    assert_eq!(*end.outcome(), Outcome::Reached);
    assert!(!end.is_completed());
    assert_eq!(end.job().phase(), Phase::Running);
    assert_eq!(site.clock.slept().len(), 1);

    // A job that ends without ever being so ends the wait as always.
    let waiting = gate.reached().await;
    let (emulator, id) = (Arc::clone(&site.emulator), job.id().to_owned());
    site.clock.step(async move {
        waiting.let_through().await;
        emulator.settled(&id).await;
    });
    let never = job.wait().until(|job| job.phase() == Phase::Abnormal);
    assert_eq!(*never.await.unwrap().outcome(), Outcome::Completed);
}

#[tokio::test]
async fn errors_that_are_passed_over_are_counted() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = site.run(site.script("bumpy", "exit(3)")).await;
    let job = client.training_jobs().get(job.id()).await.unwrap();
    let status = Fault::Status {
        status: 503,
        retry_after: None,
        error_code: None,
        error_msg: None,
    };
    site.fault(2, SHOW, status);
    site.fault(1, SHOW, Fault::Reset);
    let end = job.wait().await.unwrap();
    assert_eq!(end.errors(), 3);
    assert_eq!(
        *end.outcome(),
        Outcome::Failed {
            exit_code: Some(3),
            task: Some("worker-0".into()),
            message: Some("exit with 3".into()),
        }
    );
}

/// How each job ended, by its name.
fn ends(ends: Vec<Waited>) -> BTreeMap<String, String> {
    let ends = ends.iter().map(|end| {
        let outcome = match end.outcome() {
            Outcome::Failed { exit_code, .. } => format!("Failed {exit_code:?}"),
            other => format!("{other:?}"),
        };
        (end.job().name().to_owned(), outcome)
    });
    ends.collect()
}

#[tokio::test]
async fn many_jobs_end_in_many_ways() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let mut jobs = vec![
        site.script("good", "").submit().await.unwrap(),
        site.script("bad", "exit(2)").submit().await.unwrap(),
    ];
    for name in ["good", "bad"] {
        let job = jobs.iter().find(|job| job.name() == name).unwrap();
        site.emulator.settled(job.id()).await;
    }
    let mut waiting = Vec::new();
    for name in ["stopped", "limited", "deleted", "slow"] {
        let job = site.script(name, &gate.script("", ""));
        let job = match name {
            "limited" => job.auto_stop(seconds(3600)),
            _ => job,
        };
        jobs.push(job.submit().await.unwrap());
        waiting.push(gate.reached().await);
    }
    // It may be given twice.
    jobs.push(jobs[0].clone());
    let (emulator, stopped) = (Arc::clone(&site.emulator), jobs[2].clone());
    site.clock.step(async move {
        stopped.terminate().await.unwrap();
        emulator.settled(stopped.id()).await;
    });
    let (emulator, deleted) = (Arc::clone(&site.emulator), jobs[4].clone());
    site.clock.step(async move {
        deleted.delete().await.unwrap();
        emulator.gone(deleted.id()).await;
    });
    let (emulator, clock, limited) = (
        Arc::clone(&site.emulator),
        site.clock.clone(),
        jobs[3].id().to_owned(),
    );
    site.clock.step(async move {
        clock.advance(seconds(3600));
        emulator.settled(&limited).await;
    });
    let before = (site.count(LIST).0, site.count(SHOW).0);
    let wait = site
        .client
        .training_jobs()
        .wait_all(jobs)
        .interval(seconds(1), seconds(30))
        .timeout(seconds(5000));
    let all = wait.await.unwrap();
    assert_eq!(
        ends(all),
        BTreeMap::from(
            [
                ("good", "Completed".to_owned()),
                ("bad", "Failed Some(2)".to_owned()),
                (
                    "stopped",
                    format!(
                        "{:?}",
                        Outcome::Terminated {
                            by: TerminatedBy::User
                        }
                    )
                ),
                (
                    "limited",
                    format!(
                        "{:?}",
                        Outcome::Terminated {
                            by: TerminatedBy::AutoStop {
                                limit: seconds(3600)
                            }
                        }
                    )
                ),
                ("deleted", "Vanished".to_owned()),
                ("slow", "TimedOut".to_owned()),
            ]
            .map(|(name, end)| (name.to_owned(), end))
        )
    );
    // Only the deleted one had to be asked for by itself.
    assert_eq!(site.count(SHOW).0 - before.1, 1);
    assert!(site.count(LIST).0 - before.0 < 70);
    drop(waiting);
}

#[tokio::test]
async fn hundreds_of_jobs_share_a_budget_of_calls() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(1000);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let mut jobs = Vec::new();
    for number in 0..110 {
        jobs.push(
            site.script(&format!("j{number}"), "")
                .submit()
                .await
                .unwrap(),
        );
    }
    // One that nobody waits for.
    site.script("other", "").submit().await.unwrap();
    for job in &jobs {
        site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    }
    let stop = |jobs: Vec<Job>| {
        let emulator = Arc::clone(&site.emulator);
        site.clock.step(async move {
            for job in jobs {
                job.terminate().await.unwrap();
                emulator.settled(job.id()).await;
            }
        });
    };
    stop(Vec::new());
    stop(jobs[..3].to_vec());
    stop(jobs[3..107].to_vec());
    let before = (site.count(LIST).0, site.count(SHOW).0);
    let wait = site
        .client
        .training_jobs()
        .wait_all(jobs.clone())
        .interval(seconds(1), seconds(30))
        .budget(60)
        .timeout(seconds(100));
    let mut ended = wait.stream();
    let mut counts = BTreeMap::new();
    let mut calls = Vec::new();
    while let Some(end) = ended.try_next().await.unwrap() {
        *counts.entry(format!("{:?}", end.outcome())).or_insert(0) += 1;
        calls.push((site.count(LIST).0 - before.0, site.count(SHOW).0 - before.1));
    }
    assert_eq!(
        counts,
        BTreeMap::from([
            (
                format!(
                    "{:?}",
                    Outcome::Terminated {
                        by: TerminatedBy::User
                    }
                ),
                107
            ),
            ("TimedOut".to_owned(), 3),
        ])
    );
    // Three rounds with three pages each find the first ends, and each is looked at.
    assert_eq!(calls[0], (9, 3));
    // Then 60 in one round of one page, and 44 in the next.
    assert_eq!(calls[3], (10, 63));
    assert_eq!(calls[63], (11, 107));
    assert_eq!(site.clock.steps_left(), 0);
}

#[tokio::test]
async fn a_service_that_does_not_search_by_id_is_searched_by_phase() {
    let site = Site::start().await;
    let job = site.run(site.script("one", "")).await;
    let refusal = Fault::Status {
        status: 400,
        retry_after: None,
        error_code: Some("ModelArts.2807".into()),
        error_msg: Some("unsupported key".into()),
    };
    site.fault(1, LIST, refusal);
    let all = site.client.training_jobs().wait_all([job]).await.unwrap();
    assert_eq!(
        ends(all),
        BTreeMap::from([("one".into(), "Completed".into())])
    );
    assert_eq!(site.count(LIST).0, 2);
    assert_eq!(site.clock.slept(), []);
}

#[tokio::test]
async fn each_workspace_is_searched_once_in_a_round() {
    let site = Site::start().await;
    let mut jobs = Vec::new();
    for (name, workspace) in [("a", "0"), ("b", "w"), ("c", "w"), ("d", "v")] {
        let job = site.script(name, "").workspace(workspace);
        jobs.push(site.run(job).await);
    }
    let before = (site.count(LIST).0, site.count(SHOW).0);
    let all = site.client.training_jobs().wait_all(jobs).await.unwrap();
    assert_eq!(
        ends(all),
        BTreeMap::from(["a", "b", "c", "d"].map(|name| (name.into(), "Completed".into())))
    );
    // All were found, so none was asked for by itself.
    assert_eq!(site.count(LIST).0 - before.0, 3);
    assert_eq!(site.count(SHOW).0 - before.1, 0);
}

#[tokio::test]
async fn nothing_to_wait_for_ends_at_once() {
    let site = Site::start().await;
    let all = site.client.training_jobs().wait_all([]).await.unwrap();
    assert_eq!(all.len(), 0);
    assert_eq!(site.count(LIST).0, 0);
}

fn details(id: &str, phase: &str) -> Reply {
    let body = json!({"metadata": {"id": id, "name": id}, "status": {"phase": phase}});
    json_answer("200 OK", "", &body.to_string())
}

fn nothing_found() -> Reply {
    let body = json!({"total": 0, "count": 0, "limit": 50, "offset": 0, "items": []});
    json_answer("200 OK", "", &body.to_string())
}

/// Of each request, the last word of its path.
fn asked(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let words = requests.iter().map(|request| {
        let path = request.split(' ').nth(1).unwrap();
        path.rsplit('/').next().unwrap().to_owned()
    });
    words.collect()
}

#[tokio::test]
async fn jobs_in_phases_that_nobody_knows_do_not_keep_others_from_being_asked_for() {
    let refusal = json!({"error_code": "ModelArts.2807", "error_msg": "unsupported key"});
    let server = Server::start([
        details("a", "Running"),
        details("b", "Running"),
        details("c", "Running"),
        json_answer("400 Bad Request", "", &refusal.to_string()),
        nothing_found(),
        details("a", "Hibernating"),
        nothing_found(),
        details("b", "Completed"),
        nothing_found(),
        details("c", "Completed"),
        nothing_found(),
        details("a", "Completed"),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let mut jobs = Vec::new();
    for id in ["a", "b", "c"] {
        jobs.push(client.training_jobs().get(id).await.unwrap());
    }
    let all = client.training_jobs().wait_all(jobs).budget(1).await;
    let all = all.unwrap();
    let order: Vec<_> = all.iter().map(|end| end.job().id()).collect();
    assert_eq!(order, ["b", "c", "a"]);
    assert!(all.iter().all(Waited::is_completed));
    let search = "training-job-searches";
    assert_eq!(
        asked(&server)[3..],
        [search, search, "a", search, "b", search, "c", search, "a"]
    );
}

#[tokio::test]
async fn the_time_limit_of_a_wait_is_kept_while_the_service_does_not_answer() {
    let clock = TestClock::new();
    let hangs = || Reply::HangAnHour(Vec::new(), clock.clone());
    let server = Server::start([
        details("slow", "Running"),
        hangs(),
        details("slow", "Running"),
        hangs(),
        hangs(),
    ])
    .await;
    let client = server.client(&clock).timeout(seconds(7200));
    let client = client.build().unwrap();
    let job = client.training_jobs().get("slow").await.unwrap();
    // At the first look, and at a later one.
    for looks in [2, 4] {
        let end = job.wait().timeout(seconds(1000)).await.unwrap();
        assert_eq!(*end.outcome(), Outcome::TimedOut);
        assert_eq!(end.job().phase(), Phase::Running);
        assert_eq!(server.requests().len(), looks);
    }
    let all = client.training_jobs().wait_all([job]);
    let all = all.timeout(seconds(1000)).await.unwrap();
    assert_eq!(*all[0].outcome(), Outcome::TimedOut);
    assert_eq!(server.left(), 0);
}

/// The facts of a job that ended.
fn facts(job: &Job) -> (Phase, Vec<(String, i64)>, bool, bool) {
    let codes = job.exit_codes();
    (
        job.phase(),
        codes.map(|(task, code)| (task.to_owned(), code)).collect(),
        job.started_at().is_some(),
        job.time_run().is_some(),
    )
}

#[tokio::test]
async fn the_job_that_was_waited_for_is_as_it_ended() {
    let site = Site::start().await;
    let ended = (Phase::Failed, vec![("worker-0".to_owned(), 3)], true, true);
    for way in ["wait", "wait_all", "follow", "events", "log"] {
        let job = site.script(way, "exit(3)").submit().await.unwrap();
        let before = job.clone();
        let (emulator, id) = (Arc::clone(&site.emulator), job.id().to_owned());
        emulator.settled(&id).await;
        assert_eq!(
            facts(&job),
            (Phase::Creating, vec![], false, false),
            "{way}"
        );
        let mut seen = Vec::new();
        match way {
            "wait" => {
                let mut wait = job.wait().observe();
                while let Some(observation) = wait.try_next().await.unwrap() {
                    seen.push(observation.job);
                }
            }
            "wait_all" => {
                let jobs = [job.clone(), before.clone()];
                let jobs = site.client.training_jobs().wait_all(jobs);
                seen.push(jobs.await.unwrap()[0].job().clone());
            }
            "follow" => drop(job.follow().stream().try_collect::<Vec<_>>().await.unwrap()),
            "events" => drop(job.events().follow().try_collect::<Vec<_>>().await.unwrap()),
            _ => {
                let log = job.logs("worker-0").follow();
                drop(log.try_collect::<Vec<_>>().await.unwrap());
            }
        }
        let shown = site.count(SHOW).0;
        for job in [&job, &before].into_iter().chain(&seen) {
            assert_eq!(facts(job), ended, "{way}");
        }
        let error = job.metrics("worker-0").await.unwrap_err();
        // There are none of so short a job; nothing had to be asked for its start.
        assert_eq!(error.operation(), Some("ShowTrainingJobMetrics"), "{way}");
        assert_eq!(site.count(SHOW).0, shown, "{way}");
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
    let names: Vec<_> = series.iter().map(Series::metric).collect();
    assert_eq!(
        names,
        [
            "cpuUsage",
            "memUsage",
            "gpuUtil",
            "gpuMemUsage",
            "npuUtil",
            "npuMemUsage"
        ]
    );
    let start = job.started_at().unwrap();
    // 2026-01-15T08:20:30Z
    assert_eq!(start, SystemTime::UNIX_EPOCH + seconds(1_768_465_230));
    let values = [None, None, Some(12.5), None, Some(0.0)];
    let points = (0..)
        .zip(values)
        .map(|(minute, value)| (start + seconds(60 * minute), value));
    assert_eq!(
        series[1].points().collect::<Vec<_>>(),
        points.collect::<Vec<_>>()
    );
    assert!(series[2..].iter().all(Series::is_blank));

    let error = job.metrics("worker-9").await.unwrap_err();
    assert!(error.to_string().contains("worker-9"), "{error}");
}

#[tokio::test]
async fn a_job_asks_for_its_start_itself_and_seen_ones_stay_as_they_were() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let job = site.script("runs", &gate.script("", "")).submit().await;
    let job = job.unwrap();
    let waiting = gate.reached().await;
    // It was made, and has begun to run since.
    let shown = site.count(SHOW).0;
    let error = job.metrics("worker-0").await.unwrap_err();
    assert_eq!(error.operation(), Some("ShowTrainingJobMetrics"));
    assert_eq!(site.count(SHOW).0, shown + 1);
    assert_eq!(job.started_at(), None);

    let (emulator, id) = (Arc::clone(&site.emulator), job.id().to_owned());
    site.clock.step(async move {
        waiting.let_through().await;
        emulator.settled(&id).await;
    });
    let observations: Vec<_> = job.wait().observe().try_collect().await.unwrap();
    let phases = observations.iter().map(|seen| seen.job.phase());
    assert_eq!(
        phases.collect::<Vec<_>>(),
        [Phase::Running, Phase::Completed]
    );
    assert_eq!(job.phase(), Phase::Completed);
}

#[tokio::test]
async fn a_job_that_ended_twice_is_as_it_ended_last() {
    let details = |phase: &str, millis: u32| {
        let body = json!({"metadata": {"id": "job-1", "name": "again"},
                          "status": {"phase": phase, "start_time": 1, "duration": millis}});
        json_answer("200 OK", "", &body.to_string())
    };
    let replies = [
        details("Running", 1),
        details("Failed", 2),
        details("Failed", 2),
        details("Running", 3),
        details("Completed", 4),
        details("Running", 5),
    ];
    let server = Server::start(replies).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let mut job = client.training_jobs().get("job-1").await.unwrap();
    let mut ends = Vec::new();
    for _ in 0..3 {
        ends.push(job.wait().await.unwrap());
        ends.push(ends.last().unwrap().clone());
        assert_eq!(job.time_run(), ends.last().unwrap().job().time_run());
    }
    assert_eq!(job.time_run(), Some(Duration::from_millis(4)));
    job.refresh().await.unwrap();
    assert_eq!(
        (job.phase(), job.time_run()),
        (Phase::Running, Some(Duration::from_millis(5)))
    );
    assert_eq!(ends[0].job().time_run(), Some(Duration::from_millis(2)));
}

//! Tests of waits for several jobs at once.

use std::{collections::BTreeMap, sync::Arc};

use futures::TryStreamExt;
use modelarts_emulator::Timing;
use modelarts_ext::{Job, Outcome, jobs::wait::Waited, types::Phase};
use serde_json::json;

use super::fixtures::details_of;
use crate::support::{
    clock::{TestClock, seconds},
    faults::{LIST, SHOW},
    script_barrier::ScriptBarrier,
    server::{Reply, Server, json_answer},
    site::Site,
};

/// Returns the outcome of each wait by the name of the job.
fn ends(ends: Vec<Waited>) -> BTreeMap<String, String> {
    let ends = ends.iter().map(|end| {
        let name = end.job().name().to_owned();
        (name, end.outcome().to_string())
    });
    ends.collect()
}

/// Counts the outcomes.
fn count(counts: &mut BTreeMap<String, u32>, end: &Waited) {
    *counts.entry(end.outcome().to_string()).or_default() += 1;
}

fn map<T: Into<V>, V, const N: usize>(rows: [(&str, T); N]) -> BTreeMap<String, V> {
    let rows = rows.map(|(text, value)| (text.to_owned(), value.into()));
    rows.into()
}

const STOPPED: &str = "terminated by a user";

#[tokio::test]
async fn many_jobs_end_in_many_ways() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let mut jobs = vec![
        site.script("good", "").submit().await.unwrap(),
        site.script("bad", "exit(2)").submit().await.unwrap(),
    ];
    for name in ["good", "bad"] {
        let job = jobs.iter().find(|job| job.name() == name).unwrap();
        site.emulator.wait_until_settled(job.id()).await;
    }
    let mut waiting = Vec::new();
    for name in ["stopped", "limited", "deleted", "slow"] {
        let job = site.script(name, &barrier.script("", ""));
        let job = match name {
            "limited" => job.auto_stop(seconds(3600)),
            _ => job,
        };
        jobs.push(job.submit().await.unwrap());
        waiting.push(barrier.reached().await);
    }
    // The same job may be passed twice.
    jobs.push(jobs[0].clone());
    let stopped = jobs[2].clone();
    site.at_pause(jobs[2].id(), async move {
        stopped.terminate().await.unwrap();
    });
    let (emulator, deleted) = (Arc::clone(&site.emulator), jobs[4].clone());
    site.clock.step(async move {
        deleted.delete().await.unwrap();
        emulator.wait_until_gone(deleted.id()).await;
    });
    let clock = site.clock.clone();
    site.at_pause(jobs[3].id(), async move {
        clock.advance(seconds(3600));
    });
    let before = (site.count(LIST).0, site.count(SHOW).0);
    let wait = site
        .client
        .training_jobs()
        .wait_all(jobs)
        .interval(seconds(1), seconds(30))
        .timeout(seconds(5000));
    let all = wait.await.unwrap();
    let expected = map([
        ("good", "completed"),
        ("bad", "failed with exit code 2 in worker-0"),
        ("stopped", STOPPED),
        ("limited", "terminated by its time limit of 3600s"),
        ("deleted", "vanished: the job was deleted"),
        ("slow", "timed out: the job continues"),
    ]);
    assert_eq!(ends(all), expected);
    // The client requested the details of the deleted job only.
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
        jobs.push(site.script(&format!("j{number}"), "").submit().await.unwrap());
    }
    // The wait does not include this job.
    site.script("other", "").submit().await.unwrap();
    for job in &jobs {
        site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    }
    let stop = |jobs: Vec<Job>| {
        let emulator = Arc::clone(&site.emulator);
        site.clock.step(async move {
            for job in jobs {
                job.terminate().await.unwrap();
                emulator.wait_until_settled(job.id()).await;
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
        .rate_limit(f64::INFINITY)
        .timeout(seconds(100));
    let mut ended = wait.stream();
    let mut counts = BTreeMap::new();
    let mut calls = Vec::new();
    while let Some(end) = ended.try_next().await.unwrap() {
        count(&mut counts, &end);
        calls.push((site.count(LIST).0 - before.0, site.count(SHOW).0 - before.1));
    }
    let expected = map([(STOPPED, 107_u32), ("timed out: the job continues", 3)]);
    assert_eq!(counts, expected);
    // Three rounds with three pages each find the first jobs that ended, and a search by ids
    // returns their details.
    assert_eq!(calls[0], (10, 0));
    // The next round finds the other 104 jobs on three pages.
    assert_eq!(calls[3], (14, 0));
    // The events of 60 of them are read before the next round, which searches for three jobs.
    assert_eq!(calls[62], (14, 0));
    assert_eq!(calls[63], (15, 0));
    assert_eq!(calls[106], (15, 0));
    assert_eq!(site.clock.steps_left(), 0);
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
    let expected = map(["a", "b", "c", "d"].map(|name| (name, "completed")));
    assert_eq!(ends(all), expected);
    // The search returned all jobs, so the client requested no details.
    assert_eq!(site.count(LIST).0 - before.0, 3);
    assert_eq!(site.count(SHOW).0 - before.1, 0);
}

#[tokio::test]
async fn a_condition_ends_the_waits_of_many_jobs_with_few_calls() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(1000);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let mut jobs = Vec::new();
    for number in 0..60 {
        let job = site.script(&format!("j{number}"), "");
        jobs.push(job.submit().await.unwrap());
    }
    for job in &jobs {
        site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    }
    jobs[0].terminate().await.unwrap();
    site.emulator.wait_until_settled(jobs[0].id()).await;
    let before = (site.count(LIST).0, site.count(SHOW).0);
    let wait = site.client.training_jobs().wait_all(&jobs);
    let all = wait.until(|job| job.phase() == Phase::Pending).await.unwrap();
    let mut outcomes = BTreeMap::new();
    for waited in &all {
        count(&mut outcomes, waited);
        let is_pending = waited.job().phase() == Phase::Pending;
        assert_eq!(is_pending, *waited.outcome() == Outcome::Reached);
    }
    let expected = map([("reached the condition of the wait", 59_u32), (STOPPED, 1)]);
    assert_eq!(outcomes, expected);
    // Two pages have the pending jobs, and a read has the job that ended.
    assert_eq!((site.count(LIST).0 - before.0, site.count(SHOW).0 - before.1), (2, 1));
}

#[tokio::test]
async fn a_condition_that_holds_later_ends_the_wait_for_its_job() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let held = site.script("held", &barrier.script("", ""));
    let held = held.submit().await.unwrap();
    let waiting = barrier.reached().await;
    let done = site.run(site.script("done", "")).await;
    site.at_pause(held.id(), async move {
        drop(waiting);
    });
    let wait = site.client.training_jobs().wait_all([&held, &done]);
    let mut ends =
        wait.until(|job| job.name() == "held" && job.phase() == Phase::Completed).stream();
    let first = ends.try_next().await.unwrap().unwrap();
    assert_eq!((first.job().name(), first.outcome()), ("done", &Outcome::Completed));
    let second = ends.try_next().await.unwrap().unwrap();
    assert_eq!((second.job().name(), second.outcome()), ("held", &Outcome::Reached));
    assert!(second.job().is_final() && !held.is_final());
    assert!(ends.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn nothing_to_wait_for_ends_at_once() {
    let site = Site::start().await;
    let all = site.client.training_jobs().wait_all(Vec::<Job>::new()).await.unwrap();
    assert_eq!(all.len(), 0);
    assert_eq!(site.count(LIST).0, 0);
}

fn nothing_found() -> Reply {
    let body = json!({"total": 0, "count": 0, "limit": 50, "offset": 0, "items": []});
    json_answer("200 OK", "", &body.to_string())
}

/// Returns the last path segment of each request.
fn asked(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let words = requests.iter().map(|request| {
        let path = request.split(' ').nth(1).unwrap();
        path.rsplit('/').next().unwrap().to_owned()
    });
    words.collect()
}

#[tokio::test]
async fn jobs_in_unknown_phases_do_not_block_others() {
    let refusal = json!({"error_code": "ModelArts.2807", "error_msg": "unsupported key"});
    let server = Server::start([
        details_of("a", "Running"),
        details_of("b", "Running"),
        details_of("c", "Running"),
        json_answer("400 Bad Request", "", &refusal.to_string()),
        nothing_found(),
        details_of("a", "Hibernating"),
        nothing_found(),
        details_of("b", "Completed"),
        nothing_found(),
        details_of("c", "Completed"),
        nothing_found(),
        details_of("a", "Completed"),
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
    assert_eq!(asked(&server)[3..], [search, search, "a", search, "b", search, "c", search, "a"]);
}

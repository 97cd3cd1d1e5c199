//! Tests of the submission of many jobs, of which a few are unfinished at a time.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::StreamExt;
use modelarts_emulator::{faults::FaultRule, traffic::RequestCount};
use modelarts_ext::{Error, ErrorKind, Job, Timestamp, api::codes, jobs::wait::Waited};
use serde_json::json;

use crate::support::{
    clock::seconds,
    faults::{CREATE, LIST, status},
    simulated_site::SimulatedSite,
};

/// Returns a site whose jobs run for 20 to 80 seconds; those with the name `bad-*` fail.
async fn site() -> SimulatedSite {
    let mut script = vec![json!({"name": "bad-*", "runs": [{"seconds": 30, "exit_code": 7}]})];
    for (last_digit, duration) in [(0, 20), (1, 80), (2, 45), (3, 60), (4, 33)] {
        let name = format!("*{last_digit}");
        script.push(json!({"name": name, "runs": [{"seconds": duration}]}));
    }
    let script = json!({"jobs": script, "default": [{"seconds": 50}]});
    // The time limit for details is 92 seconds.
    SimulatedSite::start(script, seconds(60)).await
}

fn words(results: &[Result<Waited, Error>]) -> Vec<String> {
    let words = results.iter().map(|result| match result {
        Ok(end) => end.outcome().to_string(),
        Err(error) => format!("{:?}", error.kind()),
    });
    words.collect()
}

fn created(site: &SimulatedSite) -> u64 {
    site.emulator.requests()[CREATE].received
}

#[tokio::test]
async fn a_sweep_of_thirty_jobs_has_at_most_five_unfinished() {
    let site = site().await;
    let sweep = (0..30).map(|n| match n {
        7 => site.job("wrong-flavor").flavor("modelarts.vm.cpu.3u"),
        11 => site.job("bad-11"),
        n => site.job(&format!("sweep-{n}")),
    });
    let sweep = site.client.training_jobs().submit_all(sweep).at_most(5);
    let mut results = sweep.interval(seconds(5), seconds(10)).stream();
    let mut by_index = BTreeMap::new();
    while let Some((index, result)) = results.next().await {
        assert!(by_index.insert(index, result).is_none(), "{index} twice");
    }
    assert!(by_index.keys().copied().eq(0..30));
    for (index, result) in &by_index {
        match (index, result) {
            (7, Err(error)) => {
                assert_eq!(error.kind(), ErrorKind::Invalid);
                assert!(error.to_string().contains("modelarts.vm.cpu.3u"), "{error}");
            }
            (11, Ok(end)) => {
                let outcome = end.outcome().to_string();
                assert_eq!(outcome, "failed with exit code 7 in worker-0");
                assert_eq!(end.last_events().len(), 5);
            }
            (index, Ok(end)) => {
                assert_eq!(end.job().name(), format!("sweep-{index}"));
                assert!(end.is_completed());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(created(&site), 29);
    // The times are those that the service has stored.
    let jobs = by_index.values().flatten().map(Waited::job);
    let times = jobs.map(|job| {
        let stored = site.emulator.stored_job(job.id()).unwrap().unwrap();
        (job.created_at().unwrap(), Timestamp::from(stored.ended.unwrap()))
    });
    let times: Vec<_> = times.collect();
    let unfinished = times.iter().map(|(at, _)| {
        let unfinished = times.iter().filter(|(created, ended)| (created..ended).contains(&at));
        unfinished.count()
    });
    assert_eq!(unfinished.max(), Some(5));
}

#[tokio::test]
async fn results_are_in_the_order_of_the_jobs_when_awaited() {
    let site = site().await;
    let sweep = ["a-1", "bad-1", "a-0"].map(|name| site.job(name));
    let results = site.client.training_jobs().submit_all(sweep).await;
    assert_eq!(words(&results), ["completed", "failed with exit code 7 in worker-0", "completed"]);
    assert_eq!(site.client.training_jobs().submit_all([]).await.len(), 0);
}

#[tokio::test]
async fn a_sweep_makes_few_requests_and_is_limited() {
    let site = site().await;
    let sweep = (0..40).map(|n| site.job(&format!("sweep-{n}")).without_look_up());
    let start = site.now();
    let sweep = site.client.training_jobs().submit_all(sweep).at_most(20);
    let results = sweep.interval(seconds(5), seconds(10)).await;
    assert!(results.iter().all(|end| end.as_ref().unwrap().is_completed()));
    let took = site.now().duration_since(start).unwrap();
    let requests = site.take_requests();
    let (creates, waits): (Vec<_>, Vec<_>) =
        requests.into_iter().partition(|(_, path)| path == "training-jobs");
    assert_eq!(creates.len(), 40);
    for pair in waits.windows(2) {
        let apart = pair[1].0.duration_since(pair[0].0).unwrap();
        assert!(apart + Duration::from_millis(1) >= seconds(1), "{pair:?}");
    }
    // Two generations of up to 80 seconds, with the delay of each.
    assert!(took <= seconds(220), "{took:?}");
}

#[tokio::test]
async fn wrong_jobs_are_found_before_the_first_is_sent() {
    let site = site().await;
    let sweep = vec![
        site.job("one"),
        site.job("two").nodes(0),
        site.job("one"),
        site.job("three"),
        site.job("four").without_field("metadata.name"),
    ];
    let jobs = site.client.training_jobs();
    let mut results = jobs.submit_all(sweep.clone()).stream();
    for (index, text) in [
        (1, "spec.resource.node_count"),
        (
            2,
            "the job breaks a rule, so nothing was sent: metadata.name = \"one\": must be unique \
             in a workspace, and the job with index 0 has this name (ModelArts.2751); choose \
             another name",
        ),
        (4, "metadata.name"),
    ] {
        let (at, result) = results.next().await.unwrap();
        let error = result.unwrap_err();
        assert_eq!(at, index);
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(created(&site), 0);
    // The others are submitted when the stream is read on.
    let rest: Vec<_> = results.collect().await;
    assert_eq!(rest.len(), 2);
    assert!(rest.iter().all(|(_, end)| end.as_ref().unwrap().is_completed()));
    assert_eq!(created(&site), 2);
    // The service receives jobs that are not checked.
    let results = jobs.submit_all([site.job("five").nodes(0).unchecked()]).await;
    assert_eq!(words(&results), ["Service"]);
    assert_eq!(created(&site), 3);
}

#[tokio::test]
async fn wrong_options_are_the_error_of_each_job() {
    let site = site().await;
    let jobs = site.client.training_jobs();
    let sweep = || jobs.submit_all([site.job("a"), site.job("b")]);
    for (sweep, text) in [
        (sweep().at_most(0), "at_most: 0 jobs; must be at least 1"),
        (sweep().rate_limit(0.0), "rate_limit: 0 calls a second; must be above 0"),
    ] {
        let results: Vec<_> = sweep.stream().collect().await;
        let texts = results.into_iter().map(|(index, result)| {
            let error = result.unwrap_err();
            (index, error.to_string())
        });
        assert_eq!(texts.collect::<Vec<_>>(), [(0, text.to_owned()), (1, text.to_owned())]);
    }
    assert_eq!(site.take_requests(), []);
}

#[tokio::test]
async fn a_rejected_job_leaves_its_place_to_the_next() {
    let site = site().await;
    let rule = FaultRule::times(1, CREATE, status(403, None));
    site.emulator.faults().add(rule).unwrap();
    let sweep = (0..3).map(|n| site.job(&format!("job-{n}")));
    let sweep = site.client.training_jobs().submit_all(sweep).at_most(1);
    let results: Vec<_> = sweep.stream().collect().await;
    let order = results.iter().map(|(index, result)| (*index, result.is_ok()));
    assert_eq!(order.collect::<Vec<_>>(), [(0, false), (1, true), (2, true)]);
}

#[tokio::test]
async fn an_error_of_the_wait_ends_all_jobs() {
    let site = site().await;
    let rule = FaultRule::times(100, LIST, status(403, None));
    site.emulator.faults().add(rule).unwrap();
    let sweep = (0..3).map(|n| site.job(&format!("job-{n}")));
    let sweep = site.client.training_jobs().submit_all(sweep).at_most(2);
    let results = sweep.await;
    let errors: Vec<_> = results.into_iter().map(Result::unwrap_err).collect();
    assert!(errors.iter().all(|error| error.status() == Some(403)));
    let hint = "the job was not submitted, because the wait for earlier jobs failed";
    let hinted = errors.iter().map(|error| error.to_string().contains(hint));
    assert_eq!(hinted.collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(created(&site), 2);
}

#[tokio::test]
async fn the_time_limit_applies_to_all_jobs_together() {
    let site = site().await;
    let sweep = (0..4).map(|n| site.job(&format!("x{n}-9")));
    let sweep = site.client.training_jobs().submit_all(sweep).at_most(1);
    // A job takes 50 seconds. The limit does not end a request here, because it passes in a pause.
    let results = sweep.interval(seconds(5), seconds(5)).timeout(seconds(75)).await;
    assert_eq!(
        words(&results),
        ["completed", "timed out: the job continues", "Timeout", "Timeout"]
    );
    assert_eq!(
        results[2].as_ref().unwrap_err().to_string(),
        "the job was not submitted: the time limit of all jobs was reached before"
    );
    assert_eq!(created(&site), 2);
}

#[tokio::test]
async fn a_stream_that_is_dropped_submits_no_more_jobs() {
    let site = site().await;
    let sweep = (0..10).map(|n| site.job(&format!("job-{n}")));
    let sweep = site.client.training_jobs().submit_all(sweep).at_most(3);
    let mut results = sweep.stream();
    let (_, first) = results.next().await.unwrap();
    drop(results);
    assert!(first.unwrap().is_completed());
    site.clock.advance(seconds(1000)).await;
    assert_eq!(created(&site), 3);
    for id in site.emulator.stored_ids().unwrap() {
        let job = site.emulator.stored_job(&id).unwrap().unwrap();
        assert_eq!(job.phase, "Completed");
    }
}

#[tokio::test]
async fn an_interrupted_sweep_continues_with_the_same_call() {
    let site = site().await;
    let sweep = || {
        let jobs = (0..30).map(|n| site.job(&format!("sweep-{n}")));
        let sweep = site.client.training_jobs().submit_all(jobs).at_most(5).adopt_existing();
        sweep.interval(seconds(5), seconds(10))
    };
    // A dropped stream sends no further requests, like a program that was ended.
    for results in [3, 8, 15] {
        let ends: Vec<_> = sweep().stream().take(results).collect().await;
        assert!(ends.iter().all(|(_, end)| end.as_ref().unwrap().is_completed()));
    }
    let submitted = Arc::<Mutex<Vec<(usize, String)>>>::default();
    let seen = Arc::clone(&submitted);
    let note = move |index, job: &Job| seen.lock().unwrap().push((index, job.name().to_owned()));
    let ends = sweep().on_submitted(note).await;
    let expected: Vec<_> = (0..30).map(|n| (n, format!("sweep-{n}"))).collect();
    assert_eq!(*submitted.lock().unwrap(), expected);
    let names = ends.iter().map(|end| end.as_ref().unwrap().job().name().to_owned());
    assert!(names.eq((0..30).map(|n| format!("sweep-{n}"))));
    let RequestCount { executed, .. } = site.emulator.requests()[CREATE];
    assert_eq!(executed, 30);
}

#[tokio::test]
async fn a_job_with_other_contents_is_not_adopted() {
    let site = site().await;
    let job = site.job("sweep-1");
    let first = job.clone().submit().await.unwrap();
    assert_eq!(job.clone().submit_or_adopt().await.unwrap().id(), first.id());
    for (other, field) in [
        (job.clone().env("MODE", "quick"), "algorithm.environments"),
        (job.clone().parameter("seed", 1), "algorithm.parameters"),
        (job.clone().description("another"), "metadata.description"),
        (job.clone().auto_stop(seconds(3600)), "spec.auto_stop"),
    ] {
        let error = other.submit_or_adopt().await.unwrap_err();
        assert_eq!(error.code(), Some(codes::DUPLICATE_TRAINING_JOB_NAME));
        let reason = format!("the job {} has this name, and differs in {field}", first.id());
        assert!(error.solution().unwrap().contains(&reason), "{error}");
        assert!(!error.is_uncertain());
    }
    // Without the setting, the name is in use.
    job.submit().await.unwrap_err();
}

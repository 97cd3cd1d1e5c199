//! Tests of all methods to watch a job in the same situations: restarts, deletions, failing
//! responses. The methods are a wait, a wait for several jobs, and each kind of following.

use std::{sync::Arc, time::Duration};

use futures::TryStreamExt;
use modelarts_emulator::{
    faults::{Fault, FaultRule},
    seeds::Seeds,
};
use modelarts_ext::{
    Client, CreateJob, Credentials, Error, Job, LogItem, Outcome, RetryPolicy,
    api::BoxFuture,
    credentials::{
        CachedProvider, FetchCredentials, Password, ProvideCredentials, ProviderContext,
    },
    jobs::{follow::JobUpdate, wait::TerminatedBy},
};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::support::{errors::message, faults::status, script_barrier::ScriptBarrier, site::Site};

const HOUR: Duration = Duration::from_secs(3600);

/// Method to watch a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Wait,
    WaitAll,
    Events,
    Log,
    Follow,
}

const WAYS: [Way; 5] = [Way::Wait, Way::WaitAll, Way::Events, Way::Log, Way::Follow];

/// Result of a watch. Fields that the method does not provide are empty.
#[derive(Debug, Default, PartialEq)]
struct WatchResult {
    outcome: Option<Outcome>,
    events: Option<Vec<String>>,
    lines: Option<Vec<String>>,
    /// The last update if it was a phase change, or a note that the job was deleted.
    last: Option<String>,
}

/// Returns the result of this method for a job with this end.
fn expected(way: Way, outcome: &Outcome, events: &[String], lines: &[&str]) -> WatchResult {
    let whole = way == Way::Follow;
    let last = match outcome {
        Outcome::Completed => "Completed",
        Outcome::Terminated { .. } => "Terminated",
        _ => "Vanished",
    };
    let lines = lines.iter().map(|line| (*line).to_owned());
    WatchResult {
        outcome: [Way::Wait, Way::WaitAll].contains(&way).then(|| outcome.clone()),
        events: (whole || way == Way::Events).then(|| events.to_vec()),
        lines: (whole || way == Way::Log).then(|| lines.collect()),
        last: whole.then(|| last.to_owned()),
    }
}

fn line(item: LogItem) -> String {
    match item {
        LogItem::Line(line) => line,
        other => format!("{other:?}"),
    }
}

async fn watch(way: Way, client: &Client, job: &Job) -> Result<WatchResult, Error> {
    let mut result = WatchResult::default();
    match way {
        Way::Wait => result.outcome = Some(job.wait().await?.outcome().clone()),
        Way::WaitAll => {
            let jobs = client.training_jobs().wait_all([job.clone()]).await?;
            result.outcome = Some(jobs[0].outcome().clone());
        }
        Way::Events => {
            let events: Vec<_> = job.events().follow().try_collect().await?;
            result.events = Some(events.iter().map(ToString::to_string).collect());
        }
        Way::Log => {
            let log = job.logs("worker-0").follow();
            result.lines = Some(log.map_ok(line).try_collect().await?);
        }
        Way::Follow => {
            let (mut events, mut lines) = (Vec::new(), Vec::new());
            let mut news = job.follow();
            while let Some(news) = news.try_next().await? {
                result.last = None;
                match news {
                    JobUpdate::Event(event) => events.push(event.to_string()),
                    JobUpdate::Log { item, .. } => lines.push(line(item)),
                    JobUpdate::Phase(job) => result.last = Some(job.phase().to_string()),
                    JobUpdate::Vanished => result.last = Some("Vanished".into()),
                    other => panic!("{other:?}"),
                }
            }
            (result.events, result.lines) = (Some(events), Some(lines));
        }
    }
    Ok(result)
}

/// Provider that logs in once and never renews its token.
#[derive(Debug)]
struct Once {
    login: CachedProvider,
    kept: OnceCell<Credentials>,
}

impl ProvideCredentials for Once {
    fn credentials<'a>(
        &'a self,
        tools: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async {
            let kept = self.kept.get_or_try_init(|| self.login.credentials(tools));
            kept.await.cloned()
        })
    }
}

struct Scene {
    site: Site,
    barrier: Arc<ScriptBarrier>,
}

impl Scene {
    async fn new(site: Site) -> Self {
        Self { site, barrier: Arc::new(ScriptBarrier::new().await) }
    }

    /// Submits a job that prints a line and then waits at a barrier.
    async fn job(&self, way: Way, set: impl FnOnce(CreateJob) -> CreateJob) -> Job {
        let script = self.barrier.script("print('before', flush=True)", "print('after')");
        let job = self.site.script(&format!("{way:?}"), &script);
        set(job).submit().await.unwrap()
    }
}

/// Returns the events of a job that has ended, read as a list.
async fn listed(job: &Job) -> Vec<String> {
    let events = job.events().collect(1000).await.unwrap();
    events.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_job_that_restarts() {
    let scene = Scene::new(Site::start().await).await;
    for way in WAYS {
        let marks = tempfile::tempdir().unwrap();
        let mark = marks.path().join("mark");
        let script = scene.barrier.script(
            "import os, sys\nagain = os.path.exists(os.environ['MARK'])\n\
             print('again' if again else 'first', flush=True)",
            "open(os.environ['MARK'], 'w').close()\nsys.exit(0 if again else 7)",
        );
        let job = scene.site.script(&format!("{way:?}"), &script);
        let job = job.env("MARK", mark.to_string_lossy()).auto_restart(2);
        let mut job = job.submit().await.unwrap();
        let first = scene.barrier.reached().await;
        let (barrier, emulator, id) =
            (Arc::clone(&scene.barrier), Arc::clone(&scene.site.emulator), job.id().to_owned());
        // The first poll finds the first run, the second poll the second run, and the third poll
        // the end of the job.
        let (sender, receiver) = tokio::sync::oneshot::channel();
        scene.site.clock.step(async move {
            first.release().await;
            let _ = sender.send(barrier.reached().await);
        });
        scene.site.clock.step(async move {
            receiver.await.unwrap().release().await;
            emulator.wait_until_settled(&id).await;
        });
        let result = watch(way, &scene.site.client, &job).await.unwrap();
        assert_eq!(scene.site.clock.steps_left(), 0, "{way:?}");
        job.refresh().await.unwrap();
        assert_eq!(job.restarts(), Some(1));
        let events = listed(&job).await;
        let is_restart = |event: &&String| event.contains("has been restarted");
        assert_eq!(events.iter().filter(is_restart).count(), 1);
        let expected = expected(way, &Outcome::Completed, &events, &["first", "again"]);
        assert_eq!(result, expected, "{way:?}");
    }
}

#[tokio::test]
async fn a_job_that_is_stopped() {
    let scene = Scene::new(Site::start().await).await;
    for (by, prefix) in
        [(TerminatedBy::User, "by-hand"), (TerminatedBy::AutoStop { limit: HOUR }, "by-itself")]
    {
        for way in WAYS {
            let itself = by != TerminatedBy::User;
            let job = scene.job(way, |job| {
                let job = job.name(format!("{prefix}-{way:?}"));
                if itself { job.auto_stop(HOUR) } else { job }
            });
            let job = job.await;
            let waiting = scene.barrier.reached().await;
            let clock = scene.site.clock.clone();
            let stopped = job.clone();
            scene.site.at_pause(job.id(), async move {
                if itself {
                    clock.advance(HOUR);
                } else {
                    stopped.terminate().await.unwrap();
                }
            });
            let result = watch(way, &scene.site.client, &job).await.unwrap();
            drop(waiting);
            let outcome = Outcome::Terminated { by: by.clone() };
            let expected = expected(way, &outcome, &listed(&job).await, &["before"]);
            assert_eq!(result, expected, "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_job_that_is_deleted() {
    let scene = Scene::new(Site::start().await).await;
    for way in WAYS {
        let job = scene.job(way, |job| job).await;
        let waiting = scene.barrier.reached().await;
        let mut events = listed(&job).await;
        let (emulator, deleted) = (Arc::clone(&scene.site.emulator), job.clone());
        scene.site.clock.step(async move {
            deleted.delete().await.unwrap();
            emulator.wait_until_gone(deleted.id()).await;
        });
        let mut result = watch(way, &scene.site.client, &job).await.unwrap();
        drop(waiting);
        // The order of events within the same second is undefined.
        events.sort();
        if let Some(events) = &mut result.events {
            events.sort();
        }
        // Lines of the end may be missing.
        let lines = ["before", "Gap { bytes: None }"];
        let expected = expected(way, &Outcome::Vanished, &events, &lines);
        assert_eq!(result, expected, "{way:?}");
    }
}

#[tokio::test]
async fn a_token_that_expires_in_between() {
    let site = Site::with(|builder| builder.password("PW")).await;
    let url = site.emulator.url().to_owned();
    let login = Password::new(&url, "emulator", "PW")
        .domain("emulator")
        .project_id(site.emulator.project_id());
    let scene = Scene::new(site).await;
    for way in WAYS {
        let client = scene.site.client().credentials(login.clone().into_provider());
        let client = client.build().unwrap();
        let once = Once { login: login.clone().into_provider(), kept: OnceCell::new() };
        let bound = scene.site.client().credentials(once).build().unwrap();

        let id = scene.job(way, |job| job).await.id().to_owned();
        let waiting = scene.barrier.reached().await;
        let renewed = client.training_jobs().get(&id).await.unwrap();
        let fixed = bound.training_jobs().get(&id).await.unwrap();
        let (emulator, clock) = (Arc::clone(&scene.site.emulator), scene.site.clock.clone());
        scene.site.clock.step(async move {
            clock.advance(25 * HOUR);
            waiting.release().await;
            emulator.wait_until_settled(&id).await;
        });
        let result = watch(way, &client, &renewed).await.unwrap();
        let events = listed(&renewed).await;
        let expected = expected(way, &Outcome::Completed, &events, &["before", "after"]);
        assert_eq!(result, expected, "{way:?}");
        // If an expired token cannot be renewed, the watch ends with an error.
        let error = watch(way, &bound, &fixed).await.unwrap_err();
        assert!(error.is_auth(), "{way:?}: {error}");
        assert_eq!(error.status(), Some(401));
    }
}

/// Returns a job that has ended. For `wait_all`, the handle is older, because the client sends no
/// request for a handle that already shows the end of its job.
async fn ended(way: Way, site: &Site, client: &Client) -> Job {
    let job = site.script("there", "print('x')").submit().await.unwrap();
    site.emulator.wait_until_settled(job.id()).await;
    match way {
        Way::WaitAll => job,
        _ => client.training_jobs().get(job.id()).await.unwrap(),
    }
}

#[tokio::test]
async fn a_page_of_a_load_balancer_does_not_end_a_watch() {
    for way in WAYS {
        let site = Site::start().await;
        let job = ended(way, &site, &site.client).await;
        let events = listed(&job).await;
        for operation in [
            "ShowTrainingJobDetails",
            "ListTrainingJobs",
            "ListTrainingJobEvents",
            "ShowTrainingJobLogsPreview",
        ] {
            site.fault(1, operation, Fault::Html { status: 404 });
            let result = watch(way, &site.client, &job).await;
            let result = result.unwrap_or_else(|error| panic!("{way:?}, {operation}: {error}"));
            let expected = expected(way, &Outcome::Completed, &events, &["x"]);
            assert_eq!(result, expected, "{way:?}, {operation}");
            site.emulator.faults().clear();
        }
    }
}

#[tokio::test]
async fn a_service_that_wants_to_be_left_alone_is() {
    let retry_after = Duration::from_secs(45);
    for way in WAYS {
        let site = Site::start().await;
        let client = site.client().retry(RetryPolicy::none()).build().unwrap();
        let job = ended(way, &site, &client).await;
        let busy = status(503, Some(retry_after.as_secs()));
        let first = match way {
            Way::WaitAll => "ListTrainingJobs",
            _ => "ShowTrainingJobDetails",
        };
        site.fault(1, first, busy.clone());
        watch(way, &client, &job).await.unwrap();
        let slept = site.clock.slept();
        assert_eq!(
            slept.iter().filter(|pause| **pause == retry_after).count(),
            1,
            "{way:?}: {slept:?}"
        );
        let second = match way {
            Way::Events | Way::Follow => "ListTrainingJobEvents",
            Way::Log => "ShowTrainingJobLogsPreview",
            Way::Wait | Way::WaitAll => continue,
        };
        site.fault(1, second, busy);
        watch(way, &client, &job).await.unwrap();
        let slept = site.clock.slept();
        assert_eq!(
            slept.iter().filter(|pause| **pause == retry_after).count(),
            2,
            "{way:?}: {slept:?}"
        );
    }
}

const EVENTS: &str = "ListTrainingJobEvents";
const DETAILS: &str = "ShowTrainingJobDetails";
/// Methods to follow a job, each with its operations.
const FOLLOWED: [(Way, &[&str]); 3] = [
    (Way::Events, &[EVENTS]),
    (Way::Log, &["ShowTrainingJobLogsPreview"]),
    (Way::Follow, &[EVENTS, "ShowTrainingJobLogsPreview"]),
];

/// Returns a job that has ended, with this number of events, one per second, and this number of
/// lines.
async fn long_job(site: &Site, client: &Client, events: u32, lines: u32) -> Job {
    let event = |number: u32| {
        json!({"time": format!("2026-01-15T08:{:02}:{:02}Z", number / 60, number % 60),
               "message": format!("event {number}")})
    };
    let log: String = (0..lines).map(|number| format!("line {number}\n")).collect();
    let seed = json!({"jobs": [{
        "name": "long", "created": "2026-01-15T08:00:00Z",
        "events": (0..events).map(event).collect::<Vec<_>>(),
        "logs": {"worker-0": log},
    }]});
    let seeds = Seeds::from_json(&seed.to_string()).unwrap();
    let id = site.emulator.seed(&seeds).await.unwrap().remove(0);
    client.training_jobs().get(&id).await.unwrap()
}

#[tokio::test]
async fn a_source_that_fails_for_good_ends_it_with_an_error() {
    let limit = Duration::from_secs(15 * 60);
    for (way, operations) in FOLLOWED {
        for operation in operations.iter().chain(&[DETAILS]) {
            let what = format!("{way:?}, {operation}");
            let site = Site::start().await;
            let client = site.client().retry(RetryPolicy::none()).build().unwrap();
            let job = long_job(&site, &client, 10, 3).await;
            // All other operations keep working.
            site.fault(1000, operation, status(503, None));
            let error = watch(way, &client, &job).await.unwrap_err();
            assert_eq!(error.status(), Some(503), "{what}");
            let message = message(&error);
            assert!(message.contains(operation), "{what}: {message}");
            let is_log = operation.contains("Logs");
            assert_eq!(
                message.contains("worker-0"),
                is_log && way == Way::Follow,
                "{what}: {message}"
            );
            let slept: Duration = site.clock.slept().iter().sum();
            assert!(slept > limit && slept <= limit + Duration::from_secs(10), "{what}: {slept:?}");
        }
    }
}

/// Injects transient errors into a share of the next responses.
fn bad_answers(site: &Site, seed: u64, percent: u32) {
    let faults = [
        status(503, None),
        Fault::Reset,
        Fault::ResetMidBody,
        Fault::LostAnswer,
        Fault::Html { status: 502 },
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..2000 {
        let fault = match random.u32(0..100) < percent {
            true => faults[random.usize(0..faults.len())].clone(),
            false => Fault::Delay { ms: 0 },
        };
        let rule = FaultRule::once("*", fault);
        site.emulator.faults().add(rule).unwrap();
    }
}

/// Watches a job while some responses are transient errors.
async fn watch_badly(site: &Site, (way, percent, seed): (Way, u32, u64), job: &Job) -> WatchResult {
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = client.training_jobs().get(job.id()).await.unwrap();
    bad_answers(site, seed, percent);
    let result = watch(way, &client, &job).await;
    let result =
        result.unwrap_or_else(|error| panic!("{way:?}, {percent} %, seed {seed}: {error}"));
    assert!(!site.emulator.faults().list().is_empty());
    site.emulator.faults().clear();
    result
}

#[tokio::test]
async fn nothing_is_lost_whatever_answers_fail() {
    let site = Site::start().await;
    let job = long_job(&site, &site.client, 347, 1234).await;
    let all = listed(&job).await;
    assert_eq!(all.len(), 347);
    let lines: Vec<_> = (0..1234).map(|number| format!("line {number}")).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    for (way, _) in FOLLOWED {
        for (percent, seed) in [(25, 0), (25, 1), (50, 2), (50, 3), (50, 4)] {
            let how = (way, percent, seed);
            let result = watch_badly(&site, how, &job).await;
            let expected = expected(way, &Outcome::Completed, &all, &lines);
            assert_eq!(result, expected, "{how:?}");
        }
    }
}

#[tokio::test]
async fn nothing_is_lost_of_a_job_that_ends_among_answers_that_fail() {
    let scene = Scene::new(Site::start().await).await;
    for (way, _) in FOLLOWED {
        for (percent, seed) in [(25, 0), (50, 1), (50, 2)] {
            let how = (way, percent, seed);
            let job = scene.job(way, |job| job.name(format!("{way:?}-{seed}"))).await;
            let waiting = scene.barrier.reached().await;
            let (emulator, id) = (Arc::clone(&scene.site.emulator), job.id().to_owned());
            scene.site.clock.step(async {});
            scene.site.clock.step(async move {
                waiting.release().await;
                emulator.wait_until_settled(&id).await;
            });
            let result = watch_badly(&scene.site, how, &job).await;
            assert_eq!(scene.site.clock.steps_left(), 0);
            let all = listed(&job).await;
            let expected = expected(way, &Outcome::Completed, &all, &["before", "after"]);
            assert_eq!(result, expected, "{how:?}");
        }
    }
}

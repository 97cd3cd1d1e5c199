//! Blocking calls, outside of and inside of runtimes.

use std::{
    future,
    pin::pin,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use modelarts_ext::{ErrorKind, Job, LogItem, blocking::BlockingExt};

use crate::support::{
    errors::refused,
    faults::{LIST, status},
    site::Site,
};

/// Number of calls after which tokio pauses a task that does not return to its runtime.
const MANY: usize = 200;

/// Starts an emulator on the background runtime.
fn site() -> Site {
    Site::start().block()
}

/// Runs a job to its end.
fn run(site: &Site, name: &str) -> Job {
    let job = site.script(name, "print('hello')").submit().block();
    let job = job.unwrap();
    assert!(job.wait().block().unwrap().is_completed());
    job
}

/// Calls of all kinds.
fn use_client(site: &Site) {
    let mut job = run(site, "first");
    // This future borrows the job.
    job.refresh().block().unwrap();
    let jobs = site.client.training_jobs();
    let waited = jobs.wait_all([job.clone()]).block().unwrap();
    assert_eq!(waited.len(), 1);
    let found = jobs.list().stream().blocking_iter();
    let found: Vec<String> = found.map(|job| job.unwrap().name().to_owned()).collect();
    assert_eq!(found, ["first"]);
    let project = site.client.project_id();
    let quotas = site.client.call(|api| api.show_training_quotas().project_id(project).send());
    assert_eq!(quotas.block().unwrap().call().attempts(), 1);
    let items = job.logs("worker-0").follow().blocking_iter();
    let items: Vec<LogItem> = items.map(Result::unwrap).collect();
    let line = |item: &LogItem| matches!(item, LogItem::Line(line) if line.contains("hello"));
    assert!(items.iter().any(line), "{items:?}");
    let phases = job.wait().stream().blocking_iter();
    assert_eq!(phases.count(), 1);
}

#[test]
fn outside_of_a_runtime() {
    use_client(&site());
}

#[tokio::test]
async fn inside_a_runtime_of_one_thread() {
    use_client(&site());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn inside_a_runtime_of_several_threads() {
    let task = tokio::spawn(async { use_client(&site()) });
    task.await.unwrap();
}

#[tokio::test]
async fn inside_spawn_blocking() {
    let task = tokio::task::spawn_blocking(|| use_client(&site()));
    task.await.unwrap();
}

#[test]
fn inside_another_executor() {
    let site = site();
    let job = run(&site, "nested");
    let jobs = site.client.training_jobs();
    let get = || jobs.get(job.id());
    futures::executor::block_on(async {
        assert_eq!(get().block().unwrap().id(), job.id());
    });
    let nested = async { async { get().block().unwrap() }.block() };
    assert_eq!(nested.block().id(), job.id());
}

#[tokio::test]
async fn connections_of_the_blocked_runtime_are_not_used() {
    let site = site();
    let job = run(&site, "shared");
    let jobs = site.client.training_jobs();
    // The connection of this call is idle afterwards, and served by the runtime of this test.
    assert_eq!(jobs.get(job.id()).await.unwrap().id(), job.id());
    assert_eq!(jobs.get(job.id()).block().unwrap().id(), job.id());
    assert_eq!(jobs.get(job.id()).await.unwrap().id(), job.id());
}

#[tokio::test]
async fn a_task_may_make_many_blocking_calls() {
    let site = site();
    let job = run(&site, "many");
    for _ in 0..MANY {
        site.client.training_jobs().get(job.id()).block().unwrap();
    }
    let calls = async {
        for _ in 0..MANY {
            site.client.training_jobs().get(job.id()).await.unwrap();
        }
    };
    calls.block();
}

#[tokio::test]
async fn a_future_that_yields_goes_on() {
    let number = async {
        tokio::task::yield_now().await;
        7
    };
    assert_eq!(number.block(), 7);
}

/// A future that yields is polled again at once. A pause after each yield would take minutes.
async fn yield_many_times() {
    for _ in 0..20_000 {
        tokio::task::yield_now().await;
    }
}

/// Runs a test that must not pause.
fn without_pauses(test: impl FnOnce()) {
    let start = Instant::now();
    test();
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(60), "{elapsed:?}");
}

#[tokio::test]
async fn yields_in_a_runtime_of_one_thread_cause_no_pause() {
    without_pauses(|| yield_many_times().block());
    // A blocking call in a blocking call.
    without_pauses(|| async { yield_many_times().block() }.block());
}

#[tokio::test]
async fn yields_in_a_local_set_cause_no_pause() {
    let tasks = tokio::task::LocalSet::new();
    let task = async { without_pauses(|| yield_many_times().block()) };
    tasks.run_until(task).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn yields_in_a_runtime_of_several_threads_cause_no_pause() {
    without_pauses(|| yield_many_times().block());
    let task = tokio::spawn(async { without_pauses(|| yield_many_times().block()) });
    task.await.unwrap();
    let task = async {
        tokio::task::block_in_place(|| without_pauses(|| yield_many_times().block()));
    };
    tokio::spawn(task).await.unwrap();
}

/// Counts how often a timer of several pauses is polled.
fn polls_of_a_timer() -> usize {
    let mut polls = 0;
    let timer = async {
        let mut timer = pin!(tokio::time::sleep(Duration::from_millis(100)));
        future::poll_fn(|context| {
            polls += 1;
            timer.as_mut().poll(context)
        })
        .await;
    };
    timer.block();
    polls
}

#[test]
fn a_waiting_future_is_polled_only_when_it_is_woken() {
    assert_eq!(polls_of_a_timer(), 2);
}

#[tokio::test]
async fn a_waiting_future_in_a_runtime_is_polled_only_when_it_is_woken() {
    assert_eq!(polls_of_a_timer(), 2);
    let after_yield = async {
        tokio::task::yield_now().await;
        polls_of_a_timer()
    };
    assert_eq!(after_yield.block(), 2);
    let task = tokio::spawn(async { polls_of_a_timer() });
    assert_eq!(task.await.unwrap(), 2);
}

#[test]
fn threads_block_at_the_same_time() {
    let site = site();
    let job = run(&site, "threads");
    thread::scope(|scope| {
        let threads = [(); 2].map(|()| {
            scope.spawn(|| {
                for _ in 0..20 {
                    let found = site.client.training_jobs().get(job.id()).block();
                    assert_eq!(found.unwrap().id(), job.id());
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_future_need_not_be_send() {
    let number = Rc::new(7);
    let copy = Rc::clone(&number);
    let sum = async move {
        tokio::task::yield_now().await;
        *copy + 1
    };
    assert_eq!(sum.block(), 8);
    assert_eq!(stream::iter([number]).blocking_iter().count(), 1);
}

#[test]
fn tasks_run_on_the_named_thread() {
    let name = async {
        let task = tokio::spawn(async { thread::current().name().map(str::to_owned) });
        task.await.unwrap()
    };
    assert_eq!(name.block().as_deref(), Some("modelarts-blocking"));
}

#[test]
fn an_iterator_can_be_dropped_early() {
    let site = site();
    for name in ["a", "b", "c"] {
        run(&site, name);
    }
    let before = site.count(LIST).0;
    let list = site.client.training_jobs().list();
    let mut rows = list.page_size(1).in_flight(1).stream().blocking_iter();
    assert_eq!(rows.next().unwrap().unwrap().name(), "c");
    drop(rows);
    assert_eq!(site.count(LIST).0 - before, 1);
    // The client works afterwards.
    assert_eq!(site.list().block().unwrap().len(), 3);
}

#[test]
fn an_iterator_ends_after_an_error() {
    let site = site();
    run(&site, "a");
    let missing = site.client.training_jobs().get("no-such-job").block();
    assert!(refused(missing).is_not_found());
    site.fault(1, LIST, status(403, None));
    let mut rows = site.client.training_jobs().list().stream().blocking_iter();
    let error = refused(rows.next().unwrap());
    assert_eq!(error.kind(), ErrorKind::Service);
    assert!(rows.next().is_none());
    assert!(rows.next().is_none());
}

/// An iterator in a task returns its connection to the pool when it is dropped, outside of a call.
#[test]
fn a_stream_may_end_on_another_thread() {
    let site = site();
    run(&site, "a");
    let list = site.client.training_jobs().list().stream();
    let mut rows = list.map(|job| job.unwrap()).blocking_iter();
    assert_eq!(rows.next().unwrap().name(), "a");
    thread::scope(|scope| {
        scope.spawn(move || drop(rows));
    });
}

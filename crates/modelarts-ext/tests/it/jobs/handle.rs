//! Tests of job handles without details.

use futures::TryStreamExt;
use modelarts_ext::{LogItem, Outcome, jobs::follow::JobUpdate, types::Phase};

use crate::support::{clock::seconds, site::Site};

const SHOW: &str = "ShowTrainingJobDetails";
const MISSING: &str = "cf63aba9-63b1-4219-b717-708a2665100b";

#[tokio::test]
async fn a_handle_makes_no_call_and_has_the_methods_of_a_job() {
    let site = Site::start().await;
    let done = site.run(site.script("done", "print('hello')")).await;
    let jobs = site.client.training_jobs();
    let before = site.emulator.requests();
    let handle = jobs.job(done.id()).unwrap();
    assert_eq!(handle.id(), done.id());
    assert_eq!(site.emulator.requests(), before);

    let end = handle.wait().await.unwrap();
    assert_eq!(end.outcome(), &Outcome::Completed);
    assert_eq!(end.job().name(), "done");
    let read = handle.get().await.unwrap();
    assert_eq!((read.phase(), read.tasks()), (Phase::Completed, &["worker-0".to_owned()][..]));
    // The service lists only tasks that failed.
    assert_eq!(read.exit_codes().count(), 0);

    let events = handle.events().collect(100).await.unwrap();
    assert_eq!(events, done.events().collect(100).await.unwrap());
    let log = handle.logs("worker-0").quiet(seconds(0)).follow();
    let log: Vec<_> = log.try_collect().await.unwrap();
    assert_eq!(log, [LogItem::Line("hello".to_owned())]);
    let updates = handle.updates().quiet(seconds(0)).follow();
    let updates: Vec<_> = updates.try_collect().await.unwrap();
    let phases = updates.iter().filter_map(|update| match update {
        JobUpdate::Phase(job) => Some(job.phase()),
        _ => None,
    });
    assert_eq!(phases.collect::<Vec<_>>(), [Phase::Completed]);
    // A job that ended at once has no metrics.
    let metrics = handle.metrics("worker-0").await;
    assert!(metrics.unwrap_err().is_not_ready());

    handle.set_description("by its id").await.unwrap();
    let described = handle.copy_as("copy").await.unwrap().body();
    assert_eq!(described["metadata"]["description"], "by its id");

    handle.delete().await.unwrap();
    site.emulator.wait_until_gone(handle.id()).await;
    assert!(handle.get().await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_job_that_never_existed_is_an_error_of_its_handle() {
    let site = Site::start().await;
    let jobs = site.client.training_jobs();
    let handle = jobs.job(MISSING).unwrap();
    assert!(handle.wait().await.unwrap_err().is_not_found());
    let updates = handle.follow().try_collect::<Vec<_>>().await;
    assert!(updates.unwrap_err().is_not_found());
    let events = handle.events().follow().try_collect::<Vec<_>>().await;
    assert!(events.unwrap_err().is_not_found());
    let lines = handle.logs("worker-0").follow().try_collect::<Vec<_>>();
    assert!(lines.await.unwrap_err().is_not_found());
    assert_eq!(site.count(SHOW).1, 0);

    let before = site.emulator.requests();
    let error = jobs.job("../other").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the job id \"../other\" is wrong; it has 1 to 128 letters, digits, and -_.~, and does \
         not begin with a dot"
    );
    assert_eq!(site.emulator.requests(), before);
}

#[tokio::test]
async fn a_wait_that_never_read_the_job_has_no_details() {
    let site = Site::start().await;
    let job = site.run(site.script("late", "")).await;
    let handle = site.client.training_jobs().job(job.id()).unwrap();
    let end = handle.wait().timeout(seconds(0)).await.unwrap();
    assert_eq!(end.outcome(), &Outcome::TimedOut);
    assert_eq!((end.job().id(), end.job().name()), (job.id(), ""));
}

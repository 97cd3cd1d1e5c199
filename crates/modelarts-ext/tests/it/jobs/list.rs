//! Tests of job lists and job searches.

use futures::TryStreamExt;
use modelarts_ext::{Filter, Job, jobs::ListJobs, types::Phase};

use crate::support::{
    clock::seconds,
    errors::{message, refused},
    site::Site,
};

/// Creates five jobs in this order: bert-0, bert-1 (fails), bert-2, resnet-0, resnet-1 (fails).
async fn five(site: &Site) {
    for name in ["bert-0", "bert-1", "bert-2", "resnet-0", "resnet-1"] {
        let script = if name.ends_with('1') { "exit(1)" } else { "" };
        site.run(site.script(name, script)).await;
    }
}

async fn names(list: ListJobs) -> Vec<String> {
    let jobs: Vec<Job> = list.stream().try_collect().await.unwrap();
    jobs.iter().map(|job| job.name().to_owned()).collect()
}

#[tokio::test]
async fn jobs_are_found() {
    let site = Site::start().await;
    let list = || site.client.training_jobs().list();
    assert_eq!(names(list()).await, [""; 0]);
    five(&site).await;

    assert_eq!(names(list()).await, ["resnet-1", "resnet-0", "bert-2", "bert-1", "bert-0"]);
    assert_eq!(
        names(list().oldest_first()).await,
        ["bert-0", "bert-1", "bert-2", "resnet-0", "resnet-1"]
    );
    assert_eq!(
        names(list().filter(Filter::name().like("bert"))).await,
        ["bert-2", "bert-1", "bert-0"]
    );
    assert_eq!(
        names(list().filter(Filter::phase().is_in([Phase::Failed, Phase::Running]))).await,
        ["resnet-1", "bert-1"]
    );
    assert_eq!(
        names(list().filter(Filter::phase().is_not_in([Phase::Failed]))).await,
        ["resnet-0", "bert-2", "bert-0"]
    );
    let both =
        list().filter(Filter::name().like("bert")).filter(Filter::phase().is(Phase::Completed));
    assert_eq!(names(both).await, ["bert-2", "bert-0"]);
    let none = list().filter(Filter::name().like("gpt"));
    assert_eq!(names(none).await, [""; 0]);
    let now = modelarts_ext::clock::Clock::now(&site.clock);
    let before = list().filter(Filter::create_time().between(now - seconds(20), now - seconds(10)));
    assert_eq!(names(before).await, [""; 0]);
    let around = list().filter(Filter::create_time().between(now - seconds(10), now + seconds(10)));
    assert_eq!(names(around).await.len(), 5);
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let site = Site::start().await;
    five(&site).await;
    let list = || site.client.training_jobs().list().page_size(2);
    let asked = || site.count("ListTrainingJobs").0;

    let before = asked();
    assert_eq!(names(list()).await, ["resnet-1", "resnet-0", "bert-2", "bert-1", "bert-0"]);
    assert_eq!(asked() - before, 3);

    let before = asked();
    let pages: Vec<_> = list().pages().try_collect().await.unwrap();
    let rows = pages.iter().map(|page| {
        let names: Vec<_> = page.items.iter().map(Job::name).collect();
        (names.join(" "), page.total, page.skipped)
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            ("resnet-1 resnet-0".to_owned(), Some(5), 0),
            ("bert-2 bert-1".to_owned(), Some(5), 0),
            ("bert-0".to_owned(), Some(5), 0),
        ]
    );
    assert_eq!(asked() - before, 3);

    // The stream requests only the pages that are read.
    let before = asked();
    let two = list().collect(2).await.unwrap();
    assert_eq!(two.iter().map(Job::name).collect::<Vec<_>>(), ["resnet-1", "resnet-0"]);
    assert_eq!(asked() - before, 1);
    assert_eq!(list().collect(4).await.unwrap().len(), 4);
    assert_eq!(list().collect(100).await.unwrap().len(), 5);

    let before = asked();
    for (size, text) in [(0, "0"), (51, "51")] {
        let error = refused(site.client.training_jobs().list().page_size(size).collect(1).await);
        assert_eq!(message(&error), format!("page_size {text}: must be 1 to 50"));
    }
    let blank = site.client.training_jobs().list();
    let error = refused(blank.filter(Filter::name().like("")).collect(1).await);
    assert_eq!(
        message(&error),
        "filter name: a blank value, which the service takes for no condition at all; leave the \
         filter out to find everything"
    );
    assert_eq!(asked(), before);
}

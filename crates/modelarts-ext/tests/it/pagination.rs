//! Tests of lists over HTTP: concurrent pages, positions, disputed units of offsets.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_emulator::{Timing, faults::Fault};
use modelarts_ext::{
    Client, Job,
    pagination::{Offset, Position},
};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    faults::LIST,
    server::{Reply, Server, json_answer},
    site::Site,
};

/// Returns a site with this number of pending jobs. `job-0` is the oldest.
async fn site(jobs: usize) -> Site {
    let mut timing = Timing::instant();
    timing.creating = Duration::from_secs(3600);
    let site = Site::with(|builder| builder.timing(timing)).await;
    for number in 0..jobs {
        let name = format!("job-{number}");
        site.script(&name, "").submit().await.unwrap();
    }
    site
}

fn names(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(Job::name).collect()
}

fn expected(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("job-{number}")).collect()
}

#[tokio::test]
async fn pages_in_flight_come_in_order() {
    let site = site(120).await;
    for in_flight in [1, 3, 20] {
        let before = site.count(LIST).0;
        let list = site.client.training_jobs().list();
        let jobs = list.page_size(10).in_flight(in_flight).stream();
        let jobs: Vec<Job> = jobs.try_collect().await.unwrap();
        assert_eq!(names(&jobs), expected((0..120).rev()));
        assert_eq!(site.count(LIST).0 - before, 12, "{in_flight}");
    }
    // The largest pages overlap: the first has 50 rows, the second 47 new rows, and the third the
    // remaining rows.
    let before = site.count(LIST).0;
    let jobs = site.client.training_jobs().list().collect(1000).await;
    assert_eq!(jobs.unwrap().len(), 120);
    assert_eq!(site.count(LIST).0 - before, 3);
}

#[tokio::test]
async fn a_list_is_read_on_after_it_has_changed() {
    let site = site(30).await;
    let jobs = site.client.training_jobs();
    let mut pages = jobs.list().page_size(10).pages();
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!(names(&first.items), expected((20..30).rev()));
    assert_eq!(first.position.rows(), 10);
    let saved = serde_json::to_string(&first.position).unwrap();
    drop(pages);

    // Three jobs that were read are deleted, and two new jobs are created.
    for job in &first.items[3..6] {
        job.delete().await.unwrap();
        site.emulator.wait_until_gone(job.id()).await;
    }
    for name in ["new-0", "new-1"] {
        site.script(name, "").submit().await.unwrap();
    }
    let position: Position = serde_json::from_str(&saved).unwrap();
    let rest = jobs.list().page_size(10).resume(position).stream();
    let rest: Vec<Job> = rest.try_collect().await.unwrap();
    // The new jobs are on the first page of the resumed list, and have not been returned yet.
    assert_eq!(names(&rest[..2]), ["new-1", "new-0"]);
    assert_eq!(names(&rest[2..]), expected((0..20).rev()));

    let position: Position = serde_json::from_str(&saved).unwrap();
    let job = &first.items[0];
    let error = refused(job.events().resume(position).collect(1).await);
    assert_eq!(
        message(&error),
        "resume: the position is one in ListTrainingJobs, and this is ListTrainingJobEvents"
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_before_sending() {
    let server = Server::start([]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let list = || client.training_jobs().list();
    for (list, expected) in [
        (list().in_flight(0), "in_flight 0: must be at least 1"),
        (
            list().offset_is(Offset::LineCursor),
            "offset_is LineCursor: the offset of ListTrainingJobs counts pages or records",
        ),
        (list().page_size(51), "page_size 51: must be 1 to 50"),
        (list().workspace(""), "workspace: it is blank; leave it out instead"),
    ] {
        assert_eq!(message(&refused(list.collect(1).await)), expected);
    }
    assert_eq!(server.requests(), [""; 0]);
}

/// Returns a page of the events with these numbers.
fn events(total: usize, numbers: std::ops::Range<usize>) -> Reply {
    let rows: Vec<_> = numbers
        .map(|number| {
            json!({"time": "2026-01-15T16:30:45+08:00", "level": "Info", "source": "Task",
                   "message": format!("event {number}")})
        })
        .collect();
    // Numbers are strings, as in the API reference.
    let body = json!({"total": total.to_string(), "events": rows});
    json_answer("200 OK", "", &body.to_string())
}

async fn job(client: &Client) -> Job {
    client.training_jobs().get("job-1").await.unwrap()
}

fn details() -> Reply {
    let body = json!({"metadata": {"id": "job-1"}, "status": {"phase": "Running"}});
    json_answer("200 OK", "", &body.to_string())
}

/// Returns the query of each event request.
fn queries(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let events = requests.iter().filter_map(|request| {
        let line = request.lines().next()?;
        let query = line.split_once("/events?")?.1;
        Some(query.split(' ').next()?.to_owned())
    });
    events.collect()
}

#[tokio::test]
async fn the_offset_of_events_is_found_out_and_remembered() {
    let server = Server::start([
        details(),
        events(150, 0..100),
        // The service interprets the offset 1 as the second page.
        events(150, 100..150),
        // The second list begins again with the first page.
        events(150, 0..100),
        events(150, 100..150),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = job(&client).await;
    for _ in 0..2 {
        let all = job.events().collect(1000).await.unwrap();
        assert_eq!(all.len(), 150);
        assert_eq!(all[149].message(), "event 149");
    }
    assert_eq!(
        queries(&server),
        [
            "limit=100&offset=0&order=asc",
            "limit=100&offset=1&order=asc",
            "limit=100&offset=0&order=asc",
            "limit=100&offset=1&order=asc",
        ]
    );
}

#[tokio::test]
async fn the_caller_can_say_what_the_offset_counts() {
    let server = Server::start([details(), events(150, 0..100), events(150, 100..150)]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = job(&client).await;
    let all = job.events().offset_is(Offset::PageIndex).collect(1000).await;
    let all = all.unwrap();
    assert_eq!(all.len(), 150);
    assert_eq!(all[149].message(), "event 149");
    assert_eq!(queries(&server), ["limit=100&offset=0&order=asc", "limit=100&offset=1&order=asc"]);
}

#[tokio::test]
async fn a_page_that_is_longer_than_asked_for_is_the_whole_list_or_an_error() {
    let server = Server::start([details(), events(300, 0..300), events(9000, 0..300)]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = job(&client).await;
    let all = job.events().collect(1000).await.unwrap();
    assert_eq!(all.len(), 300);
    assert_eq!(all[299].message(), "event 299");
    let error = refused(job.events().collect(1000).await);
    assert_eq!(
        message(&error),
        "ListTrainingJobEvents: the service answered 300 rows where at most 100 were asked for \
         (offset 0), and a page must not be longer than its limit; it seems to ignore the limit, \
         so the list cannot be read in pages: call the operation itself"
    );
    assert!(!error.is_retryable());
    assert_eq!(queries(&server), ["limit=100&offset=0&order=asc"; 2]);
}

#[tokio::test]
async fn the_error_of_a_list_says_where_to_read_on() {
    let server = Server::start([
        details(),
        events(150, 0..100),
        // The number of rows falls, so that rows may have moved to the first page.
        events(120, 100..120),
        events(120, 120..120),
        events(150, 120..150),
        events(150, 150..150),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = job(&client).await;
    let mut rows = job.events().offset_is(Offset::Record).in_flight(1).stream();
    let mut read = Vec::new();
    let error = loop {
        match rows.try_next().await {
            Ok(row) => read.push(row.unwrap().message().to_owned()),
            Err(error) => break error,
        }
    };
    assert_eq!(
        message(&error),
        "ListTrainingJobEvents: the list has changed while it was read, so rows may be missing \
         among those that came; read it again"
    );
    let position = error.position().unwrap().clone();
    let rest = job.events().resume(position).collect(1000).await.unwrap();
    read.extend(rest.iter().map(|row| row.message().to_owned()));
    let expected: Vec<String> = (0..150).map(|number| format!("event {number}")).collect();
    assert_eq!(read, expected);
}

#[tokio::test]
async fn totals_as_text_are_numbers() {
    let site = Site::start().await;
    for name in ["a", "b", "c"] {
        site.run(site.script(name, "")).await;
    }
    site.fault(2, LIST, Fault::TotalsAsText);
    let pages = site.client.training_jobs().list().page_size(2).pages();
    let pages: Vec<_> = pages.try_collect().await.unwrap();
    let rows: Vec<_> =
        pages.iter().map(|page| (page.items.len(), page.total, page.skipped)).collect();
    assert_eq!(rows, [(2, Some(3), 0), (1, Some(3), 0)]);
    assert_eq!(site.emulator.faults().list(), []);
}

//! Searches for creation times over a range that the service does not accept at once.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::TryStreamExt;
use modelarts_emulator::seeds::Seeds;
use modelarts_ext::{
    Filter, Job, Timestamp,
    jobs::ListJobs,
    pagination::{Page, Position},
    types::{FilterOperator, JobSortField},
};
use serde_json::{Value, json};

use crate::support::{
    clock::{TestClock, seconds},
    errors::{message, refused},
    server::{Server, json_answer},
    site::Site,
};

fn days(count: u64) -> Duration {
    seconds(count * 24 * 3600)
}

/// Jobs by their age, in milliseconds: `-100` was created 100 days ago. Searches that begin 100
/// days ago have borders 69, 38 and 7 days ago.
const JOBS: [(&str, u64); 9] = [
    ("-101", 101 * DAY),
    ("-100", 100 * DAY),
    ("-80", 80 * DAY),
    ("before-69", 69 * DAY + 1),
    ("-69", 69 * DAY),
    ("after-69", 69 * DAY - 500),
    ("-7", 7 * DAY),
    ("-5", 5 * DAY),
    ("0", 0),
];
const DAY: u64 = 24 * 3600 * 1000;

/// Bodies of the searches that the emulator received.
type Bodies = Arc<Mutex<Vec<Value>>>;

struct History {
    site: Site,
    bodies: Bodies,
    now: Timestamp,
}

impl History {
    async fn start() -> Self {
        let bodies = Bodies::default();
        let record = Arc::clone(&bodies);
        let site = Site::with(|builder| {
            builder.observe(move |exchange| {
                if exchange.operation == Some("ListTrainingJobs") {
                    let body = serde_json::from_slice(exchange.request).unwrap();
                    record.lock().unwrap().push(body);
                }
            })
        })
        .await;
        let now = Timestamp::from(modelarts_ext::clock::Clock::now(&site.clock));
        let jobs = JOBS.map(|(name, age)| {
            let created = now - Duration::from_millis(age);
            json!({"name": format!("job{name}"), "created": created, "tags": {"team": "a"}})
        });
        let seeds = Seeds::from_json(&json!({"jobs": jobs}).to_string()).unwrap();
        site.emulator.seed(&seeds).await.unwrap();
        Self { site, bodies, now }
    }

    fn list(&self) -> ListJobs {
        self.site.client.training_jobs().list()
    }

    /// Returns the list of the jobs of the last 100 days.
    fn recent(&self) -> ListJobs {
        let start = self.now - days(100);
        self.list().filter(Filter::create_time().after(start))
    }

    /// Returns the ranges of the searches since the last call.
    fn ranges(&self) -> Vec<[String; 2]> {
        let bodies = std::mem::take(&mut *self.bodies.lock().unwrap());
        let ranges = bodies.iter().map(|body| {
            let filters = body["filters"].as_array().unwrap();
            let times = filters.iter().filter(|filter| filter["key"] == "create_time");
            let [range] = times.collect::<Vec<_>>()[..] else {
                panic!("{body}");
            };
            assert_eq!(range["operator"], "between");
            serde_json::from_value(range["value"].clone()).unwrap()
        });
        let mut ranges: Vec<_> = ranges.collect();
        // A search ends with a page without a job.
        ranges.dedup();
        ranges
    }
}

fn names(jobs: &[Job]) -> Vec<&str> {
    let names = jobs.iter().map(|job| job.name());
    names.map(|name| name.strip_prefix("job").unwrap()).collect()
}

/// Ranges of the four searches of [`History::recent`], oldest first.
const RANGES: [[&str; 2]; 4] = [
    ["2025-10-07T08:30:45Z", "2025-11-07T08:30:45Z"],
    ["2025-11-07T08:30:45Z", "2025-12-08T08:30:45Z"],
    ["2025-12-08T08:30:45Z", "2026-01-08T08:30:45Z"],
    ["2026-01-08T08:30:45Z", "2026-01-15T08:31:45Z"],
];
/// Names of the jobs of [`History::recent`], oldest first.
const RECENT: [&str; 8] = ["-100", "-80", "before-69", "-69", "after-69", "-7", "-5", "0"];

fn reversed<T: Clone, const N: usize>(rows: &[T; N]) -> Vec<T> {
    rows.iter().rev().cloned().collect()
}

#[tokio::test]
async fn a_long_range_is_read_with_several_searches() {
    let history = History::start().await;
    let oldest_first = history.recent().oldest_first();
    let jobs = oldest_first.collect(100).await.unwrap();
    assert_eq!(names(&jobs), RECENT);
    assert_eq!(history.ranges(), RANGES);

    let jobs = history.recent().collect(100).await.unwrap();
    assert_eq!(names(&jobs), reversed(&RECENT));
    assert_eq!(history.ranges(), reversed(&RANGES));

    // A range with two ends, which both are included; a job is a millisecond older.
    let between = Filter::create_time().between(history.now - days(69), history.now - days(7));
    let jobs = history.list().filter(between).collect(100).await.unwrap();
    assert_eq!(names(&jobs), ["-7", "after-69", "-69"]);
    assert_eq!(history.ranges(), reversed(&[RANGES[1], RANGES[2]]));

    // Other conditions are in every search.
    let named = history.recent().filter(Filter::name().like("-69"));
    let tagged = named.tag("team", ["a"]).oldest_first();
    let jobs = tagged.collect(100).await.unwrap();
    assert_eq!(names(&jobs), ["before-69", "-69", "after-69"]);
    assert_eq!(history.ranges(), RANGES);
}

#[tokio::test]
async fn only_the_searches_that_are_needed_are_sent() {
    let history = History::start().await;
    let jobs = history.recent().collect(2).await.unwrap();
    assert_eq!(names(&jobs), ["0", "-5"]);
    assert_eq!(history.ranges(), [RANGES[3]]);

    // A range of up to 31 days is one search, also if its end is far ahead.
    let after = Filter::create_time().after(history.now - days(6));
    let pages = history.list().filter(after).pages();
    let pages: Vec<_> = pages.try_collect().await.unwrap();
    assert_eq!(names(&pages[0].items), ["0", "-5"]);
    // The total of the service includes all jobs of the project.
    assert_eq!((pages.len(), pages[0].total), (1, Some(9)));
    assert_eq!(history.ranges(), [["2026-01-09T08:30:45Z", "2026-01-15T08:31:45Z"]]);

    // A start that is ahead of the clock of the client.
    let ahead = Filter::create_time().after(history.now + days(1));
    let jobs = history.list().filter(ahead).collect(100).await.unwrap();
    assert_eq!(names(&jobs), [""; 0]);
    assert_eq!(history.ranges(), [["2026-01-16T08:30:45Z"; 2]]);
}

#[tokio::test]
async fn borders_are_whole_seconds() {
    let history = History::start().await;
    let start = history.now - days(100) - Duration::from_millis(750);
    let list = history.list().filter(Filter::create_time().after(start));
    let jobs = list.oldest_first().collect(100).await.unwrap();
    assert_eq!(names(&jobs), RECENT);
    let ranges = history.ranges();
    assert_eq!(ranges[0], ["2025-10-07T08:30:44.25Z", "2025-11-07T08:30:44Z"]);
    assert_eq!(ranges[1], ["2025-11-07T08:30:44Z", "2025-12-08T08:30:44Z"]);
}

#[tokio::test]
async fn a_long_range_is_resumed_in_the_right_search() {
    let history = History::start().await;
    let orders: [fn(ListJobs) -> ListJobs; 2] = [ListJobs::oldest_first, |list| list];
    for order in orders {
        let list = || order(history.recent()).page_size(2);
        let pages: Vec<Page<Job>> = list().pages().try_collect().await.unwrap();
        assert!(pages.len() > 4, "{}", pages.len());
        assert!(pages.iter().all(|page| page.total.is_none()));
        let all: Vec<Job> = pages.iter().flat_map(|page| page.items.clone()).collect();
        assert_eq!(all.len(), RECENT.len());
        let mut read = 0;
        for page in &pages {
            read += page.items.len();
            assert!(page.position.rows() >= read as u64, "{:?}", page.position);
            let saved = serde_json::to_string(&page.position).unwrap();
            // The end of the last search moves with the clock; the borders do not.
            history.site.clock.advance(days(9));
            let position: Position = serde_json::from_str(&saved).unwrap();
            let rest = list().resume(position).collect(100).await.unwrap();
            assert_eq!(names(&rest), names(&all[read..]));
        }
    }
}

#[tokio::test]
async fn a_position_of_other_conditions_is_refused() {
    let history = History::start().await;
    let first = |list: ListJobs| async { list.pages().try_next().await.unwrap().unwrap().position };
    let long = first(history.recent().oldest_first()).await;
    let short = first(history.list()).await;
    history.bodies.lock().unwrap().clear();
    let other = history.list().filter(Filter::create_time().after(history.now - days(90)));
    for (list, expected) in [
        (
            other.oldest_first().resume(long.clone()),
            "resume: the position is in a list with other conditions (2025-10-07T08:30:45Z; this \
             list begins with 2025-10-17T08:30:45Z); its conditions must be those of the list that \
             returned it, also the start of a range of times",
        ),
        (
            history.list().resume(long),
            "resume: the position is in a list with other conditions (2025-10-07T08:30:45Z); its \
             conditions must be those of the list that returned it",
        ),
        (
            history.recent().oldest_first().resume(short),
            "resume: the position is in a list with other conditions (no search; this list begins \
             with 2025-10-07T08:30:45Z); its conditions must be those of the list that returned \
             it, also the start of a range of times",
        ),
    ] {
        assert_eq!(message(&refused(list.collect(1).await)), expected);
    }
    assert_eq!(history.bodies.lock().unwrap().len(), 0);
}

/// The error of a list whose page repeats has the search of its position.
#[tokio::test]
async fn an_error_has_a_position_in_its_search() {
    let job = json!({"kind": "job", "metadata": {"id": "j", "create_time": 1_768_465_845_000_u64}});
    let empty = json_answer("200 OK", "", r#"{"total": 0, "count": 0, "items": []}"#);
    let short = json!({"total": 3, "count": 3, "items": [job]}).to_string();
    let short = std::iter::repeat_n(json_answer("200 OK", "", &short), 4);
    let server = Server::start(std::iter::once(empty).chain(short)).await;
    let clock = TestClock::new();
    let client = server.client(&clock).build().unwrap();
    let start = modelarts_ext::clock::Clock::now(&clock) - days(40);
    let list = client.training_jobs().list().oldest_first();
    let list = list.filter(Filter::create_time().after(start));
    let error = refused(list.collect(10).await);
    let position = serde_json::to_value(error.position().unwrap()).unwrap();
    assert_eq!(position["search"], json!({"name": "2026-01-06T08:30:45Z", "rows_before": 0}));
    assert_eq!(position["last"], json!(["j"]));
}

#[tokio::test]
async fn conditions_on_times_are_combined() {
    let history = History::start().await;
    let now = history.now;
    let time = Filter::create_time;
    let list = history.recent().filter(time().between(now - days(81), now - days(60)));
    let jobs = list.collect(100).await.unwrap();
    assert_eq!(names(&jobs), ["after-69", "-69", "before-69", "-80"]);
    assert_eq!(history.ranges(), [["2025-10-26T08:30:45Z", "2025-11-16T08:30:45Z"]]);
    let two = history.list().filter(time().between(now - days(7), now));
    let two = two.filter(time().between(now - days(20), now - days(5)));
    assert_eq!(names(&two.collect(9).await.unwrap()), ["-5", "-7"]);
    assert_eq!(history.ranges(), [["2026-01-08T08:30:45Z", "2026-01-10T08:30:45Z"]]);
    // A condition that was created with `raw` is sent as it is.
    let values = [now - days(100), now].map(|time| time.to_string());
    let raw = Filter::raw("create_time", FilterOperator::Between, values.clone());
    let jobs = history.list().filter(raw).collect(100).await.unwrap();
    assert_eq!(jobs.len(), RECENT.len());
    assert_eq!(history.ranges(), [values]);
}

#[tokio::test]
async fn ranges_that_cannot_be_searched_are_not_sent() {
    let history = History::start().await;
    let now = history.now;
    let time = Filter::create_time;
    let list = || history.list();
    for (list, expected) in [
        (
            list().filter(time().between(now, now - days(1))),
            "filter create_time: the end is before the start",
        ),
        (
            list()
                .filter(time().between(now - days(9), now - days(8)))
                .filter(time().after(now - days(7))),
            "filter create_time: the ranges have no common time; the latest start, \
             2026-01-08T08:30:45Z, must not be after the earliest end, 2026-01-07T08:30:45Z",
        ),
        (
            list().filter(time().after(Timestamp::UNIX_EPOCH)),
            "filter create_time: 20469 days; must be at most 3720 days, which are 120 searches",
        ),
        (
            list().filter(time().between(Timestamp::MIN, Timestamp::MAX)),
            "filter create_time: 4392055 days; must be at most 3720 days, which are 120 searches",
        ),
        (
            history.recent().sort_by(JobSortField::from("name")),
            "sort_by name: must be create_time for a range of more than 31 days, which takes \
             several searches",
        ),
    ] {
        assert_eq!(message(&refused(list.collect(1).await)), expected);
    }
    assert_eq!(history.bodies.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn the_client_evaluates_open_ranges() {
    let history = History::start().await;
    let jobs = history.list().collect(100).await.unwrap();
    let after = Filter::create_time().after(history.now - days(69));
    let matching = jobs.iter().filter(|job| after.matches(job) == Some(true));
    let matching: Vec<Job> = matching.cloned().collect();
    assert_eq!(names(&matching), ["0", "-5", "-7", "after-69", "-69"]);
    let wide = Filter::create_time().between(history.now - days(101), history.now - days(100));
    let matching = jobs.iter().filter(|job| wide.matches(job) == Some(true));
    assert_eq!(matching.count(), 2);
}

//! Tests of followed logs that outgrow their previews: the missing lines are read by the link.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::TryStreamExt;
use modelarts_emulator::faults::Fault;
use modelarts_ext::{Client, Job, LogItem, RetryPolicy, jobs::follow::JobUpdate};
use reqwest::header::{AUTHORIZATION, HeaderMap, RANGE};
use serde_json::json;

use super::fixtures::blocked_job;
use crate::support::{
    clock::{TestClock, seconds},
    network::{self, NetworkReply},
    site::Site,
};

const LINK: &str = "ShowObsUrlOfTrainingJobLogs";
/// Number of lines that a script prints at once: 5.6 MB, more than a preview.
const BURST: usize = 140_000;

/// Returns the code that prints lines with these numbers.
fn print(from: usize, to: usize) -> String {
    format!("for i in range({from}, {to}): print(f'line {{i:034}}')\nsys.stdout.flush()")
}

fn line(number: usize) -> String {
    format!("line {number:034}")
}

/// Returns a job that prints `few` lines before the first poll, and the others before the second.
async fn bursting_job(site: &Site, name: &str, few: usize) -> Job {
    let before = format!("import sys\n{}", print(0, few));
    blocked_job(site, name, &before, &print(few, few + BURST)).await
}

#[tokio::test]
async fn a_log_that_outgrows_its_preview_has_no_gap() {
    let site = Site::start().await;
    let job = bursting_job(&site, "burst", 3).await;
    let log = job.logs("worker-0");
    let items: Vec<_> = log.clone().follow().try_collect().await.unwrap();
    let expected: Vec<_> = (0..3 + BURST).map(line).map(LogItem::Line).collect();
    assert_eq!(items.len(), expected.len());
    assert!(items == expected);
    assert_eq!(site.count(LINK), (1, 1));
    assert_eq!(site.clock.slept(), [seconds(5)]);

    // A log that is longer than a preview at the first poll is read from its beginning.
    let items: Vec<_> = log.follow().try_collect().await.unwrap();
    assert!(items == expected);
    assert_eq!(site.count(LINK), (2, 2));
    assert_eq!(site.clock.slept(), [seconds(5)]);
}

/// A line that is longer than a preview is read by the link, and returned in parts.
#[tokio::test]
async fn a_line_that_is_longer_than_a_preview_is_whole() {
    let site = Site::start().await;
    let line = |text: &str| LogItem::Line(text.to_owned());
    let before = "import sys\nprint('a\\n' + 'x' * 10_000_000)\nprint('o', end='', flush=True)";
    let job = blocked_job(&site, "long-line", before, "print('pen')").await;
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    let [first, parts @ .., last] = items.as_slice() else {
        panic!("{} items", items.len());
    };
    assert_eq!((first, last), (&line("a"), &line("open")));
    let sizes = parts.iter().map(|item| match item {
        LogItem::Line(part) => part.len(),
        _ => 0,
    });
    let sizes: Vec<_> = sizes.collect();
    assert!(sizes.iter().all(|size| *size <= 1 << 20), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<usize>(), 10_000_000);
}

#[tokio::test]
async fn the_updates_of_a_job_have_no_gap() {
    let site = Site::start().await;
    let job = bursting_job(&site, "updates", 3).await;
    let updates = job.follow();
    let updates: Vec<_> = updates.try_collect().await.unwrap();
    let mut lines = (0..3 + BURST).map(line);
    for update in &updates {
        match update {
            JobUpdate::Log { item, .. } => {
                assert_eq!(Some(item), lines.next().map(LogItem::Line).as_ref());
            }
            // All lines precede the end of their task.
            JobUpdate::Event(event) if event.message().contains("Training finished") => {
                assert_eq!(lines.len(), 0);
            }
            _ => {}
        }
    }
    assert_eq!(lines.len(), 0);
    assert!(matches!(updates.last(), Some(JobUpdate::Phase(_))));
}

#[tokio::test]
async fn a_gap_without_a_link_stays() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = bursting_job(&site, "refused", 3).await;
    let job = client.training_jobs().get(job.id()).await.unwrap();
    let refused =
        Fault::Status { status: 403, retry_after: None, error_code: None, error_msg: None };
    site.fault(100, LINK, refused);
    let log = job.logs("worker-0");
    let items: Vec<_> = log.follow().try_collect().await.unwrap();
    let gaps: Vec<_> =
        items.iter().enumerate().filter(|(_, item)| matches!(item, LogItem::Gap { .. })).collect();
    // The preview has the last 5 MB of the new lines, which have 40 bytes each.
    let bytes = (BURST * 40 - (5 << 20)) as u64;
    assert_eq!(gaps, [(3, &LogItem::Gap { bytes: Some(bytes) })]);
    assert_eq!(items.last(), Some(&LogItem::Line(line(2 + BURST))));
    assert_eq!(site.count(LINK), (1, 0));
}

/// Log that grows with each preview, on a network.
struct GrowingLog {
    text: String,
    /// The lengths of the log at the previews; the job ends with the last one.
    lengths: Vec<usize>,
    /// Length of a preview in bytes.
    window: usize,
    /// `true` if OBS supports ranges.
    has_ranges: bool,
    /// The content of the log in OBS, if it differs from the log.
    in_obs: Option<String>,
    looks: AtomicUsize,
    links: AtomicUsize,
    headers: Mutex<Vec<HeaderMap>>,
}

impl GrowingLog {
    fn new(text: String, lengths: Vec<usize>, window: usize, has_ranges: bool) -> Self {
        Self {
            text,
            lengths,
            window,
            has_ranges,
            in_obs: None,
            looks: AtomicUsize::new(0),
            links: AtomicUsize::new(0),
            headers: Mutex::default(),
        }
    }

    fn boundary(&self, at: usize) -> usize {
        let mut boundaries = at..=self.text.len();
        boundaries.find(|at| self.text.is_char_boundary(*at)).unwrap()
    }

    /// Returns the length of the log after the last preview.
    fn length(&self) -> usize {
        let looks = self.looks.load(Ordering::Relaxed).max(1);
        let at = looks.min(self.lengths.len()) - 1;
        self.boundary(self.lengths[at].min(self.text.len()))
    }

    fn reply(&self, request: &reqwest::Request) -> Option<NetworkReply> {
        let path = request.url().path();
        if path.ends_with("/logs/preview") {
            self.looks.fetch_add(1, Ordering::Relaxed);
            let length = self.length();
            let start = self.boundary(length.saturating_sub(self.window));
            let content = &self.text[start..length];
            return network::json(json!({
                "content": content, "current_size": content.len(), "full_size": length
            }));
        }
        if path.ends_with("/logs/url") {
            self.links.fetch_add(1, Ordering::Relaxed);
            return network::json(json!({"obs_url": "https://bucket.obs.test/log?Signature=x"}));
        }
        if request.url().host_str() == Some("bucket.obs.test") {
            self.headers.lock().unwrap().push(request.headers().clone());
            let log = self.in_obs.as_deref().unwrap_or(&self.text[..self.length()]);
            return Some(Ok(self.object(request, log)));
        }
        let all = self.looks.load(Ordering::Relaxed) + 1 >= self.lengths.len();
        let phase = if all { "Completed" } else { "Running" };
        network::json(json!({"metadata": {"id": "job-1", "name": "growing"},
                             "status": {"phase": phase, "tasks": ["worker-0"]}}))
    }

    /// Returns the response of OBS.
    fn object(&self, request: &reqwest::Request, log: &str) -> http::Response<String> {
        let range = request.headers().get(RANGE).filter(|_| self.has_ranges);
        let Some(range) = range else {
            return http::Response::new(log.to_owned());
        };
        let range = range.to_str().unwrap().strip_prefix("bytes=").unwrap();
        let (start, last) = range.split_once('-').unwrap();
        let start: usize = start.parse().unwrap();
        if start >= log.len() {
            let range = format!("bytes */{}", log.len());
            let builder = network::answer(416).header("content-range", range);
            return builder.body(String::new()).unwrap();
        }
        // A response of this network is text, so a range that divides a character begins and ends
        // at the characters around it.
        let start = (0..=start).rev().find(|at| log.is_char_boundary(*at)).unwrap();
        let end = last.parse::<usize>().map_or(log.len(), |last| last + 1);
        let end = (end.min(log.len())..=log.len()).find(|at| log.is_char_boundary(*at)).unwrap();
        let range = format!("bytes {start}-{}/{}", end - 1, log.len());
        let builder = network::answer(206).header("content-range", range);
        builder.body(log[start..end].to_owned()).unwrap()
    }
}

/// Network on which a log grows, which tests exchange.
type Network = Arc<Mutex<Arc<GrowingLog>>>;

fn client(network: &Network) -> Client {
    let network = Arc::clone(network);
    let client = network::client_of(move |request| network.lock().unwrap().reply(request));
    client.clock(TestClock::new()).build().unwrap()
}

/// Follows a log by preview to its end.
async fn follow_on(client: &Client) -> Vec<LogItem> {
    let job = client.training_jobs().job("job-1").unwrap();
    let log = job.logs("worker-0");
    log.follow().try_collect().await.unwrap()
}

async fn follow(log: &Arc<GrowingLog>) -> Vec<LogItem> {
    follow_on(&client(&Arc::new(Mutex::new(Arc::clone(log))))).await
}

fn lines(text: &str) -> Vec<LogItem> {
    let lines = text.lines().map(|line| LogItem::Line(line.to_owned()));
    lines.collect()
}

#[tokio::test]
async fn a_random_log_with_a_link_gives_each_line_once() {
    let mut random = fastrand::Rng::with_seed(20_261_123);
    let empty = GrowingLog::new(String::new(), vec![0], 1, true);
    let network: Network = Arc::new(Mutex::new(Arc::new(empty)));
    let client = client(&network);
    for case in 0..200 {
        let text: String = (0..random.usize(1..60))
            .map(|number| match random.u8(..4) {
                0 => format!("{number} ä€\n"),
                1 => "\n".to_owned(),
                _ => format!("line {number}\r\n"),
            })
            .collect();
        let mut lengths: Vec<_> =
            (0..random.usize(1..8)).map(|_| random.usize(..=text.len())).collect();
        lengths.push(text.len());
        lengths.sort_unstable();
        let (window, has_ranges) = (random.usize(8..80), random.bool());
        let log = GrowingLog::new(text.clone(), lengths, window, has_ranges);
        let log = Arc::new(log);
        *network.lock().unwrap() = Arc::clone(&log);
        assert_eq!(follow_on(&client).await, lines(&text), "case {case}");
        for headers in log.headers.lock().unwrap().iter() {
            // The link is on another host, which must not receive credentials.
            assert!(!headers.contains_key(AUTHORIZATION) && !headers.contains_key("x-auth-token"));
        }
    }
}

/// Returns a log of which the second preview lacks the third to the eighth line.
fn outgrown(in_obs: &str) -> Arc<GrowingLog> {
    let text: String = (0..10).map(|number| format!("line {number}\n")).collect();
    let mut log = GrowingLog::new(text, vec![14, 70, 70], 14, true);
    log.in_obs = Some(in_obs.to_owned());
    Arc::new(log)
}

#[tokio::test]
async fn a_link_to_another_log_does_not_fill_a_gap() {
    let gap = |bytes| LogItem::Gap { bytes: Some(bytes) };
    let line = |number| LogItem::Line(format!("line {number}"));
    let other: String = (0..10).map(|number| format!("other {number}\n")).collect();
    let half: String = (0..4).map(|number| format!("line {number}\n")).collect();
    for (in_obs, expected) in [
        (other, vec![line(0), line(1), gap(42), line(8), line(9)]),
        // The log in OBS is older than the preview.
        (half, vec![line(0), line(1), line(2), line(3), gap(28), line(8), line(9)]),
        (String::new(), vec![line(0), line(1), gap(42), line(8), line(9)]),
    ] {
        let log = outgrown(&in_obs);
        assert_eq!(follow(&log).await, expected, "{in_obs}");
        assert_eq!(log.links.load(Ordering::Relaxed), 1, "{in_obs}");
    }
}

/// A log that is read from its beginning cannot be compared with content that was read before.
#[tokio::test]
async fn a_link_that_contradicts_the_previews_is_not_used_again() {
    let text: String = (0..10).map(|number| format!("line {number}\n")).collect();
    let other: String = (0..10).map(|number| format!("othe {number}\n")).collect();
    let mut log = GrowingLog::new(text, vec![70, 70, 70], 14, true);
    log.in_obs = Some(other.clone());
    let log = Arc::new(log);
    let items = follow(&log).await;
    let mut expected = lines(&other[..56]);
    expected.push(LogItem::Gap { bytes: None });
    expected.push(LogItem::Gap { bytes: Some(56) });
    expected.extend(lines("line 8\nline 9\n"));
    assert_eq!(items, expected);
    assert_eq!(log.links.load(Ordering::Relaxed), 1);
}

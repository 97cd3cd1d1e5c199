//! Tests of whole logs: as a stream, in a file, and of the numbers in them.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{TryStreamExt, future};
use modelarts_ext::{
    Client, Credentials, Error, ErrorKind, Job, LogItem, RetryPolicy,
    api::BoxFuture,
    config::Cloud,
    connector::{ConnectorError, HttpConnector},
};
use serde_json::json;
use tempfile::TempDir;

use super::fixtures::{blocked_job, scripted};
use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    server::{Reply, Server, json_answer},
    site::Site,
};

/// Returns the response with a link to this path of the server.
fn link(server: &Server, path: &str) -> Reply {
    let url = format!("{}{path}", server.url);
    json_answer("200 OK", "", &json!({ "obs_url": url }).to_string())
}

/// Returns a response of OBS, with a body that is shorter than `length` if the connection breaks.
fn obs(status: &str, headers: &str, length: usize, body: &str) -> Reply {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n");
    Reply::Bytes(format!("{head}{headers}\r\n{body}").into_bytes())
}

fn preview(text: &str, full: usize) -> Reply {
    let body = json!({"content": text, "current_size": text.len(), "full_size": full});
    json_answer("200 OK", "", &body.to_string())
}

/// Returns the names of the files in a directory.
fn files(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

async fn download(job: &Job, path: &Path) -> Result<(u64, u64), Error> {
    let log = job.logs("worker-0").download(path).await?;
    Ok((log.bytes, log.lines))
}

#[tokio::test]
async fn a_log_that_is_longer_than_its_preview_is_downloaded_and_streamed_whole() {
    let site = Site::start().await;
    let script = "for i in range(700): print(str(i).zfill(10_000))\nprint('no end', end='')";
    let job = site.run(site.script("long", script)).await;
    let lines = (0..700).map(|i| format!("{i:010000}"));
    let lines: Vec<_> = lines.chain(["no end".to_owned()]).collect();
    let log = lines.join("\n");
    let preview = job.logs("worker-0").preview().await.unwrap();
    assert!(preview.content.unwrap().len() < log.len());

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("worker-0.log");
    fs::write(&path, "an earlier file, which is replaced").unwrap();
    let size = download(&job, &path).await.unwrap();
    assert_eq!(size, (log.len() as u64, 701));
    assert!(fs::read_to_string(&path).unwrap() == log);
    assert_eq!(files(&directory), ["worker-0.log"]);
    assert_eq!(site.count("ShowObsUrlOfTrainingJobLogs"), (1, 1));
    assert_eq!(site.count("ShowTrainingJobLogsPreview"), (1, 1));

    let items: Vec<_> = job.logs("worker-0").stream().try_collect().await.unwrap();
    let lines: Vec<_> = lines.into_iter().map(LogItem::Line).collect();
    assert!(items == lines);
}

#[tokio::test]
async fn a_log_that_does_not_exist_yet_is_not_ready() {
    let mut timing = modelarts_emulator::Timing::instant();
    timing.queuing = Duration::from_secs(100);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let job = site.script("later", "").submit().await.unwrap();
    site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let error = refused(download(&job, &directory.path().join("log")).await);
    assert!(error.is_not_ready(), "{error}");
    assert_eq!(error.operation(), Some("ShowObsUrlOfTrainingJobLogs"));
    assert_eq!(files(&directory), [""; 0]);
}

#[tokio::test]
async fn a_download_continues_where_the_connection_broke() {
    let log = "one\ntwo\nthree\n";
    for ranges in [true, false] {
        let (server, _, job) = scripted([]).await;
        server.add([
            link(&server, "/bucket/log?Signature=first-link"),
            obs("200 OK", "", log.len(), &log[..6]),
            link(&server, "/bucket/log?Signature=second-link"),
            obs("503 Slow Down", "", 0, ""),
            link(&server, "/bucket/log?Signature=third-link"),
            match ranges {
                true => obs(
                    "206 Partial Content",
                    "content-range: bytes 6-13/14\r\n",
                    log.len() - 6,
                    &log[6..],
                ),
                false => obs("200 OK", "", log.len(), log),
            },
        ]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        assert_eq!(download(&job, &path).await.unwrap(), (14, 3), "{ranges}");
        assert_eq!(fs::read_to_string(&path).unwrap(), log);
        assert_eq!(server.left(), 0);

        let requests = server.requests();
        let to_obs: Vec<_> = requests
            .iter()
            .filter(|request| request.contains("/bucket/log"))
            .map(|request| request.to_ascii_lowercase())
            .collect();
        assert_eq!(to_obs.len(), 3);
        for (request, range) in to_obs.iter().zip([false, true, true]) {
            assert_eq!(request.contains("range: bytes=6-\r\n"), range, "{request}");
            for header in ["authorization", "x-sdk-date", "x-project-id", "x-auth-token"] {
                assert!(!request.contains(header), "{request}");
            }
        }
    }
}

#[tokio::test]
async fn a_log_that_became_shorter_during_the_download_is_an_error() {
    for reply in [
        obs("200 OK", "", 3, "new"),
        obs("416 Range Not Satisfiable", "content-range: bytes */3\r\n", 0, ""),
    ] {
        let (server, _, job) = scripted([]).await;
        server.add([
            link(&server, "/log?Signature=s"),
            obs("200 OK", "", 9, "a log "),
            link(&server, "/log?Signature=s"),
            reply,
        ]);
        let directory = tempfile::tempdir().unwrap();
        let error = refused(download(&job, &directory.path().join("log")).await);
        assert_eq!(
            error.to_string(),
            "the log was replaced by a shorter one while it was read, as by a restart of the task"
        );
        assert!(error.is_retryable());
        assert_eq!(files(&directory), [""; 0]);
        assert_eq!(server.left(), 0);
    }
    // The log ends where the connection broke.
    let (server, _, job) = scripted([]).await;
    server.add([
        link(&server, "/log?Signature=s"),
        obs("200 OK", "", 9, "a log\n"),
        link(&server, "/log?Signature=s"),
        obs("416 Range Not Satisfiable", "content-range: bytes */6\r\n", 0, ""),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let size = download(&job, &directory.path().join("log")).await;
    assert_eq!(size.unwrap(), (6, 1));
}

#[tokio::test]
async fn refusals_of_obs_are_errors_without_secrets() {
    let xml = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Request of \
               TOPSECRET has expired</Message></Error>";
    let bucket = "<Error><Code>NoSuchBucket</Code><Message>no bucket</Message></Error>";
    let denied = "x-obs-request-id: 00000189\r\n";
    for (reply, expected) in [
        (
            obs("403 Forbidden", denied, xml.len(), xml),
            "HOST refuses the log: Request of *** has expired (AccessDenied, HTTP 403, request id \
             00000189); only the end of the log can be read, by preview() or follow()",
        ),
        (
            obs("302 Found", "location: https://else.example/x?k=TOPSECRET\r\n", 0, ""),
            "HOST redirects to https://else.example, which is not followed (HTTP 302); only the \
             end of the log can be read, by preview() or follow()",
        ),
        (
            obs("404 Not Found", "x-amz-request-id: 0A1B\r\n", bucket.len(), bucket),
            "HOST refuses the log: no bucket (NoSuchBucket, HTTP 404, request id 0A1B); only the \
             end of the log can be read, by preview() or follow()",
        ),
        (
            obs("404 Not Found", "", 0, ""),
            "the log is not in OBS yet (HOST) (HTTP 404); only the end of the log can be read, by \
             preview() or follow()",
        ),
        (
            obs("206 Partial Content", "content-range: bytes 7-8/9\r\n", 2, "xx"),
            "HOST sends another part of the log; only the end of the log can be read, by \
             preview() or follow()",
        ),
    ] {
        let (server, _, job) = scripted([]).await;
        let end = preview("end\n", 9_000_000);
        server.add([link(&server, "/log?Signature=TOPSECRET"), reply, end]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, "before").unwrap();
        let error = refused(download(&job, &path).await);
        assert_eq!(error.to_string().replace(&server.url, "HOST"), expected);
        assert!(!format!("{error:?}").contains("TOPSECRET"), "{error:?}");
        assert_eq!(error.operation(), None);
        assert_eq!(files(&directory), ["log"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(server.left(), 0);
    }
}

#[tokio::test]
async fn a_log_that_is_not_in_obs_is_read_by_preview() {
    let no_link = || {
        let body = json!({"error_code": "ModelArts.2822", "error_msg": "no log path"});
        json_answer("400 Bad Request", "", &body.to_string())
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let (server, _, job) = scripted([no_link(), preview("one\r\ntwo", 8)]).await;
    assert_eq!(download(&job, &path).await.unwrap(), (8, 2));
    assert_eq!(fs::read(&path).unwrap(), b"one\r\ntwo");
    assert_eq!(server.left(), 0);

    // A job that does not exist has no log elsewhere.
    let gone = json!({"error_code": "ModelArts.2775", "error_msg": "gone"});
    let gone = json_answer("400 Bad Request", "", &gone.to_string());
    let (server, _, job) = scripted([gone]).await;
    let error = refused(download(&job, &path).await);
    assert!(error.is_not_found());
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_server_that_stops_sending_is_a_timeout() {
    let (server, clock, job) = scripted([]).await;
    let Reply::Bytes(part) = obs("200 OK", "", 9, "one\ntw") else {
        panic!("the reply consists of bytes");
    };
    server.add([link(&server, "/log?Signature=s"), Reply::HangAnHour(part, clock)]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let error = refused(download(&job, &path).await);
    assert_eq!(error.to_string().replace(&server.url, "HOST"), "HOST sent nothing for 3600s");
    assert!(error.is_timeout() && error.is_retryable());
    assert_eq!(files(&directory), [""; 0]);
}

#[tokio::test]
async fn a_download_that_is_dropped_leaves_no_file() {
    let (_server, _, job) = scripted([]).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut running = Box::pin(download(&job, &path));
    assert!(futures::poll!(running.as_mut()).is_pending());
    assert_eq!(files(&directory).len(), 1);
    drop(running);
    assert_eq!(files(&directory), [""; 0]);
}

#[tokio::test]
async fn the_path_is_checked_before_any_request() {
    let (server, _, job) = scripted([]).await;
    let before = server.requests().len();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().display();
    for (path, expected) in [
        (
            directory.path().join("no/log"),
            format!(
                "the log cannot be written to {root}/no/log: the directory {root}/no must exist; \
                 create it first"
            ),
        ),
        (
            directory.path().to_owned(),
            format!(
                "the log cannot be written to {root}: it must be the path of a file, and is that \
                 of a directory"
            ),
        ),
    ] {
        let error = refused(download(&job, &path).await);
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::File);
    }
    assert_eq!(server.requests().len(), before);
}

/// Connector that records the requests and stands for a network: the service responds, and OBS
/// cannot be reached.
#[derive(Clone, Debug)]
struct Network {
    /// The length of the log, whose preview has four bytes.
    full_size: u64,
    to_obs: Arc<Mutex<Vec<String>>>,
}

impl HttpConnector for Network {
    fn send(
        &self,
        request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let url = request.url();
        if url.host_str() == Some("b.obs.example") {
            self.to_obs.lock().unwrap().push(url.to_string());
            let error = format!("no route for {url}");
            return Box::pin(future::err(ConnectorError::NotSent(error.into())));
        }
        let body = match url.path().rsplit('/').next() {
            Some("url") => {
                let query = "Expires=1718000600&Signature=TOPSECRET";
                json!({"obs_url": format!("http://b.obs.example/log?{query}")})
            }
            Some("preview") => {
                json!({"content": "end\n", "current_size": 4, "full_size": self.full_size})
            }
            _ => json!({"metadata": {"id": "job-1", "name": "n"}, "status": {"phase": "Running"}}),
        };
        let response = http::Response::new(body.to_string()).into();
        Box::pin(future::ok(response))
    }
}

#[tokio::test]
async fn a_link_is_never_used_without_encryption() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    for full_size in [4, 9] {
        let network = Network { full_size, to_obs: Arc::default() };
        let client = Client::builder()
            .endpoint("https://modelarts.example")
            .project_id("p")
            .credentials(Credentials::keys("AK", "SK"))
            .clock(TestClock::new())
            .cloud(Cloud::Otc)
            .connector(network.clone())
            .retry(RetryPolicy::none());
        let client = client.build().unwrap();
        let job = client.training_jobs().get("job-1").await.unwrap();
        let result = download(&job, &path).await;
        assert_eq!(
            *network.to_obs.lock().unwrap(),
            ["https://b.obs.example/log?Expires=1718000600&Signature=TOPSECRET"]
        );
        match full_size {
            4 => assert_eq!(result.unwrap(), (4, 1)),
            _ => assert_eq!(
                refused(result).to_string(),
                "cannot connect to https://b.obs.example: no route for \
                 https://b.obs.example/log?Expires=***&Signature=***; only the end of the log \
                 can be read, by preview() or follow()"
            ),
        }
    }
}

#[tokio::test]
async fn values_are_streamed_and_followed() {
    let site = Site::start().await;
    let before = "print('2026-01-15T08:30:07Z loss=0.5')\nprint('loss=nothing')";
    let after = "print('0% loss=0.25\\r100% loss=0.125')\nprint('val_loss=7')";
    let job = blocked_job(&site, "trained", before, after).await;
    let values = || job.logs("worker-0").values(r"(?:^|\s)loss=(?<value>\S+)");
    let followed: Vec<_> = values().unwrap().follow().try_collect().await.unwrap();
    let lines: Vec<_> = followed
        .iter()
        .map(|found| (found.value, found.line.as_str(), found.time.is_some()))
        .collect();
    assert_eq!(
        lines,
        [
            (0.5, "2026-01-15T08:30:07Z loss=0.5", true),
            (0.25, "0% loss=0.25", false),
            (0.125, "100% loss=0.125", false),
        ]
    );
    let now: Vec<_> = values().unwrap().stream().try_collect().await.unwrap();
    assert_eq!(now, followed);
    assert_eq!(values().unwrap().collect().await.unwrap(), followed);
}

#[tokio::test]
async fn a_wrong_regular_expression_is_an_error_at_once() {
    let (server, _, job) = scripted([]).await;
    let before = server.requests().len();
    let error = refused(job.logs("worker-0").values("loss=(.*"));
    assert_eq!(
        message(&error),
        "the regular expression \"loss=(.*\" must have the syntax of ECMAScript: Unbalanced \
         parenthesis"
    );
    let error = refused(job.logs("worker-0").values("loss=(?P<value>.*)"));
    let text = message(&error);
    let hint = "; a named group is written (?<value>…), without P";
    assert!(text.ends_with(hint), "{text}");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(server.requests().len(), before);
}

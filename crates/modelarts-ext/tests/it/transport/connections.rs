//! Tests of connections: reuse, refusal, replacement.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use modelarts_ext::{ErrorKind, RetryPolicy, types::Phase};
use tokio::net::{TcpListener, TcpStream};

use super::fixtures::{JOB, keep_alive};
use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    server::{Reply, Server, read_request},
};

#[tokio::test]
async fn connections_are_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            read_request(&mut stream).await.unwrap();
            keep_alive(&mut stream, "200 OK", JOB).await;
        }
    };
    let scripted = Server::start([]).await;
    let client = scripted.client(&TestClock::new()).endpoint(url);
    let client = client.build().unwrap();
    let calls = async {
        let first = client.training_jobs().get("j").await.unwrap();
        // Clones and clients with another time limit share connections.
        let other = client.with_timeout(Duration::from_secs(7200));
        other.training_jobs().get("j").await.unwrap();
        other.clone().training_jobs().get("j").await.unwrap();
        first
    };
    // The server accepts no second connection.
    let ((), first) = tokio::join!(server, calls);
    assert_eq!(first.phase(), Phase::Running);
}

#[tokio::test]
async fn another_time_limit_is_kept() {
    let clock = TestClock::new();
    let server = Server::start([Reply::HangAnHour(Vec::new(), clock.clone())]).await;
    let client = server.client(&clock).timeout(Duration::from_secs(7200));
    let client = client.build().unwrap();
    let hurried = client.with_timeout(Duration::from_secs(600));
    let error = refused(hurried.training_jobs().get("j").await);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(message(&error), "ShowTrainingJobDetails: no answer within 600s");
    assert_eq!(error.attempts(), 1);
}

/// When the connection queue is full, Linux drops connections; other systems refuse them.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_not_made_in_time_has_an_error_of_its_own() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let moment = Duration::from_millis(100);
    let mut queued = Vec::new();
    while let Ok(stream) = tokio::time::timeout(moment, TcpStream::connect(address)).await {
        queued.push(stream.unwrap());
    }
    let scripted = Server::start([]).await;
    let client = scripted.client(&TestClock::new());
    let client = client
        .endpoint(format!("http://{address}"))
        .connect_timeout(moment)
        .retry(RetryPolicy::none())
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("j").await);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(
        message(&error),
        format!("ShowTrainingJobDetails: no connection to http://{address} in time")
    );
    assert!(error.is_retryable());
}

/// Starts a service behind a proxy that returns responses to the wrong requests. It sends these
/// responses in order, on connections that stay open, and records the connection and the path of
/// each request.
async fn mixing(answers: &[&str]) -> (String, Arc<Mutex<Vec<(usize, String)>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let answers = answers.iter().map(|answer| (*answer).to_owned());
    let answers = Arc::new(Mutex::new(answers.collect::<VecDeque<_>>()));
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (log, answers) = (Arc::clone(&log), Arc::clone(&answers));
            tokio::spawn(async move {
                while let Some(request) = read_request(&mut stream).await {
                    let path = request.split(' ').nth(1).unwrap().rsplit('/').next().unwrap();
                    log.lock().unwrap().push((number, path.to_owned()));
                    let answer = answers.lock().unwrap().pop_front().unwrap();
                    keep_alive(&mut stream, "200 OK", &answer).await;
                }
            });
        }
    });
    (url, seen)
}

#[tokio::test]
async fn the_answer_to_another_request_is_an_error_and_the_connection_is_replaced() {
    const A: &str = r#"{"metadata":{"id":"a","name":"one"},"status":{"phase":"Running"}}"#;
    const B: &str = r#"{"metadata":{"id":"b","name":"two"},"status":{"phase":"Running"}}"#;
    let same = |seen: &Mutex<Vec<(usize, String)>>, expected: &[(usize, &str)]| {
        let seen = seen.lock().unwrap();
        let seen: Vec<_> = seen.iter().map(|(number, path)| (*number, &**path)).collect();
        assert_eq!(seen, expected);
    };
    let about = |operation: &str| {
        format!(
            "{operation}: the answer is to another request: its metadata.id is \"a\", and must be \
             \"b\" (HTTP 200); something on the way mixes up answers, so the connections were \
             replaced; try again"
        )
    };
    let scripted = Server::start([]).await;
    let clock = TestClock::new();

    let (url, seen) = mixing(&[A, A, B, A, B, A, B]).await;
    let client = scripted.client(&clock).endpoint(url).build().unwrap();
    let jobs = client.training_jobs();
    assert_eq!(jobs.get("a").await.unwrap().name(), "one");
    let error = refused(jobs.get("b").await);
    assert_eq!(error.to_string(), about("ShowTrainingJobDetails"));
    assert_eq!(error.kind(), ErrorKind::Unexpected);
    assert!(error.is_retryable());
    let mut job = jobs.get("b").await.unwrap();
    same(&seen, &[(0, "a"), (0, "b"), (1, "b")]);
    assert_eq!(job.name(), "two");
    assert_eq!(refused(job.refresh().await).to_string(), about("ShowTrainingJobDetails"));
    assert_eq!(job.name(), "two");
    job.refresh().await.unwrap();
    assert_eq!(refused(job.copy_as("three").await).to_string(), about("ShowTrainingJobDetails"));
    let _ = job.copy_as("three").await.unwrap();
    same(&seen, &[(0, "a"), (0, "b"), (1, "b"), (1, "b"), (2, "b"), (2, "b"), (3, "b")]);

    let (url, seen) = mixing(&[B, A, B]).await;
    let client = scripted.client(&clock).endpoint(url).build().unwrap();
    let job = client.training_jobs().get("B").await.unwrap();
    let error = refused(job.terminate().await);
    assert_eq!(error.to_string(), about("StopTrainingJob").replace("be \"b\"", "be \"B\""));
    assert!(error.is_uncertain());
    job.terminate().await.unwrap();
    same(&seen, &[(0, "B"), (0, "actions"), (1, "actions")]);

    // The client searches for the job after the create request.
    let page = format!(r#"{{"total":1,"items":[{B}]}}"#);
    let environments = r#"{"environments":{"MODELARTS_SUBMISSION_TOKEN":"t"}}"#;
    let details = B.replacen('{', &format!(r#"{{"algorithm":{environments},"#), 1);
    let (url, seen) = mixing(&[A, A, &page, &details]).await;
    let client = scripted.client(&clock).endpoint(url).build().unwrap();
    client.training_jobs().get("a").await.unwrap();
    let create = client.training_jobs().create("two").command("run").token("t").unchecked();
    assert_eq!(create.submit().await.unwrap().id(), "b");
    same(&seen, &[(0, "a"), (0, "training-jobs"), (1, "training-job-searches"), (1, "b")]);

    // The wait continues after the response to another request.
    let done = B.replace("Running", "Completed");
    let (url, seen) = mixing(&[B, A, &done]).await;
    let client = scripted.client(&clock).endpoint(url).build().unwrap();
    let waited = client.training_jobs().get("b").await.unwrap().wait().await.unwrap();
    assert_eq!((waited.is_completed(), waited.errors()), (true, 1));
    same(&seen, &[(0, "b"), (0, "b"), (1, "b")]);
}

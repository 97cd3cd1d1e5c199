//! How calls go over the wire: what they carry, how long they may take, what they share.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::TryStreamExt;
use modelarts_ext::{
    Client, Credentials, Error, ErrorKind, ProvideCredentials, RetryPolicy, Tools,
    api::{self, BoxFuture, ClientInfo, Operation},
    connector::{ConnectorError, HttpConnector},
    types::{Language, Phase, TrainingJob},
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    server::{PROJECT, Reply, Server, json_answer, read_request},
};

const JOB: &str = r#"{"kind":"job","metadata":{"id":"j","name":"n"},"status":{"phase":"Running"}}"#;

fn job() -> Reply {
    json_answer("200 OK", "", JOB)
}

fn unavailable() -> Reply {
    json_answer("503 Service Unavailable", "", "{}")
}

/// The value of a header, in small letters.
fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = request.split_once("\r\n\r\n").unwrap();
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    })
}

/// Sends an answer that leaves the connection open.
async fn keep_alive(stream: &mut TcpStream, status: &str, body: &str) {
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn requests_name_the_program_and_the_language() {
    let server = Server::start([job(), job()]).await;
    let clock = TestClock::new();
    let plain = server.client(&clock).build().unwrap();
    plain.training_jobs().get("j").await.unwrap();
    let named = server.client(&clock).user_agent("trainer/7");
    let named = named.language(Language::ZhCn).build().unwrap();
    named.training_jobs().get("j").await.unwrap();

    let requests = server.requests();
    let own = concat!("modelarts-rs/", env!("CARGO_PKG_VERSION"));
    assert_eq!(header(&requests[0], "user-agent"), Some(own));
    assert_eq!(header(&requests[0], "x-language"), None);
    let both = format!("trainer/7 {own}");
    assert_eq!(header(&requests[1], "user-agent"), Some(&*both));
    assert_eq!(header(&requests[1], "x-language"), Some("zh-cn"));
}

#[tokio::test]
async fn what_is_known_about_a_call_is_kept_with_what_it_brought() {
    let list = format!(r#"{{"total":1,"items":[{JOB}]}}"#);
    let id = "x-request-id: r2\r\n";
    let server = Server::start([
        unavailable(),
        json_answer("200 OK", id, JOB),
        json_answer("200 OK", "", JOB),
        json_answer("200 OK", id, &list),
    ])
    .await;
    let clock = TestClock::new();
    let client = server.client(&clock).build().unwrap();
    let mut job = client.training_jobs().get("j").await.unwrap();
    assert_eq!((job.request_id(), job.attempts()), (Some("r2"), 2));
    assert_eq!([job.elapsed()], *clock.slept());
    assert_eq!(job.raw(), JOB.as_bytes());
    job.refresh().await.unwrap();
    assert_eq!((job.request_id(), job.attempts()), (None, 1));

    let mut pages = client.training_jobs().list().pages();
    let page = pages.try_next().await.unwrap().unwrap();
    assert_eq!((page.request_id(), page.attempts()), (Some("r2"), 1));
    assert_eq!(page.raw(), list.as_bytes());
    // The page is not kept in memory for one of its rows.
    assert_eq!(page.items[0].request_id(), Some("r2"));
    assert_eq!(page.items[0].raw(), b"");
}

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
        // Clones and those with another time limit have them in common.
        let other = client.with_timeout(Duration::from_secs(7200));
        other.training_jobs().get("j").await.unwrap();
        other.clone().training_jobs().get("j").await.unwrap();
        first
    };
    // A second connection would never be answered.
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
    assert_eq!(
        message(&error),
        "ShowTrainingJobDetails: no answer within 600s"
    );
    assert_eq!(error.attempts(), 1);
}

/// Linux drops what comes to a full queue; other systems refuse it.
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

#[tokio::test]
async fn retries_are_paid_from_a_budget() {
    let server = Server::start([unavailable(), job()]).await;
    let client = server.client(&TestClock::new());
    let client = client.retry(RetryPolicy::default().budget(0, 0.0));
    let error = refused(client.build().unwrap().training_jobs().get("j").await);
    assert_eq!((error.status(), error.attempts()), (Some(503), 1));
    assert_eq!(server.left(), 1);
}

#[tokio::test]
async fn the_budget_is_that_of_the_client_and_of_all_made_from_it() {
    let server = Server::start(std::iter::repeat_n(unavailable(), 99)).await;
    // Ten seconds are kept, and none pass.
    let policy = RetryPolicy::default()
        .max_attempts(7)
        .pauses(Duration::ZERO, Duration::ZERO)
        .budget(1, 0.0);
    let client = server.client(&TestClock::new()).retry(policy);
    let client = client.build().unwrap();
    let other = client.with_timeout(Duration::from_secs(7200));
    let mut attempts = Vec::new();
    for client in [&client, &other, &client, &other] {
        attempts.push(refused(client.training_jobs().get("j").await).attempts());
    }
    assert_eq!(attempts, [7, 5, 1, 1]);
}

#[tokio::test]
async fn a_clock_that_is_off_is_corrected_in_all_calls_that_are_under_way() {
    const OFF: &str = r#"{"error_code":"APIGW.0301","error_msg":"Incorrect IAM authentication information: calc aksk signature fail:signature expired, signature time:20260115T083045Z,server time:20260115T103045Z"}"#;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = async {
        let (mut one, _) = listener.accept().await.unwrap();
        let (mut two, _) = listener.accept().await.unwrap();
        let mut dates = Vec::new();
        for (status, body) in [("401 Unauthorized", OFF), ("200 OK", JOB)] {
            // Neither is answered before both are there.
            let requests = [
                read_request(&mut one).await.unwrap(),
                read_request(&mut two).await.unwrap(),
            ];
            dates.extend(
                requests
                    .iter()
                    .map(|request| header(request, "x-sdk-date").unwrap().to_owned()),
            );
            keep_alive(&mut one, status, body).await;
            keep_alive(&mut two, status, body).await;
        }
        dates
    };
    let scripted = Server::start([]).await;
    let client = scripted.client(&TestClock::new()).endpoint(url);
    let client = client.build().unwrap();
    let jobs = client.training_jobs();
    let calls = async { futures::future::try_join(jobs.get("j"), jobs.get("j")).await };
    let both = async { futures::future::try_join(async { Ok(server.await) }, calls).await };
    let (dates, (one, two)) = both.await.unwrap();
    for job in [one, two] {
        assert_eq!(job.phase(), Phase::Running);
    }
    let (wrong, right) = ("20260115T083045Z", "20260115T103045Z");
    assert_eq!(dates, [wrong, wrong, right, right]);
}

#[tokio::test]
async fn a_gateway_without_such_an_api_does_not_say_that_a_job_is_missing() {
    for prefix in ["APIGW", "APIG", "APIC"] {
        let body = format!(r#"{{"error_code":"{prefix}.0101","error_msg":"no such API"}}"#);
        let server = Server::start([json_answer("404 Not Found", "", &body)]).await;
        let client = server.client(&TestClock::new()).build().unwrap();
        let error = refused(client.training_jobs().get("j").await);
        assert!(!error.is_not_found(), "{prefix}");
        let body = format!(r#"{{"error_code":"{prefix}.0308","error_msg":"slower"}}"#);
        let server = Server::start([json_answer("403 Forbidden", "", &body)]).await;
        let client = server.client(&TestClock::new()).build().unwrap();
        let error = refused(client.training_jobs().get("j").await);
        assert!(error.is_throttled(), "{prefix}");
    }
}

/// Sends a request of its own, with headers that only the client sets.
async fn own_request(client: &Client) {
    let operation = Operation::named("show_training_job_details").unwrap();
    let call = async |api: &api::Client| {
        let mut request = api
            .client()
            .get(format!("{}/v2/p/training-jobs/j", api.baseurl()));
        for name in [
            "authorization",
            "x-auth-token",
            "x-project-id",
            "x-sdk-date",
            "x-security-token",
        ] {
            request = request.header(name, "mine");
        }
        let request = request.header("x-other", "mine").build()?;
        api::decode::response::<TrainingJob, _>(api::send(api, request, operation).await?)
    };
    client.call(call).await.unwrap();
}

#[tokio::test]
async fn headers_of_the_client_are_there_once_and_only_those_that_it_needs() {
    let clock = TestClock::new();
    let server = Server::start([job(), job()]).await;
    let keys = server.client(&clock).build().unwrap();
    own_request(&keys).await;
    let token = server.client(&clock).credentials(Credentials::token("t"));
    own_request(&token.build().unwrap()).await;
    let requests = server.requests();
    let times = |request: &str, name: &str| {
        let (head, _) = request.split_once("\r\n\r\n").unwrap();
        let names = head.lines().filter_map(|line| line.split_once(':'));
        names
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .count()
    };
    for (name, signed, with_token) in [
        ("authorization", 1, 0),
        ("x-auth-token", 0, 1),
        ("x-project-id", 1, 1),
        ("x-sdk-date", 1, 0),
        ("x-security-token", 0, 0),
        ("x-other", 1, 1),
    ] {
        assert_eq!(times(&requests[0], name), signed, "{name}");
        assert_eq!(times(&requests[1], name), with_token, "{name}");
        for request in &requests {
            let value = header(request, name);
            assert_eq!(value == Some("mine"), name == "x-other", "{name}");
        }
    }
}

/// Has a token at hand, until that is refused.
#[derive(Debug, Default)]
struct AtHand {
    refused: AtomicBool,
}

impl ProvideCredentials for AtHand {
    fn credentials<'a>(&'a self, _: &'a Tools) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async { Ok(Credentials::token("asked")) })
    }
    fn at_hand(&self) -> Option<Credentials> {
        let good = !self.refused.load(Ordering::Relaxed);
        good.then(|| Credentials::token("at hand"))
    }
    fn renew(&self, _: &Credentials) -> bool {
        self.refused.store(true, Ordering::Relaxed);
        true
    }
}

#[tokio::test]
async fn what_is_at_hand_is_used_until_it_is_refused() {
    let expired = r#"{"error_code":"ModelArts.0203","error_msg":"the token has expired"}"#;
    let server = Server::start([job(), json_answer("401 Unauthorized", "", expired), job()]).await;
    let client = server
        .client(&TestClock::new())
        .credentials(AtHand::default())
        .build()
        .unwrap();
    for _ in 0..2 {
        client.training_jobs().get("j").await.unwrap();
    }
    let requests = server.requests();
    let tokens: Vec<_> = requests
        .iter()
        .map(|request| header(request, "x-auth-token"))
        .collect();
    assert_eq!(tokens, [Some("at hand"), Some("at hand"), Some("asked")]);
}

/// A service behind a proxy that mixes up answers: it gives these, in order, on connections
/// that stay open. Of each request it keeps the number of its connection, and its path.
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
                    let path = request
                        .split(' ')
                        .nth(1)
                        .unwrap()
                        .rsplit('/')
                        .next()
                        .unwrap();
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
        let seen: Vec<_> = seen
            .iter()
            .map(|(number, path)| (*number, &**path))
            .collect();
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
    assert_eq!(
        refused(job.refresh().await).to_string(),
        about("ShowTrainingJobDetails")
    );
    assert_eq!(job.name(), "two");
    job.refresh().await.unwrap();
    assert_eq!(
        refused(job.copy_as("three").await).to_string(),
        about("ShowTrainingJobDetails")
    );
    let _ = job.copy_as("three").await.unwrap();
    same(
        &seen,
        &[
            (0, "a"),
            (0, "b"),
            (1, "b"),
            (1, "b"),
            (2, "b"),
            (2, "b"),
            (3, "b"),
        ],
    );

    let (url, seen) = mixing(&[B, A, B]).await;
    let client = scripted.client(&clock).endpoint(url).build().unwrap();
    let job = client.training_jobs().get("B").await.unwrap();
    let error = refused(job.terminate().await);
    assert_eq!(
        error.to_string(),
        about("StopTrainingJob").replace("be \"b\"", "be \"B\"")
    );
    assert!(error.is_uncertain());
    job.terminate().await.unwrap();
    same(&seen, &[(0, "B"), (0, "actions"), (1, "actions")]);

    // A create is looked for.
    let page = format!(r#"{{"total":1,"items":[{B}]}}"#);
    let (url, seen) = mixing(&[A, A, &page]).await;
    let client = scripted.client(&clock).endpoint(url).build().unwrap();
    client.training_jobs().get("a").await.unwrap();
    let create = client.training_jobs().create("two").unchecked();
    assert_eq!(create.submit().await.unwrap().id(), "b");
    same(
        &seen,
        &[(0, "a"), (0, "training-jobs"), (1, "training-job-searches")],
    );

    // A wait goes on.
    let done = B.replace("Running", "Completed");
    let (url, seen) = mixing(&[B, A, &done]).await;
    let client = scripted.client(&clock).endpoint(url).build().unwrap();
    let waited = client
        .training_jobs()
        .get("b")
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    assert_eq!((waited.is_completed(), waited.errors()), (true, 1));
    same(&seen, &[(0, "b"), (0, "b"), (1, "b")]);
}

/// Answers from memory, in order.
#[derive(Debug, Default)]
struct Memory {
    requests: Mutex<Vec<String>>,
    replies: Mutex<VecDeque<Result<http::Response<String>, ConnectorError>>>,
}

#[derive(Clone, Debug, Default)]
struct InMemory(Arc<Memory>);

impl HttpConnector for InMemory {
    fn send(
        &self,
        request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let signed = request.headers().contains_key("authorization");
        let line = format!("{} {} {signed}", request.method(), request.url().path());
        self.0.requests.lock().unwrap().push(line);
        let reply = self.0.replies.lock().unwrap().pop_front().unwrap();
        Box::pin(async { Ok(reply?.into()) })
    }
}

#[tokio::test]
async fn requests_go_through_the_connector() {
    let clock = TestClock::new();
    let connector = InMemory::default();
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::keys("AK", "SK"))
        .clock(clock)
        .connector(connector.clone())
        .build()
        .unwrap();
    let script = |replies: Vec<Result<http::Response<String>, ConnectorError>>| {
        connector.0.replies.lock().unwrap().extend(replies);
    };
    let answer = |body: &str| Ok(http::Response::new(body.to_owned()));
    let get = format!("GET /v2/{PROJECT}/training-jobs/j true");
    script(vec![
        Err(ConnectorError::Lost("cut".into())),
        Err(ConnectorError::NotSent("no route".into())),
        answer(JOB),
    ]);
    let job = client.training_jobs().get("j").await.unwrap();
    assert_eq!((job.name(), job.attempts()), ("n", 3));
    let requests = std::mem::take(&mut *connector.0.requests.lock().unwrap());
    assert_eq!(requests, [&*get; 3]);

    // Only what was certainly not sent is sent again when it makes something.
    let body: api::types::CreateTrainingJobRequest = serde_json::from_str(JOB).unwrap();
    let create = async || {
        client
            .call(|api| {
                api.create_training_job()
                    .project_id(PROJECT)
                    .body(body.clone())
                    .send()
            })
            .await
    };
    script(vec![
        Err(ConnectorError::NotSent("no route".into())),
        answer(JOB),
    ]);
    assert_eq!(create().await.unwrap().attempts(), 2);
    script(vec![Err(ConnectorError::Lost("cut".into()))]);
    let error = refused(create().await);
    assert_eq!(
        error.to_string(),
        "CreateTrainingJob: the connection to https://modelarts.test broke: cut"
    );
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, 1));
    script(vec![Err(ConnectorError::NotSent("no route".into()))]);
    let hasty = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token("t"))
        .retry(RetryPolicy::none())
        .connector(connector.clone())
        .build()
        .unwrap();
    let error = refused(hasty.training_jobs().get("j").await);
    assert_eq!(
        error.to_string(),
        "ShowTrainingJobDetails: cannot connect to https://modelarts.test: no route"
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
}

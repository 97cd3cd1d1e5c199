//! Tests of create requests whose responses are lost. Each job is created once and reported
//! correctly.

use std::time::Duration;

use modelarts_emulator::faults::Fault;
use modelarts_ext::{
    CreateJob, Credentials, Error, ErrorKind, Job, RetryPolicy,
    credentials::{CachedProvider, Password},
};
use serde_json::{Value, json};

use super::fixtures::{NOW, found, minimal_create};
use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    faults::{CREATE, LIST, status},
    server::{PROJECT, Reply, Server, TOKEN_OF_FIRST, json_answer, words_for_a_reset},
    site::Site,
};

/// Returns method and path of each request.
fn lines(server: &Server) -> Vec<String> {
    let line = |request: &String| {
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        format!("{method} {}", path.rsplit('/').next().unwrap())
    };
    server.requests().iter().map(line).collect()
}

/// Submits the job of `minimal_create` to a server that sends these replies, and no others.
async fn submit(replies: impl IntoIterator<Item = Reply>) -> (Result<Job, Error>, Server) {
    let server = Server::start(replies).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let result = minimal_create(&client).submit().await;
    assert_eq!(server.left(), 0);
    (result, server)
}

fn lost() -> Reply {
    Reply::Reset(Vec::new())
}

/// Returns a page of a search that found these jobs.
fn page(jobs: &[Value]) -> Reply {
    let page = json!({"total": jobs.len(), "count": jobs.len(), "limit": 50, "items": jobs});
    json_answer("200 OK", "", &page.to_string())
}

/// Returns the three pages of a search that found only these jobs.
fn search(jobs: &[Value]) -> [Reply; 3] {
    [(); 3].map(|()| page(jobs))
}

/// Returns the replies to a lost create, its search, another create, and the search after it.
fn twice(jobs: &[Value], answer: Reply) -> impl Iterator<Item = Reply> {
    let first = [lost()].into_iter().chain(search(jobs));
    first.chain([answer]).chain(search(jobs))
}

/// Returns a rejection with this code.
fn refusal(status: &str, code: &str) -> Reply {
    let refusal = json!({"error_code": code, "error_msg": "m"});
    json_answer(status, "", &refusal.to_string())
}

const NAME_EXISTS: &str = "ModelArts.2751";
const MAY_EXIST: &str =
    "the job may exist all the same: look for a job named \"lost\" before sending it again";
const CREATED: &str = "POST training-jobs";
const SEARCHED: &str = "POST training-job-searches";

#[tokio::test]
async fn a_lost_create_is_looked_for_in_its_workspace() {
    let site = Site::start().await;
    site.fault(1, CREATE, Fault::LostAnswer);
    let job = site.script("elsewhere", "").workspace("w").submit().await;
    assert_eq!(job.unwrap().name(), "elsewhere");
    assert_eq!(site.count(CREATE), (1, 1));
    assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);
}

#[tokio::test]
async fn a_create_that_may_have_been_executed_is_looked_for() {
    // The job is created exactly once, whether or not the first request was executed.
    for (fault, sent) in [
        (Fault::LostAnswer, 1),
        (Fault::ResetMidBody, 1),
        (Fault::Reset, 2),
        (status(500, None), 2),
        (status(503, None), 2),
        (status(504, None), 2),
        (Fault::Html { status: 502 }, 2),
    ] {
        let site = Site::start().await;
        site.fault(1, CREATE, fault);
        let job = site.script("lost", "").submit().await.unwrap();
        assert_eq!(job.name(), "lost");
        assert_eq!(site.count(CREATE), (sent, 1));
        let jobs = site.list().await.unwrap();
        assert_eq!(jobs.iter().map(|job| job.id()).collect::<Vec<_>>(), [job.id()]);
        // A job that the search does not find may not be listed yet.
        let looks = [Duration::from_secs(1), Duration::from_secs(3)];
        assert_eq!(site.clock.slept(), &looks[..if sent == 2 { 2 } else { 0 }]);
        site.emulator.wait_until_settled(job.id()).await;
    }
}

#[tokio::test]
async fn a_create_that_is_lost_again_and_again() {
    let site = Site::start().await;
    site.fault(99, CREATE, Fault::Reset);
    let error = refused(site.script("reset", "").submit().await);
    let why = words_for_a_reset().await;
    assert_eq!(
        message(&error),
        format!(
            "CreateTrainingJob: the connection to {} broke: {why}; it was sent 5 times, and no job \
             named \"reset\" was found after it",
            site.emulator.url()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(site.count(CREATE), (5, 0));
}

#[tokio::test]
async fn a_create_that_cannot_be_looked_for_is_not_sent_again() {
    let site = Site::start().await;
    site.fault(1, CREATE, Fault::LostAnswer);
    site.fault(99, LIST, status(503, None));
    let error = refused(site.script("unsettled", "").submit().await);
    let why = words_for_a_reset().await;
    assert_eq!(
        message(&error),
        format!(
            "CreateTrainingJob: the connection to {} broke: {why}; the search for the job failed, \
             too \
             (HTTP 503); the job may exist all the same: look for a job named \"unsettled\" before \
             sending it again",
            site.emulator.url()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(site.count(CREATE), (1, 1));
}

#[tokio::test]
async fn a_job_with_other_content_is_not_taken_for_a_lost_one() {
    type Change = fn(CreateJob) -> CreateJob;
    let changes: [(&str, Change); 14] = [
        ("parameter", |job| job.parameter("lr", 2)),
        ("one-parameter-more", |job| job.parameter("seed", 2)),
        ("no-parameter", |job| job.without_parameter("lr")),
        ("nodes", |job| job.nodes(2)),
        ("flavor", |job| job.flavor("modelarts.vm.cpu.2u")),
        ("boot-file", |job| job.boot_file("obs://bucket/data/b.py").code_dir("obs://bucket/data/")),
        ("variable", |job| job.env("MODE", "slow")),
        ("no-variable", |job| job.without_env("MODE")),
        ("one-variable-more", |job| job.env("LEVEL", "3")),
        ("input", |job| job.input("more", "obs://bucket/data/")),
        ("output", |job| job.without_output("train_url").output("train_url", "obs://bucket/2/")),
        ("description", |job| job.description("Second")),
        ("engine", |job| job.preset_image("TensorFlow", "tensorflow_2.1.0")),
        ("image", |job| job.without_field("algorithm").custom_image("org/image:1").command("run")),
    ];
    for (what, change) in changes {
        let site = Site::start().await;
        site.put("bucket/data/b.py", "");
        let first = site
            .script("train", "")
            .parameter("lr", 1)
            .env("MODE", "quick")
            .output("train_url", "obs://bucket/out/");
        let ran = first.clone().submit().await.unwrap();
        site.fault(1, CREATE, Fault::Reset);
        match change(first.clone()).unchecked().without_look_up().submit().await {
            Ok(_) => panic!("{what}: the first job was returned"),
            Err(error) => assert!(error.is_conflict() && !error.is_uncertain(), "{what}: {error}"),
        }
        // The job of an equal request has another token.
        site.fault(1, CREATE, Fault::Reset);
        let error = refused(first.submit().await);
        assert!(error.is_conflict() && !error.is_uncertain(), "{what}: {error}");
        site.emulator.wait_until_settled(ran.id()).await;
    }
}

#[tokio::test]
async fn an_older_job_of_the_same_name_is_not_taken_for_a_lost_one() {
    let site = Site::start().await;
    let job = site.script("again", "");
    let older = site.run(job.clone()).await;
    site.clock.advance(Duration::from_secs(300));
    site.fault(1, CREATE, Fault::Reset);
    let error = refused(job.submit().await);
    assert!(error.is_conflict() && !error.is_uncertain(), "{error}");
    assert!(error.to_string().contains(older.id()), "{error}");
    assert_eq!(site.count(CREATE), (3, 1));
    assert_eq!(site.list().await.unwrap()[0].id(), older.id());
}

#[tokio::test]
async fn a_create_is_sent_again_when_the_service_says() {
    let site = Site::start().await;
    site.fault(1, CREATE, status(503, Some(20)));
    let job = site.script("later", "").submit().await.unwrap();
    assert_eq!(job.name(), "later");
    // The pauses before the searches count toward the requested delay of 20 seconds.
    assert_eq!(site.clock.slept(), [1, 3, 16].map(Duration::from_secs));
    assert_eq!(site.count(CREATE), (2, 1));

    // The delay exceeds the maximum of the retry policy.
    site.fault(1, CREATE, status(503, Some(90)));
    let error = refused(site.script("never", "").submit().await);
    assert_eq!(
        message(&error),
        "CreateTrainingJob: Service Unavailable (Emulator.0503, HTTP 503, request id REQUEST); it \
         was sent once, and no job named \"never\" was found after it"
    );
    assert_eq!(error.retry_after(), Some(Duration::from_secs(90)));
    assert_eq!(site.count(CREATE), (3, 1));
    assert_eq!(site.clock.slept().len(), 5);
    site.emulator.wait_until_settled(job.id()).await;
}

#[tokio::test]
async fn a_create_that_is_sent_again_is_paid_like_a_retry() {
    let mut site = Site::start().await;
    let poor = RetryPolicy::default().budget(0, 0.0);
    site.client = site.client().retry(poor).build().unwrap();
    site.fault(1, CREATE, status(503, None));
    let error = refused(site.script("poor", "").submit().await);
    assert_eq!(error.status(), Some(503));
    assert_eq!(site.count(CREATE), (1, 0));
}

const PAGE: &str = "<html><title>Nothing here</title></html>";

#[tokio::test]
async fn a_lost_create_is_found_with_a_token_and_a_wrong_clock() {
    for (seconds, is_ahead) in [(300, true), (300, false), (7200, true), (7200, false)] {
        let mut site = Site::with(|builder| builder.token("t")).await;
        let clock = TestClock::new();
        let wrong = if is_ahead { &clock } else { &site.clock };
        wrong.advance(Duration::from_secs(seconds));
        let client = site.client().credentials(Credentials::token("t"));
        site.client = client.clock(clock).build().unwrap();
        site.fault(1, CREATE, Fault::LostAnswer);
        let job = site.script("skewed", "").without_look_up().submit().await;
        let job = job.unwrap_or_else(|error| panic!("{seconds} {is_ahead}: {error}"));
        assert_eq!(job.name(), "skewed");
        assert_eq!(site.count(CREATE), (1, 1));
        site.emulator.wait_until_settled(job.id()).await;
    }
}

#[tokio::test]
async fn a_create_whose_answer_is_neither_a_job_nor_a_rejection_is_searched_for() {
    let page = PAGE;
    let refusal = r#"{"error_code":"ModelArts.0001","error_msg":"m"}"#;
    for (status, headers, body) in [
        ("101 Switching Protocols", "connection: upgrade\r\nupgrade: h\r\n", ""),
        ("200 OK", "", "{}"),
        ("200 OK", "", r#"{"error_msg":"m"}"#),
        ("201 Created", "", r#"{"metadata":{"id":"i"}}"#),
        ("201 Created", "", r#"{"metadata":{"name":"lost"}}"#),
        ("204 No Content", "", ""),
        ("206 Partial Content", "", "half"),
        ("302 Found", "location: /login\r\n", ""),
        ("304 Not Modified", "", ""),
        ("400 Bad Request", "", page),
        ("404 Not Found", "", page),
        ("408 Request Timeout", "", refusal),
        ("600 Odd", "", refusal),
        ("999 Odd", "", ""),
    ] {
        let length = match status.split_at(3).0 {
            "101" | "204" | "304" => String::new(),
            _ => format!("content-length: {}\r\n", body.len()),
        };
        let answer = format!("HTTP/1.1 {status}\r\n{headers}{length}\r\n{body}");
        let server = Server::start([]).await;
        let clock = TestClock::new();
        let client = server.client(&clock).build().unwrap();
        server.add([Reply::Bytes(answer.into())]);
        server.add(found(NOW, &json!({"MODELARTS_SUBMISSION_TOKEN": TOKEN_OF_FIRST})));
        let job = minimal_create(&client)
            .submit()
            .await
            .unwrap_or_else(|error| panic!("{status}: {error}"));
        assert_eq!(job.id(), "id-of-lost", "{status}");
        assert_eq!(lines(&server), [CREATED, SEARCHED, "GET id-of-lost"], "{status}");
        assert_eq!(clock.slept(), [Duration::ZERO; 0], "{status}");
    }
}

#[tokio::test]
async fn a_create_that_was_refused_is_not_looked_for() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "409 Conflict",
        "499 Odd",
        "501 Not Implemented",
    ] {
        let reply = match status {
            "501 Not Implemented" => json_answer(status, "", ""),
            _ => refusal(status, "ModelArts.0001"),
        };
        let (result, server) = submit([reply]).await;
        let error = refused(result);
        assert_eq!(lines(&server), [CREATED], "{status}");
        assert_eq!(error.status().unwrap().to_string(), status[..3]);
        assert!(!error.is_uncertain(), "{status}");
    }
}

#[tokio::test]
async fn an_answer_of_status_999_is_no_error_of_the_transport() {
    let server = Server::start([json_answer("999 Odd", "x-request-id: r1\r\n", "odd")]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let error = refused(client.training_jobs().get("j").await);
    assert_eq!(
        error.to_string(),
        "ShowTrainingJobDetails: an answer that no document describes (HTTP 999, request id r1)"
    );
    assert_eq!(error.kind(), ErrorKind::Unexpected);
    assert!(error.is_uncertain());
}

#[tokio::test]
async fn a_refusal_after_a_lost_create_leaves_open_whether_the_job_exists() {
    for (status, code) in [("403 Forbidden", "ModelArts.0001"), ("400 Bad Request", NAME_EXISTS)] {
        // The job may be listed after the last search.
        let error = refused(submit(twice(&[], refusal(status, code))).await.0);
        let status = &status[..3];
        assert_eq!(
            error.to_string(),
            format!("CreateTrainingJob: m ({code}, HTTP {status}); {MAY_EXIST}")
        );
        assert!(error.is_uncertain(), "{code}");
    }
}

#[tokio::test]
async fn a_create_that_something_before_the_service_answers_was_not_executed() {
    let same = "the search for the job was answered in the same way, so the create did probably \
                not reach the service; check the endpoint";
    let failed = format!("the search for the job failed, too (HTTP 403); {MAY_EXIST}");
    for (status, advice) in
        [("401 Unauthorized", same), ("404 Not Found", same), ("403 Forbidden", &failed)]
    {
        let replies = [(); 2].map(|()| json_answer(status, "", PAGE));
        let (result, server) = submit(replies).await;
        let status = &status[..3];
        assert_eq!(
            refused(result).to_string(),
            format!("CreateTrainingJob: an HTML page, \"Nothing here\" (HTTP {status}); {advice}")
        );
        assert_eq!(lines(&server), [CREATED, SEARCHED], "{status}");
    }
}

#[tokio::test]
async fn a_create_for_which_iam_gave_no_token_was_not_executed() {
    let iam = Server::start([json_answer("202 Accepted", "", "{}")]).await;
    let server = Server::start([]).await;
    let login = Password::new(&iam.url, "alice", "a password");
    let login = login.domain("d").project_id(PROJECT);
    let client = server.client(&TestClock::new());
    let client = client.credentials(CachedProvider::new(login)).build().unwrap();
    let error = refused(minimal_create(&client).submit().await);
    assert_eq!(
        (error.kind(), error.status(), error.attempts()),
        (ErrorKind::Credentials, Some(202), 0)
    );
    assert!(!error.is_uncertain(), "{error}");
    assert!(!error.to_string().contains("may exist"), "{error}");
    assert_eq!(iam.left(), 0);
}

#[tokio::test]
async fn a_create_that_would_be_answered_in_the_same_way_is_not_sent_again() {
    for (status, text) in [
        (
            "302 Found",
            "the service redirects to an unknown place, which is not followed; check the endpoint",
        ),
        ("404 Not Found", "an HTML page, \"Nothing here\""),
    ] {
        let answer = json_answer(status, "", PAGE);
        let (result, server) = submit([answer].into_iter().chain(search(&[]))).await;
        let (error, status) = (refused(result), &status[..3]);
        assert_eq!(
            error.to_string(),
            format!(
                "CreateTrainingJob: {text} (HTTP {status}); it was sent once, and no job named \
                 \"lost\" was found after it"
            )
        );
        assert_eq!(lines(&server), [CREATED, SEARCHED, SEARCHED, SEARCHED]);
        assert!(error.is_uncertain());
    }
}

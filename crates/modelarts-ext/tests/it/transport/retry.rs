//! What the client does when the service, or the way to it, is not well.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_emulator::Fault;
use modelarts_ext::{ErrorKind, Job, Outcome, RetryPolicy, types::Phase};

use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    faults::status,
    gate::Gate,
    faults::{CREATE, DELETE, LIST, SHOW, STOP},
    server::{Reply, Server, json_answer, words_for_a_reset},
    site::Site,
};

#[tokio::test]
async fn retry_after_is_waited_for() {
    let site = Site::start().await;
    site.fault(2, LIST, status(429, Some(7)));
    assert_eq!(site.list().await.unwrap().len(), 0);
    assert_eq!(site.clock.slept(), [Duration::from_secs(7); 2]);
    assert_eq!(site.count(LIST), (3, 1));
}

#[tokio::test]
async fn a_create_that_was_throttled_is_sent_again() {
    let site = Site::start().await;
    site.fault(1, CREATE, status(429, Some(3)));
    let job = site.script("throttled", "").submit().await.unwrap();
    assert_eq!(job.name(), "throttled");
    assert_eq!(site.clock.slept(), [Duration::from_secs(3)]);
    assert_eq!(site.count(CREATE), (2, 1));
}

#[tokio::test]
async fn waiting_longer_than_the_policy_admits_is_not_begun() {
    let site = Site::start().await;
    site.fault(1, LIST, status(429, Some(90)));
    let error = refused(site.list().await);
    assert_eq!(
        message(&error),
        "ListTrainingJobs: services too many requests (ModelArts.2799, HTTP 429, request id \
         REQUEST); call less often"
    );
    assert!(error.is_throttled() && error.is_retryable());
    assert_eq!(site.clock.slept(), []);
    assert_eq!(site.count(LIST), (1, 0));
}

#[tokio::test]
async fn a_read_is_sent_again_after_a_503() {
    for code in [500, 502, 503, 504] {
        let site = Site::start().await;
        site.fault(2, LIST, status(code, None));
        assert_eq!(site.list().await.unwrap().len(), 0);
        assert_eq!(site.count(LIST), (3, 1), "{code}");
        let slept = site.clock.slept();
        // Full jitter below ceilings that double.
        assert_eq!(slept.len(), 2);
        assert!(slept[0] <= Duration::from_millis(200), "{slept:?}");
        assert!(slept[1] <= Duration::from_millis(400), "{slept:?}");
    }
}

#[tokio::test]
async fn attempts_are_bounded() {
    let site = Site::start().await;
    site.fault(9, LIST, status(503, None));
    let error = refused(site.list().await);
    assert_eq!(
        message(&error),
        "ListTrainingJobs: Service Unavailable (Emulator.0503, HTTP 503, request id REQUEST, 5 \
         attempts)"
    );
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.attempts(), 5);
    assert!(error.is_retryable());
    let slept: Duration = site.clock.slept().iter().sum();
    assert_eq!(error.elapsed(), slept);
    assert_eq!(site.count(LIST), (5, 0));
}

#[tokio::test]
async fn what_does_not_pass_is_not_sent_again() {
    for code in [400, 401, 403, 404, 409, 501] {
        let site = Site::start().await;
        site.fault(1, LIST, status(code, None));
        let error = refused(site.list().await);
        assert_eq!((error.status(), error.attempts()), (Some(code), 1));
        assert_eq!(site.count(LIST), (1, 0));
        assert_eq!(site.clock.slept(), []);
        assert_eq!(error.is_auth(), matches!(code, 401 | 403));
        assert_eq!(error.is_not_found(), code == 404);
        assert_eq!(error.is_conflict(), code == 409);
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn a_policy_of_none_sends_once() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    for fault in [status(429, Some(1)), status(503, None), Fault::Reset] {
        let before = site.count(LIST).0;
        site.fault(1, LIST, fault);
        let error = refused(client.training_jobs().list().collect(1).await);
        assert_eq!(error.attempts(), 1);
        assert_eq!(site.count(LIST).0 - before, 1);
    }
    assert_eq!(site.clock.slept(), []);
}

#[tokio::test]
async fn a_page_in_html_keeps_status_and_request_id() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    site.fault(1, LIST, Fault::Html { status: 502 });
    let error = refused(client.training_jobs().list().collect(1).await);
    assert_eq!(
        message(&error),
        "ListTrainingJobs: an HTML page, \"502 Bad Gateway\" (HTTP 502, request id REQUEST)"
    );
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.status(), Some(502));
    assert_eq!(error.code(), None);
    assert!(error.request_id().is_some());
    assert!(error.is_retryable());

    site.fault(4, LIST, Fault::Html { status: 502 });
    assert_eq!(site.list().await.unwrap().len(), 0);
    assert_eq!(site.clock.slept().len(), 4);
}

#[tokio::test]
async fn reads_survive_resets() {
    for fault in [Fault::Reset, Fault::LostAnswer, Fault::ResetMidBody] {
        let site = Site::start().await;
        site.run(site.script("read", "")).await;
        site.fault(2, LIST, fault);
        let jobs = site.list().await.unwrap();
        assert_eq!(jobs.iter().map(Job::name).collect::<Vec<_>>(), ["read"]);
        assert_eq!(site.count(LIST).0, 3);
        assert_eq!(site.clock.slept().len(), 2);
    }
}

#[tokio::test]
async fn a_reset_that_stays_is_told() {
    let site = Site::start().await;
    site.fault(9, LIST, Fault::Reset);
    let error = refused(site.list().await);
    let why = words_for_a_reset().await;
    assert_eq!(
        message(&error),
        format!(
            "ListTrainingJobs: the connection to {} broke: {why} (5 attempts)",
            site.emulator.url()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!((error.status(), error.request_id()), (None, None));
    assert_eq!(error.attempts(), 5);
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_stop_is_sent_again() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = gate.script("", "");
    let job = site.script("stop", &script).submit().await.unwrap();
    let waiting = gate.reached().await;
    site.fault(1, STOP, Fault::Reset);
    let stopping = job.terminate().await.unwrap();
    assert_eq!(stopping.phase(), Phase::Terminating);
    assert_eq!(site.count(STOP), (2, 1));
    site.emulator.settled(job.id()).await;
    drop(waiting);
}

#[tokio::test]
async fn a_delete_is_sent_again() {
    let site = Site::start().await;
    let job = site.run(site.script("delete", "")).await;
    site.fault(1, DELETE, Fault::Reset);
    job.delete().await.unwrap();
    assert_eq!(site.count(DELETE), (2, 1));
}

#[tokio::test]
async fn a_stop_whose_answer_was_lost_has_worked() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let job = site.script("stop", &gate.script("", "")).submit().await;
    let job = job.unwrap();
    let waiting = gate.reached().await;
    site.fault(1, STOP, Fault::LostAnswer);
    let stopping = job.terminate().await.unwrap();
    // The second one is refused, because the first was executed.
    assert_eq!(site.count(STOP), (2, 1));
    assert_eq!(stopping.id(), job.id());
    let phase = stopping.phase();
    assert!(
        matches!(phase, Phase::Terminating | Phase::Terminated),
        "{phase:?}"
    );
    site.emulator.settled(job.id()).await;
    drop(waiting);

    // Nothing was lost here: the job had ended before.
    assert!(refused(job.terminate().await).is_conflict());
    assert_eq!(site.count(STOP), (3, 1));
}

#[tokio::test]
async fn a_job_that_goes_on_was_not_stopped() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let job = site.script("goes-on", &gate.script("", "")).submit().await;
    let job = job.unwrap();
    let waiting = gate.reached().await;
    for code in ["ModelArts.2796", "ModelArts.2878"] {
        site.fault(1, STOP, Fault::Reset);
        let refusal = Fault::Status {
            status: 409,
            retry_after: None,
            error_code: Some(code.into()),
            error_msg: None,
        };
        site.fault(1, STOP, refusal);
        assert_eq!(refused(job.terminate().await).code(), Some(code));
    }
    assert_eq!(site.count(STOP), (4, 0));
    drop(waiting);
}

#[tokio::test]
async fn a_delete_whose_answer_was_lost_has_worked() {
    let job = || json_answer("200 OK", "", r#"{"metadata":{"id":"j","name":"n"}}"#);
    let gone = r#"{"error_code":"ModelArts.2775","error_msg":"no such job"}"#;
    let gone = || json_answer("400 Bad Request", "", gone);
    let lost = || Reply::Reset(Vec::new());
    // What a load balancer says is not the service's word for it.
    let stray = json_answer("404 Not Found", "", "<html></html>");
    let replies = [job(), lost(), gone(), gone(), lost(), stray];
    let server = Server::start(replies).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    job.delete().await.unwrap();
    // Nothing was lost here: the job was gone before.
    assert!(refused(job.delete().await).is_not_found());
    assert_eq!(refused(job.delete().await).status(), Some(404));
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_clock_that_is_off_is_corrected_once() {
    let site = Site::start().await;
    let clock = TestClock::new();
    clock.advance(Duration::from_secs(7200));
    let client = site.client().clock(clock.clone()).build().unwrap();
    let answer = client
        .call(|api| {
            api.list_training_jobs()
                .project_id(client.project_id())
                .body(modelarts_ext::types::ListTrainingJobsRequest::builder())
                .send()
        })
        .await
        .unwrap();
    assert_eq!(answer.attempts(), 2);
    // From then on it is known.
    client.training_jobs().list().collect(1).await.unwrap();
    assert_eq!(site.count(LIST), (2, 2));
    assert_eq!(clock.slept(), []);
}

#[tokio::test]
async fn an_unknown_phase_is_kept_and_the_wait_goes_on() {
    let site = Site::start().await;
    let job = site.run(site.script("phase", "")).await;
    let phase = "Hibernating".to_owned();
    site.fault(1, SHOW, Fault::UnknownPhase { phase });
    let seen: Vec<_> = job.wait().observe().try_collect().await.unwrap();
    let seen: Vec<_> = seen
        .iter()
        .map(|seen| (seen.job.phase(), seen.outcome.clone()))
        .collect();
    assert_eq!(
        seen,
        [
            (Phase::Other("Hibernating".into()), None),
            (Phase::Completed, Some(Outcome::Completed)),
        ]
    );
}

#[tokio::test]
async fn bad_answers_do_not_end_a_wait() {
    let site = Site::start().await;
    let job = site.run(site.script("patient", "")).await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = client.training_jobs().get(job.id()).await.unwrap();
    site.fault(2, SHOW, status(503, None));
    site.fault(1, SHOW, Fault::Reset);
    site.fault(1, SHOW, Fault::Html { status: 502 });
    let end = job.wait().await.unwrap();
    assert_eq!(*end.outcome(), Outcome::Completed);
    assert_eq!(end.errors(), 4);

    site.fault(1, SHOW, status(403, None));
    assert!(refused(job.wait().await).is_auth());
}

#[tokio::test]
async fn a_wait_does_not_bear_errors_for_ever() {
    let site = Site::start().await;
    let job = site.run(site.script("hopeless", "")).await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = client.training_jobs().get(job.id()).await.unwrap();
    site.fault(1000, SHOW, status(503, None));
    let error = refused(job.wait().await);
    assert_eq!(error.status(), Some(503));
    let slept: Duration = site.clock.slept().iter().sum();
    let limit = Duration::from_secs(15 * 60);
    assert!(
        slept > limit && slept < limit + Duration::from_secs(40),
        "{slept:?}"
    );
}

#[tokio::test]
async fn followers_go_on_after_bad_answers() {
    let site = Site::start().await;
    let job = site.run(site.script("follow", "print('x')")).await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = client.training_jobs().get(job.id()).await.unwrap();
    let all: Vec<_> = job.events().stream().try_collect().await.unwrap();
    site.fault(3, "ListTrainingJobEvents", status(503, None));
    let events: Vec<_> = job.events().follow().try_collect().await.unwrap();
    assert_eq!(events, all);
    site.fault(2, "ShowTrainingJobLogsPreview", Fault::Reset);
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    assert_eq!(items, [modelarts_ext::LogItem::Line("x".into())]);
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
    let rows: Vec<_> = pages
        .iter()
        .map(|page| (page.items.len(), page.total, page.dropped))
        .collect();
    assert_eq!(rows, [(2, Some(3), 0), (1, Some(3), 0)]);
    assert_eq!(site.emulator.faults().list(), []);
}

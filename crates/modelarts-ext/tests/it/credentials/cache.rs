//! Tests of cached credentials, which expire and are renewed.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures::future::{join, join_all};
use modelarts_ext::{
    Client, Outcome,
    clock::Clock,
    credentials::{FetchCredentials, ProvideCredentials},
};
use serde_json::json;

use super::{
    fixtures::{Day, ProviderBench, got, oidc, password, safe_message, temporary, token},
    manual_clock::{ManualClock, hours, minutes, start},
};
use crate::support::{
    environment::TestEnvironment,
    fake_server::{FakeReply, FakeRequest, FakeServer, reply},
    server::PROJECT,
};

#[tokio::test]
async fn a_token_is_renewed_in_its_last_half_hour() {
    let day = Day::new().await;
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    day.bench.clock.advance(hours(23) + minutes(29));
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert_eq!(day.asked(), 1);
    day.bench.clock.advance(minutes(1));
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    assert_eq!(day.asked(), 2);
}

#[tokio::test]
async fn the_old_token_is_used_while_iam_fails() {
    let day = Day::new().await;
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    day.bench.clock.advance(hours(23) + minutes(40));
    day.set_down(503);
    for _ in 0..10 {
        assert_eq!(day.token().await, "TK-s3cr3t-1");
    }
    // The client makes one attempt, and the next attempt a minute later.
    assert_eq!(day.asked(), 2);
    day.bench.clock.advance(minutes(1));
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert_eq!(day.asked(), 3);
    // The token is used until it expires.
    day.bench.clock.advance(minutes(19));
    let error = day.bench.fails().await;
    assert_eq!(
        safe_message(&error),
        format!("IAM at {} gives the user \"alice\" no token: down (HTTP 503)", day.iam.url)
    );
    assert!(error.is_retryable());
    day.set_down(None);
    assert_eq!(day.token().await, "TK-s3cr3t-2");
}

#[tokio::test]
async fn a_hundred_tasks_ask_once() {
    let iam = FakeServer::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = ProviderBench::new(password(&iam.url).into_provider());
    let tasks = join_all((0..100).map(|_| bench.get()));
    let (results, ()) = join(tasks, async {
        iam.arrived(1).await;
        iam.open();
    })
    .await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 100);
    assert_eq!(iam.asked().len(), 1);

    // Concurrent calls share a failed renewal, and each returns the error.
    let iam = FakeServer::closed(|_| reply(503, "down")).await;
    let bench = ProviderBench::new(password(&iam.url).into_provider());
    let tasks = join_all((0..100).map(|_| bench.fails()));
    let (errors, ()) = join(tasks, async {
        iam.arrived(1).await;
        iam.open();
    })
    .await;
    assert!(errors.iter().all(|error| error.status() == Some(503)));
    assert_eq!(iam.asked().len(), 1);
}

#[tokio::test]
async fn a_hundred_threads_ask_once() {
    let iam = FakeServer::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Arc::new(ProviderBench::new(password(&iam.url).into_provider()));
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move { bench.get().await.is_ok() })
        })
        .collect();
    iam.arrived(1).await;
    iam.open();
    assert!(join_all(tasks).await.into_iter().all(Result::unwrap));
    assert_eq!(iam.asked().len(), 1);
}

#[tokio::test]
async fn the_first_of_several_calls_may_be_dropped() {
    let iam = FakeServer::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Arc::new(ProviderBench::new(password(&iam.url).into_provider()));
    let spawn = || {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.get().await.is_ok() })
    };
    let first = spawn();
    iam.arrived(1).await;
    let second = spawn();
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    iam.open();
    assert!(second.await.unwrap());
    assert_eq!(iam.asked().len(), 1);

    // When all calls are dropped, the next call sends a new request.
    let iam = FakeServer::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Arc::new(ProviderBench::new(password(&iam.url).into_provider()));
    let only = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.get().await.is_ok() })
    };
    iam.arrived(1).await;
    only.abort();
    assert!(only.await.unwrap_err().is_cancelled());
    iam.open();
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    assert_eq!(iam.asked().len(), 2);
}

#[tokio::test]
async fn while_one_renews_the_others_go_on() {
    let clock = ManualClock::still();
    let count = AtomicUsize::new(0);
    let time = clock.clone();
    let iam = FakeServer::closed(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        token(&format!("TK-s3cr3t-{number}"), time.now())
    })
    .await;
    let mut bench = ProviderBench::new(password(&iam.url).into_provider());
    bench.tools = modelarts_ext::credentials::ProviderContext::new(clock.clone()).unwrap();
    let (first, ()) = join(bench.get(), async {
        iam.arrived(1).await;
        iam.pass(1);
    })
    .await;
    first.unwrap();
    clock.advance(hours(23) + minutes(59) + Duration::from_secs(30));
    let bench = Arc::new(bench);
    let into_provider = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { got(&bench).await })
    };
    iam.arrived(2).await;
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    // The token is still used at the time of the next attempt.
    clock.advance(Duration::from_secs(8));
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    iam.pass(1);
    assert_eq!(into_provider.await.unwrap(), "TK-s3cr3t-2");
    assert_eq!(got(&bench).await, "TK-s3cr3t-2");
    assert_eq!(iam.asked().len(), 2);
}

#[tokio::test]
async fn a_refused_token_is_given_no_more() {
    let day = Day::new().await;
    let first = day.bench.get().await.unwrap();
    assert!(day.bench.provider.renew(&first));
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    // A late call reports the rejection of the first token as well.
    assert!(day.bench.provider.renew(&first));
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    assert_eq!(day.asked(), 2);
    // The rejected token is not used again, even if IAM returns an error.
    let second = day.bench.get().await.unwrap();
    day.set_down(503);
    assert!(day.bench.provider.renew(&second));
    assert_eq!(day.bench.fails().await.status(), Some(503));
}

#[tokio::test]
async fn a_wrong_password_is_not_tried_again_and_again() {
    let day = Day::new().await;
    day.set_down(401);
    let mut texts = Vec::new();
    for _ in 0..10 {
        let error = day.bench.fails().await;
        assert!(error.is_auth() && !error.is_retryable());
        texts.push(safe_message(&error));
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
    assert_eq!(day.asked(), 1);
    day.bench.clock.advance(minutes(5));
    day.set_down(None);
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    // A changed password does not invalidate a token that is still valid.
    day.bench.clock.advance(hours(23) + minutes(40));
    day.set_down(401);
    for _ in 0..5 {
        assert_eq!(day.token().await, "TK-s3cr3t-1");
        day.bench.clock.advance(minutes(1));
    }
    assert_eq!(day.asked(), 3);
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert_eq!(day.asked(), 4);
}

#[tokio::test]
async fn short_lives_are_renewed_in_their_last_quarter() {
    let count = AtomicUsize::new(0);
    let place = TestEnvironment::new().file("token", "ID-s3cr3t");
    let sts = FakeServer::start(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        let keys = temporary(&number.to_string(), start() + minutes(8 * number as u64));
        reply(201, json!({"credentials": keys}))
    })
    .await;
    let bench = ProviderBench::new(oidc(&sts.url, &place.path("token")).into_provider());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    bench.clock.advance(Duration::from_secs(359));
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    bench.clock.advance(Duration::from_secs(2));
    assert_eq!(got(&bench).await, "ST-s3cr3t-2");
}

#[tokio::test]
async fn a_clock_that_is_off_does_not_shorten_a_token() {
    // The clock of IAM is six hours behind. The token is valid for a day regardless.
    let iam = FakeServer::start(|_| token("TK-s3cr3t-1", start() - hours(6))).await;
    let bench = ProviderBench::new(password(&iam.url).into_provider());
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    bench.clock.advance(hours(23));
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    assert_eq!(iam.asked().len(), 1);
}

/// Simulated service and IAM with a schedule of outages and revoked tokens.
struct Weekend {
    clock: ManualClock,
    /// Issued tokens, with their times of expiry.
    tokens: Mutex<Vec<(String, SystemTime)>>,
}

impl Weekend {
    fn hour(&self) -> f64 {
        let elapsed = self.clock.now().duration_since(start()).unwrap();
        elapsed.as_secs_f64() / 3600.0
    }

    fn iam(&self) -> FakeReply {
        let hour = self.hour();
        // IAM fails three times: in the last half hour of the first token, after the second token
        // is revoked, and around the expiry of the third.
        if (23.4..23.8).contains(&hour) {
            return reply(503, "<html>maintenance</html>");
        }
        if (40.0..40.2).contains(&hour) {
            return reply(500, json!({"error": {"code": 500, "message": "sorry"}}));
        }
        if (63.0..64.4).contains(&hour) {
            return reply(429, json!({"error_code": "APIGW.0308", "error_msg": "slow down"}));
        }
        let mut tokens = self.tokens.lock().unwrap();
        let text = format!("TK-s3cr3t-{}", tokens.len() + 1);
        let now = self.clock.now();
        tokens.push((text.clone(), now + hours(24)));
        token(&text, now)
    }

    fn service(&self, asked: &FakeRequest) -> FakeReply {
        let hour = self.hour();
        if (10.0..10.2).contains(&hour) {
            return reply(503, r#"{"error_code":"ModelArts.0001","error_msg":"busy"}"#);
        }
        if (30.0..30.2).contains(&hour) {
            return reply(502, "<html>bad gateway</html>");
        }
        let sent = asked.header("x-auth-token").unwrap();
        let tokens = self.tokens.lock().unwrap();
        let at = tokens.iter().position(|(text, _)| text == sent).unwrap();
        let withdrawn = hour >= 40.0 && at == 1;
        if withdrawn || self.clock.now() >= tokens[at].1 {
            let text = "The token must be updated";
            return reply(401, json!({"error_code": "APIGW.0307", "error_msg": text}));
        }
        let phase = if hour < 72.0 { "Running" } else { "Completed" };
        reply(
            200,
            json!({
                "kind": "job",
                "metadata": {"id": "cf63aba9-63b1-4219-b717-708a2665100b", "name": "long"},
                "status": {"phase": phase},
            }),
        )
    }
}

#[tokio::test]
async fn a_wait_of_72_hours_ends_right() {
    // Sleeps below 20 minutes are pauses, except for the time limits of IAM, one minute and ten
    // seconds, and that of the queue of waits, two minutes.
    let clock = ManualClock::new(|time| {
        let limits = [Duration::from_secs(10), minutes(1), minutes(2)];
        !limits.contains(&time) && time < minutes(20)
    });
    let weekend = Arc::new(Weekend { clock: clock.clone(), tokens: Mutex::default() });
    let shared = Arc::clone(&weekend);
    let cloud = FakeServer::start(move |asked| {
        if asked.target.starts_with("/v3/auth/tokens") {
            shared.iam()
        } else {
            shared.service(asked)
        }
    })
    .await;
    let client = Client::builder()
        .endpoint(&cloud.url)
        .credentials(password(&cloud.url).into_provider())
        .clock(clock.clone())
        .timeout(hours(1))
        .overall_timeout(hours(1))
        .connect()
        .await
        .unwrap();
    assert_eq!(client.project_id(), PROJECT);
    let job = client.training_jobs().get("cf63aba9-63b1-4219-b717-708a2665100b").await.unwrap();
    let waited = job.wait().interval(minutes(2), minutes(4)).await.unwrap();
    assert_eq!(waited.outcome(), &Outcome::Completed);
    let hour = weekend.hour();
    assert!((72.0..72.1).contains(&hour), "{hour}");
    // The wait tolerated two outages of the service, and two periods without a valid token. The
    // outage of IAM while a token was valid caused no error.
    assert!(waited.errors() >= 4, "{}", waited.errors());
    let begun: Vec<f64> = weekend
        .tokens
        .lock()
        .unwrap()
        .iter()
        .map(|(_, end)| {
            let begin = *end - hours(24);
            begin.duration_since(start()).unwrap().as_secs_f64() / 3600.0
        })
        .collect();
    assert_eq!(begun.len(), 4, "{begun:?}");
    for (begin, expected) in begun.iter().zip([0.0, 23.8, 40.2, 64.4]) {
        assert!((expected..expected + 0.1).contains(begin), "{begun:?}");
    }
    // IAM received at most one request per minute, or one per attempt.
    let logins = cloud.lines().iter().filter(|line| line.starts_with("POST /v3")).count();
    assert!(logins < 60, "{logins}");
}

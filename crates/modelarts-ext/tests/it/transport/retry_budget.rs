//! Test of the retry budget, which all calls of a client share.

use std::time::Duration;

use modelarts_ext::RetryPolicy;

use super::fixtures::{job, unavailable};
use crate::support::{clock::TestClock, errors::refused, server::Server};

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
    // The budget contains the tokens of ten seconds, and gains none, because the clock does not
    // advance.
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

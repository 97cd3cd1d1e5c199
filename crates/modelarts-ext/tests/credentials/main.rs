//! Where credentials come from, how they are renewed, and what is said when there are
//! none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod chain;
mod files;
mod iam_support;
mod metadata;
mod oidc;
mod password;
mod project;
mod renewal;
mod secrets;
mod waiting;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use chain::{found, from, identity};
use futures::future::{join, join_all};
use iam_support::{
    Asked, Bench, Fake, Hands, Place, Said, hours, minutes, nowhere, said, set_mode, start, token,
    written, wrong_password,
};
use modelarts_ext::{
    Client, ClientBuilder, Clock, Credentials, Error, ErrorKind, FetchCredentials, Metadata, Oidc,
    Outcome, Password, ProvideCredentials, Renewing, RetryPolicy, Signing,
};
use project::{in_region, keys, projects};
use renewal::Day;
use serde_json::{Value, json};

const PROJECT: &str = "0123456789abcdef0123456789abcdef";
/// No secret may be seen anywhere; each has this in it.
const MARK: &str = "s3cr3t";

fn password(iam: &str) -> Password {
    Password::new(iam, "alice", "PW-s3cr3t")
        .domain("OTC01")
        .project("eu-de")
}

fn oidc(sts: &str, file: &std::path::Path) -> Oidc {
    Oidc::from_file(sts, "urn:provider", "urn:agency", file)
}

fn temporary(name: &str, end: SystemTime) -> Value {
    json!({
        "access_key_id": format!("AK-{name}"),
        "secret_access_key": format!("SK-s3cr3t-{name}"),
        "security_token": format!("ST-s3cr3t-{name}"),
        "expiration": written(end),
    })
}

/// What would be sent, as far as one may see it.
async fn sent(credentials: impl ProvideCredentials) -> Asked {
    let service = Fake::start(|_| said(200, r#"{"items":[]}"#)).await;
    let client = Client::builder()
        .endpoint(&service.url)
        .project_id(PROJECT)
        .credentials(credentials)
        .clock(Hands::still())
        .build()
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    service.asked().remove(0)
}

/// The token that is got, or the security token.
async fn got<P: ProvideCredentials>(bench: &Bench<P>) -> String {
    let asked = sent(bench.get().await.unwrap()).await;
    let header = |name| asked.header(name).map(str::to_owned);
    header("x-auth-token")
        .or(header("x-security-token"))
        .unwrap()
}

/// All that is shown of an error has no secret in it.
fn told(error: &Error) -> String {
    let all = format!("{error} {error:?} {error:#?}");
    assert!(!all.contains(MARK), "{all}");
    error.to_string()
}

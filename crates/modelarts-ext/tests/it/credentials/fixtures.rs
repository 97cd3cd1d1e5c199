//! Fixtures: providers, clients, and a simulated IAM.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use modelarts_ext::{
    Client, ClientBuilder, Credentials, Error,
    clock::Clock,
    credentials::{
        CachedProvider, FetchCredentials, Metadata, Oidc, Password, ProvideCredentials,
        ProviderContext,
    },
};
use serde_json::{Value, json};

use super::manual_clock::{ManualClock, hours, start, timestamp};
use crate::support::{
    environment::TestEnvironment,
    fake_server::{FakeReply, FakeRequest, FakeServer, reply},
    server::PROJECT,
};

/// Substring of all secrets in these tests. No output may contain it.
pub(super) const SECRET_MARK: &str = "s3cr3t";

pub(super) fn password(iam: &str) -> Password {
    Password::new(iam, "alice", "PW-s3cr3t").domain("OTC01").project("eu-de")
}

pub(super) fn oidc(sts: &str, file: &std::path::Path) -> Oidc {
    Oidc::from_file(sts, "urn:provider", "urn:agency", file)
}

pub(super) fn temporary(name: &str, end: SystemTime) -> Value {
    json!({
        "access_key_id": format!("AK-{name}"),
        "secret_access_key": format!("SK-s3cr3t-{name}"),
        "security_token": format!("ST-s3cr3t-{name}"),
        "expiration": timestamp(end),
    })
}

/// Returns the request that a client with these credentials sends.
pub(super) async fn sent(credentials: impl ProvideCredentials) -> FakeRequest {
    let service = FakeServer::start(|_| reply(200, r#"{"items":[]}"#)).await;
    let client = Client::builder()
        .endpoint(&service.url)
        .project_id(PROJECT)
        .credentials(credentials)
        .clock(ManualClock::still())
        .build()
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    service.asked().remove(0)
}

/// Returns the token of the provider; for keys, the security token.
pub(super) async fn got<P: ProvideCredentials>(bench: &ProviderBench<P>) -> String {
    let asked = sent(bench.get().await.unwrap()).await;
    let header = |name| asked.header(name).map(str::to_owned);
    header("x-auth-token").or(header("x-security-token")).unwrap()
}

/// Returns the message of an error, and checks that no form of the error contains a secret.
pub(super) fn safe_message(error: &Error) -> String {
    let all = format!("{error} {error:?} {error:#?}");
    assert!(!all.contains(SECRET_MARK), "{all}");
    error.to_string()
}

/// Returns the response of IAM to a login: a token that is valid for a day.
pub(super) fn token(text: &str, now: SystemTime) -> FakeReply {
    reply(
        201,
        json!({"token": {
            "methods": ["password"],
            "issued_at": timestamp(now),
            "expires_at": timestamp(now + hours(24)),
            "project": {"id": "0123456789abcdef0123456789abcdef", "name": "eu-de"},
            "user": {"name": "alice"},
        }}),
    )
    .with("X-Subject-Token", text)
}

/// Returns the response of IAM to a wrong password.
pub(super) fn wrong_password() -> FakeReply {
    let message = "The username or password is wrong.";
    reply(401, json!({"error": {"code": 401, "message": message, "title": "Unauthorized"}}))
        .with("X-IAM-Trace-Id", "token_eu-de_null_1")
}

/// Provider under test, with its clock and context.
pub(super) struct ProviderBench<P> {
    pub(super) provider: P,
    pub(super) clock: ManualClock,
    pub(super) tools: ProviderContext,
}

impl<P: ProvideCredentials> ProviderBench<P> {
    pub(super) fn new(provider: P) -> Self {
        let clock = ManualClock::still();
        Self { provider, tools: ProviderContext::new(clock.clone()).unwrap(), clock }
    }

    pub(super) async fn get(&self) -> Result<Credentials, Error> {
        self.provider.credentials(&self.tools).await
    }

    pub(super) async fn fails(&self) -> Error {
        self.get().await.expect_err("credentials")
    }
}

pub(super) fn builder_in(place: &TestEnvironment) -> ClientBuilder {
    Client::builder()
        .environment(place.environment())
        .endpoint("https://modelarts.test")
        .clock(ManualClock::still())
}

/// Returns `found` if a client can be built in this environment, and the error message otherwise.
pub(super) fn outcome_in(place: &TestEnvironment) -> String {
    let builder = builder_in(place).project_id(PROJECT);
    match builder.build() {
        Ok(_) => "found".to_owned(),
        Err(error) => place.short(safe_message(&error)),
    }
}

/// Returns the access key or the token in the requests of a client.
pub(super) async fn identity_in(place: &TestEnvironment) -> String {
    let service = FakeServer::start(|asked| match asked.target.as_str() {
        "/v5/agencies/assume-with-oidc" => {
            reply(201, json!({"credentials": temporary("oidc", start() + hours(1))}))
        }
        "/v3/auth/tokens?nocatalog=true" => token("TK-s3cr3t-1", start()),
        "/meta-data/latest/api/token" => reply(404, ""),
        "/openstack/latest/securitykey" => reply(200, temporary("metadata", start() + hours(1))),
        _ => reply(200, r#"{"items":[]}"#),
    })
    .await;
    let files = ["here/clouds.yaml", "home/.huaweicloud/credentials"];
    for path in files.map(|path| place.path(path)) {
        if let Ok(text) = std::fs::read_to_string(&path) {
            std::fs::write(&path, text.replace("URL", &service.url)).unwrap();
        }
    }
    let variables = place.environment();
    let url = service.url.clone();
    let environment = modelarts_ext::config::Environment::new(move |name| {
        Some(variables.variable(name)?.replace("URL", &url))
    })
    .home(place.path("home"))
    .directory(place.path("here"));
    let client = Client::builder()
        .environment(environment)
        .endpoint(&service.url)
        .project_id(PROJECT)
        .metadata(Metadata::new().address(&service.url))
        .clock(ManualClock::still())
        .build()
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    let asked = service.asked().pop().unwrap();
    match asked.header("authorization") {
        Some(text) => {
            let (_, rest) = text.split_once("Access=").unwrap();
            rest.split_once(',').unwrap().0.to_owned()
        }
        None => asked.header("x-auth-token").unwrap().to_owned(),
    }
}

/// Returns a simulated IAM with these projects, which supports filtering by name.
pub(super) async fn projects(list: &'static [(&'static str, &'static str)]) -> FakeServer {
    FakeServer::start(move |asked| {
        let name = asked.target.strip_prefix("/v3/projects?name=");
        let found: Vec<_> = list
            .iter()
            .filter(|(known, _)| name.is_none_or(|name| name == *known))
            .map(|(name, id)| json!({"id": id, "name": name, "enabled": true}))
            .collect();
        reply(200, json!({"links": {}, "projects": found}))
    })
    .await
}

pub(super) fn keys() -> Credentials {
    Credentials::temporary_keys("AK", "SK-s3cr3t", "ST-s3cr3t")
}

pub(super) fn in_region(iam: &FakeServer) -> ClientBuilder {
    Client::builder()
        .region("eu-de")
        .iam_endpoint(&iam.url)
        .credentials(keys())
        .clock(ManualClock::still())
}

/// Returns a simulated IAM that issues `TK-s3cr3t-1`, then `TK-s3cr3t-2`, and so on, unless it is
/// down.
async fn counting(clock: &ManualClock, down: &Arc<Mutex<Option<u16>>>) -> FakeServer {
    let (clock, down, count) = (clock.clone(), Arc::clone(down), AtomicUsize::new(0));
    FakeServer::start(move |_| match *down.lock().unwrap() {
        Some(401) => wrong_password(),
        Some(status) => reply(status, "down"),
        None => {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            token(&format!("TK-s3cr3t-{number}"), clock.now())
        }
    })
    .await
}

pub(super) struct Day {
    pub(super) iam: FakeServer,
    pub(super) down: Arc<Mutex<Option<u16>>>,
    pub(super) bench: ProviderBench<CachedProvider>,
}

impl Day {
    pub(super) async fn new() -> Self {
        let down = Arc::default();
        // The provider requires the address of IAM, and IAM uses the clock of the provider.
        let clock = ManualClock::still();
        let iam = counting(&clock, &down).await;
        let mut bench = ProviderBench::new(password(&iam.url).into_provider());
        bench.tools = modelarts_ext::credentials::ProviderContext::new(clock.clone()).unwrap();
        bench.clock = clock;
        Self { iam, down, bench }
    }

    pub(super) fn set_down(&self, status: impl Into<Option<u16>>) {
        *self.down.lock().unwrap() = status.into();
    }

    pub(super) fn asked(&self) -> usize {
        self.iam.asked().len()
    }

    pub(super) async fn token(&self) -> String {
        got(&self.bench).await
    }
}

//! Calls on an executor other than tokio's.

use std::time::Duration;

use futures::{TryStreamExt, executor::block_on};
use modelarts_ext::{
    Client, ClientBuilder, Credentials, Error, ErrorKind, Job,
    clock::SystemClock,
    credentials::{FetchCredentials, Password, ProvideCredentials, ProviderContext},
};

use super::fixtures::JOB;
use crate::support::{
    clock::TestClock,
    errors::refused,
    network::{client_of, json},
    server::PROJECT,
};

/// Returns a client with the default clock and connector.
fn usual() -> ClientBuilder {
    Client::builder()
        .endpoint("http://127.0.0.1:1")
        .project_id(PROJECT)
        .credentials(Credentials::keys("AK", "SK"))
}

/// Checks that a call failed for lack of a runtime, before it was sent.
fn check<T>(what: &str, result: Result<T, Error>) {
    let error = refused(result);
    assert_eq!(error.kind(), ErrorKind::Config, "{what}: {error}");
    let text = error.to_string();
    let operation = error.operation().map(|name| format!("{name}: "));
    let text = text.strip_prefix(&*operation.unwrap_or_default());
    assert_eq!(
        text.unwrap(),
        "calls must run in a tokio runtime, and there is none on this thread; start one with \
         #[tokio::main], or call block(), which the feature `blocking` of modelarts-ext adds",
        "{what}"
    );
    assert_eq!(error.attempts(), 0, "{what}");
    assert!(!error.is_retryable(), "{what}");
}

#[test]
fn a_call_without_a_runtime_is_an_error() {
    let client = usual().build().unwrap();
    let jobs = client.training_jobs();
    check("get", block_on(jobs.get("j")));
    check("list", block_on(jobs.list().collect(10)));
    let mut stream = jobs.list().stream();
    check("stream", block_on(stream.try_next()));
    assert!(block_on(stream.try_next()).unwrap().is_none());
    let create = jobs
        .create("n")
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .flavor("modelarts.vm.cpu.8u");
    check("submit", block_on(create.submit()));
    let quotas = client.operation("ShowTrainingQuotas").unwrap();
    check("operation", block_on(quotas.send()));
    let quotas = client.call(|api| api.show_training_quotas().project_id(PROJECT).send());
    check("call", block_on(quotas));
}

#[test]
fn either_the_connector_or_the_clock_needs_the_runtime() {
    let connector = usual().clock(TestClock::new()).build().unwrap();
    let jobs = connector.training_jobs();
    check("the connector", block_on(jobs.get("j")));
    let clock = client_of(|_| json(JOB)).build().unwrap();
    check("the clock", block_on(clock.training_jobs().get("j")));
    // Without either, calls work on every executor.
    let neither = client_of(|_| json(JOB)).clock(TestClock::new());
    let neither = neither.build().unwrap();
    let job = block_on(neither.training_jobs().get("j")).unwrap();
    assert_eq!(job.name(), "n");
}

/// Returns a running job whose client has the system clock.
fn running_job() -> Job {
    let client = client_of(|_| json(JOB)).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(client.training_jobs().get("j")).unwrap()
}

#[test]
fn a_wait_or_follow_without_a_runtime_is_an_error() {
    let mut job = running_job();
    check("refresh", block_on(job.refresh()));
    check("wait", block_on(job.wait().into_future()));
    let limited = job.wait().timeout(Duration::from_secs(60));
    check("wait with a limit", block_on(limited.into_future()));
    check("wait stream", block_on(job.wait().stream().try_next()));
    check("events", block_on(job.events().follow().try_next()));
    check("log", block_on(job.logs("worker-0").follow().try_next()));
    check("follow", block_on(job.follow().try_next()));
    check("metrics", block_on(job.metrics("worker-0")));
}

#[test]
fn credentials_of_iam_without_a_runtime_are_an_error() {
    let password = || Password::new("http://127.0.0.1:1", "alice", "PW").domain("OTC01");
    let context = ProviderContext::new(SystemClock).unwrap();
    let provider = password().project_id("p").into_provider();
    check("provider", block_on(provider.credentials(&context)));
    // A custom clock does not change that the request needs a runtime.
    let context = ProviderContext::new(TestClock::new()).unwrap();
    check("clock", block_on(provider.credentials(&context)));
    let client = Client::builder()
        .endpoint("http://127.0.0.1:1")
        .region("eu-de")
        .credentials(password().project("eu-de").into_provider());
    check("connect", block_on(client.connect()));
}

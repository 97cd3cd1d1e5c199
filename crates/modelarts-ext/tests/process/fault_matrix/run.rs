//! Execution of one cell of the matrix, with a record of its requests and results.

use std::{
    fmt::{Debug, Write as _},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use modelarts_ext::{
    Client, Credentials, Error,
    api::BoxFuture,
    credentials::{CachedProvider, FetchCredentials, Fetched, ProviderContext},
};
use tokio::{net::TcpSocket, task::JoinHandle};

use super::{
    constants::{ACCESS_KEY, HOUR},
    row::{Effect, Fault, Row, Strikes::OnceBefore, Who},
    service::{Cloud, State},
};
use crate::support::{
    clock::TestClock,
    secrets::{ENVIRONMENT, SECRET_KEY, SECURITY_TOKEN, TOKEN},
    server::{PROJECT, Server},
};

/// Provider that issues the tokens `tk-hidden-3-1`, then `tk-hidden-3-2`, and so on.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens(Arc<AtomicUsize>);

impl FetchCredentials for Tokens {
    fn fetch<'a>(&'a self, _: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let token = Credentials::token(format!("{TOKEN}-{number}"));
        Box::pin(std::future::ready(Ok(Fetched::new(token))))
    }
}

/// Record of one cell.
pub(super) struct Happened {
    pub(super) seen: usize,
    pub(super) executed: usize,
    pub(super) result: Result<String, Error>,
    /// Number of jobs named `new` after the call.
    pub(super) made: usize,
    pub(super) requests: Vec<String>,
    pub(super) pauses: Vec<Duration>,
    pub(super) flooded: usize,
    /// Number of requests that were sent to the host of the redirect.
    pub(super) led_astray: usize,
    /// Number of tokens that the client requested.
    pub(super) tokens: usize,
    /// All results, in every form that programs print.
    pub(super) printed: String,
}

/// Server task that is aborted when the cell ends.
pub(super) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) async fn run(row: &Row, effect: Effect, who: Who) -> Happened {
    let elsewhere = Server::start([]).await;
    let clock = TestClock::new();
    let cloud = Arc::new(Cloud {
        clock: clock.clone(),
        elsewhere: elsewhere.url.clone(),
        struck: effect,
        fault: row.fault,
        strikes: row.strikes,
        then: row.then,
        state: Mutex::new(State {
            jobs: vec![("old".to_owned(), "0".to_owned())],
            unlisted: row.unlisted,
            ..State::default()
        }),
        flooded: AtomicUsize::new(0),
    });
    // The port is bound without listening, so it refuses connections and no other server can use
    // it.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    let listen = |socket: TcpSocket, cloud: Arc<Cloud>| {
        Task(tokio::spawn(cloud.serve(socket.listen(64).unwrap())))
    };
    let mut kept = None;
    let late = Arc::new(Mutex::new(None));
    match (row.fault, row.strikes) {
        (Fault::Refused, OnceBefore) => {
            let (late, cloud) = (Arc::clone(&late), Arc::clone(&cloud));
            clock.step(async move {
                *late.lock().unwrap() = Some(listen(socket, cloud));
            });
        }
        (Fault::Refused, _) => kept = Some(socket),
        _ => *late.lock().unwrap() = Some(listen(socket, Arc::clone(&cloud))),
    }

    let tokens = Tokens::default();
    let mut printed = String::new();
    let builder = Client::builder()
        .endpoint(format!("http://{address}"))
        .project_id(PROJECT)
        .clock(clock.clone())
        .timeout(HOUR)
        // Searches may follow a create request that used up the time limit of its call.
        .overall_timeout(2 * HOUR);
    let builder = match who {
        Who::Keys => {
            let keys = Credentials::temporary_keys(ACCESS_KEY, SECRET_KEY, SECURITY_TOKEN);
            print(&mut printed, &keys);
            builder.credentials(keys)
        }
        Who::Token => {
            let provider = CachedProvider::new(tokens.clone());
            print(&mut printed, &provider);
            builder.credentials(provider)
        }
    };
    print(&mut printed, &builder);
    let client = builder.build().unwrap();
    print(&mut printed, &client);
    print(&mut printed, client.api());
    let jobs = client.training_jobs();
    let named = |job: modelarts_ext::Job| job.name().to_owned();
    let result = match effect {
        Effect::Read => jobs.get("id-of-old").await.map(named),
        // A stop request requires a job; the job can be read unless connections are refused.
        Effect::Stop if row.fault != Fault::Refused => {
            let old = jobs.get("id-of-old").await.unwrap();
            cloud.state.lock().unwrap().requests.clear();
            old.terminate().await.map(named)
        }
        Effect::Stop => client
            .call(|api| {
                let body = modelarts_ext::types::StopTrainingJobRequest::builder();
                api.stop_training_job()
                    .project_id(PROJECT)
                    .training_job_id("id-of-old")
                    .body(body.action_type("terminate"))
                    .send()
            })
            .await
            .map(|answer| {
                print(&mut printed, &answer);
                let metadata = answer.metadata.as_ref().unwrap();
                metadata.name.clone().unwrap()
            }),
        Effect::Create => {
            let create = jobs
                .create("new")
                .env("PASSWORD", ENVIRONMENT)
                .custom_image("garden/leaves:1")
                .flavor("modelarts.vm.cpu.2u")
                .command(format!("run {ENVIRONMENT}"));
            let create = match row.workspace {
                Some(workspace) => create.workspace(workspace),
                None => create,
            };
            print(&mut printed, &create);
            // Without look-ups, the creation consists of a single call, like the other effects.
            create.without_look_up().submit().await.map(named)
        }
    };
    if let Err(error) = &result {
        print_error(&mut printed, error);
    }
    drop((kept, late));
    let state = cloud.state.lock().unwrap();
    Happened {
        seen: state.seen,
        executed: state.executed,
        result,
        made: state.jobs.iter().filter(|(name, _)| name == "new").count(),
        requests: state.requests.clone(),
        pauses: clock.slept(),
        flooded: cloud.flooded.load(Ordering::Relaxed),
        led_astray: elsewhere.requests().len(),
        tokens: tokens.0.load(Ordering::Relaxed),
        printed,
    }
}

pub(super) fn print(into: &mut String, value: &impl Debug) {
    writeln!(into, "{value:?}\n{value:#?}").unwrap();
}

/// Prints an error in every form that programs use.
pub(super) fn print_error(into: &mut String, error: &Error) {
    print(into, error);
    writeln!(into, "{error}\n{error:#}").unwrap();
    for part in [error.message(), error.solution(), error.advice()] {
        writeln!(into, "{part:?}").unwrap();
    }
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        print(into, &error);
        writeln!(into, "{error}\n{error:#}").unwrap();
        source = error.source();
    }
}

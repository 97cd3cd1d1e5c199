//! Measures a call that gets a job, over the loopback interface.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use modelarts_ext::{Client, Credentials};

use crate::{
    by_hand,
    canned::{JOB_ID, PROJECT},
    server::Server,
    timing::{Ratio, Round, Spent, micros},
};

/// Number of rounds. The rounds of both programs are short and alternate, so other load on the
/// machine affects both programs equally.
const ROUNDS: u32 = 51;
const CALLS: u32 = 1000;
/// Number of warm-up rounds, which are not measured.
const WARM_UP: u32 = 4;

/// Compares `training_jobs().get()` with the same call in a client written with reqwest and serde
/// alone.
#[tokio::main(flavor = "current_thread")]
pub async fn get() -> Result<()> {
    let server = Server::start()?;
    let ours = client(&server.url)?;
    let by_hand = client_by_hand()?;
    let path = format!("/v2/{PROJECT}/training-jobs/{JOB_ID}");

    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let spent = our_round(&ours).await?;
        let floor = Round::start();
        for _ in 0..CALLS {
            let (job, _) = by_hand::get(&by_hand, &server.url, &path).await?;
            ensure!(
                job.status.phase == "Running",
                "the answer must be the requested job"
            );
        }
        let floor = floor.end();
        if round >= WARM_UP {
            a.push(spent);
            b.push(floor);
        }
    }
    let ratio = Ratio::of(&a, &b);
    println!(
        "One get of a job over loopback, {ROUNDS} rounds of {CALLS} calls, in turn; medians:\n"
    );
    println!("| | CPU, µs per call | elapsed, µs per call |\n|---|---|---|");
    for (name, rounds) in [
        ("modelarts-ext", &a),
        ("reqwest, serde, signed by hand", &b),
    ] {
        println!(
            "| {name} | {:.1} | {:.1} |",
            micros(rounds, CALLS, |spent| spent.cpu),
            micros(rounds, CALLS, |spent| spent.wall),
        );
    }
    println!(
        "| **ratio** (target: at most 1.10) | **{:.2}** | **{:.2}** |\n",
        ratio.cpu, ratio.wall
    );
    Ok(())
}

/// Creates a reqwest client with the timeouts of the SDK. An explicit TLS configuration is
/// necessary: modelarts-ext enables reqwest's TLS without a provider for the whole program, and
/// building a client without a provider would panic.
pub fn client_by_hand() -> Result<reqwest::Client> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(120))
        .user_agent("by-hand/1.0")
        .build()?)
}

pub fn client(url: &str) -> Result<Client> {
    Ok(Client::builder()
        .endpoint(url)
        .project_id(PROJECT)
        .credentials(Credentials::keys("access", "secret"))
        .build()?)
}

/// Runs one round of calls with the SDK.
pub async fn our_round(client: &Client) -> Result<Spent> {
    let jobs = client.training_jobs();
    let round = Round::start();
    for _ in 0..CALLS {
        let job = jobs.get(JOB_ID).await?;
        ensure!(
            job.name() == "leaves",
            "the answer must be the requested job"
        );
    }
    Ok(round.end())
}

pub const fn calls() -> u32 {
    CALLS
}

//! One get over loopback.

use anyhow::{Result, ensure};
use modelarts_ext::{Client, Credentials};

use crate::{
    by_hand,
    server::{JOB_ID, PROJECT, Server},
    timing::{Ratio, Round, Spent, micros},
};

/// Short rounds in turn, so that what disturbs the machine disturbs both of a pair.
const ROUNDS: u32 = 51;
const CALLS: u32 = 1000;
/// Rounds that are not counted.
const WARM_UP: u32 = 4;

/// Compares `training_jobs().get()` with a get by hand.
#[tokio::main(flavor = "current_thread")]
pub async fn get() -> Result<()> {
    let server = Server::start()?;
    let ours = client(&server.url)?;
    let by_hand = by_hand::client()?;
    let path = format!("/v2/{PROJECT}/training-jobs/{JOB_ID}");

    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let spent = our_round(&ours).await?;
        let floor = Round::start();
        for _ in 0..CALLS {
            let (job, _) = by_hand::get(&by_hand, &server.url, &path).await?;
            ensure!(
                job.status.phase == "Running",
                "not the job that was asked for"
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
    println!("| | CPU, µs a call | wall, µs a call |\n|---|---|---|");
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
        "| **ratio** (target 1.10 at the most) | **{:.2}** | **{:.2}** |\n",
        ratio.cpu, ratio.wall
    );
    Ok(())
}

/// Only the gets of the one or the other.
#[tokio::main(flavor = "current_thread")]
pub async fn profile(calls: u32, hand: bool) -> Result<()> {
    let server = Server::start()?;
    let ours = client(&server.url)?;
    let by_hand = by_hand::client()?;
    let path = format!("/v2/{PROJECT}/training-jobs/{JOB_ID}");
    for _ in 0..calls {
        if hand {
            by_hand::get(&by_hand, &server.url, &path).await?;
        } else {
            ours.training_jobs().get(JOB_ID).await?;
        }
    }
    Ok(())
}

pub fn client(url: &str) -> Result<Client> {
    Ok(Client::builder()
        .endpoint(url)
        .project_id(PROJECT)
        .credentials(Credentials::keys("access", "secret"))
        .build()?)
}

/// One round of gets by the SDK.
pub async fn our_round(client: &Client) -> Result<Spent> {
    let jobs = client.training_jobs();
    let round = Round::start();
    for _ in 0..CALLS {
        let job = jobs.get(JOB_ID).await?;
        ensure!(job.name() == "leaves", "not the job that was asked for");
    }
    Ok(round.end())
}

pub const fn calls() -> u32 {
    CALLS
}

//! Measures a call that gets a job, over the loopback interface.

use std::{process::Command, time::Duration};

use anyhow::{Context, Result, ensure};
use modelarts_ext::{Client, ClientBuilder, Credentials};

use crate::{
    by_hand, server,
    timing::{Round, Spent, median},
};

/// Project id in the paths of requests.
pub const PROJECT: &str = "0123456789abcdef0123456789abcdef";
pub const JOB_ID: &str = "5e1c7b52-5d1d-4a35-9c1b-6f3a3c9d0a11";

/// Number of rounds. The rounds of both programs are short and alternate, so other load on the
/// machine affects both programs equally.
const ROUNDS: usize = 51;
const CALLS: u32 = 1000;
/// Number of warm-up rounds, which are not measured.
const WARM_UP: usize = 4;

/// Compares `training_jobs().get()` with the same call in a client written with reqwest and serde
/// alone.
pub async fn compare() -> Result<()> {
    let url = server::start(0, Duration::ZERO)?;
    let client = client(&url)?;
    let http = by_hand::client()?;
    let path = format!("/v2/{PROJECT}/training-jobs/{JOB_ID}");
    let mut rounds = Vec::new();
    for _ in 0..WARM_UP + ROUNDS {
        let ours = round(&client).await?;
        let by_hand = Round::start();
        for _ in 0..CALLS {
            let (job, _) = by_hand::get(&http, &url, &path).await?;
            ensure!(job.metadata.name == "leaves", "not the requested job");
        }
        rounds.push((ours, by_hand.end(CALLS)));
    }
    rounds.drain(..WARM_UP);
    let figures = |name: &str, part: fn(&(Spent, Spent)) -> Spent| {
        let cpu = median(&rounds, |round| part(round).cpu);
        let elapsed = median(&rounds, |round| part(round).elapsed);
        println!("| {name} | {cpu:.1} | {elapsed:.1} |");
    };
    println!("One get of a job, {ROUNDS} rounds of {CALLS} calls in turn; medians:\n");
    println!("| | CPU, µs per call | elapsed, µs per call |\n|---|---|---|");
    figures("modelarts-ext", |round| round.0);
    figures("reqwest, serde, signed by hand", |round| round.1);
    println!(
        "| **ratio** (target: at most 1.10) | **{:.2}** | **{:.2}** |\n",
        median(&rounds, |(ours, by_hand)| ours.cpu / by_hand.cpu),
        median(&rounds, |(ours, by_hand)| ours.elapsed / by_hand.elapsed),
    );
    Ok(())
}

pub fn client(url: &str) -> Result<Client> {
    Ok(builder(url).build()?)
}

pub fn builder(url: &str) -> ClientBuilder {
    let keys = Credentials::keys("access", "secret");
    Client::builder().endpoint(url).project_id(PROJECT).credentials(keys)
}

/// Runs one round of calls with the SDK.
pub async fn round(client: &Client) -> Result<Spent> {
    let jobs = client.training_jobs();
    let round = Round::start();
    for _ in 0..CALLS {
        let job = jobs.get(JOB_ID).await?;
        ensure!(job.name() == "leaves", "not the requested job");
    }
    Ok(round.end(CALLS))
}

/// Compares the processor time with that of the official SDK for Python. The interpreter `python`
/// must have its package huaweicloudsdkmodelarts.
pub async fn compare_with_python(python: &str) -> Result<()> {
    let url = server::start(0, Duration::ZERO)?;
    let client = client(&url)?;
    round(&client).await?;
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let ours = round(&client).await?.cpu;
        let output = Command::new(python)
            .args(["-c", include_str!("official.py"), &url, PROJECT, JOB_ID])
            .output()
            .with_context(|| format!("{python} could not be started"))?;
        let theirs: f64 = String::from_utf8(output.stdout)?
            .trim()
            .parse()
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        rounds.push((ours, theirs));
    }
    println!(
        "| | µs per call |\n|---|---|\n| modelarts-ext | {:.1} |\n\
         | huaweicloudsdkmodelarts (Python) | {:.1} |\n\
         | **times less** (target: at least 10) | **{:.1}** |\n",
        median(&rounds, |round| round.0),
        median(&rounds, |round| round.1),
        median(&rounds, |(ours, theirs)| theirs / ours)
    );
    Ok(())
}

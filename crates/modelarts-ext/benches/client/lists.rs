//! Measures reading a long list over a slow connection, with one page in flight and with several
//! pages.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;

use crate::{
    calls,
    canned::JOB_ID,
    server::Server,
    timing::{Ratio, Round, Spent, median},
};

const EVENTS: u64 = 20_000;
const LATENCY: Duration = Duration::from_millis(20);
const ROUNDS: u32 = 5;
const PAGES: usize = 8;

/// Compares one page in flight with eight.
#[tokio::main(flavor = "current_thread")]
pub async fn compare() -> Result<()> {
    let server = Server::with_events(EVENTS, LATENCY)?;
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(read(&server, 1).await?);
        many.push(read(&server, PAGES).await?);
    }
    let seconds = |rounds: &[Spent]| {
        median(
            rounds
                .iter()
                .map(|spent| spent.wall.as_secs_f64())
                .collect(),
        )
    };
    println!(
        "{EVENTS} events in pages of 100 from a server that takes {} ms for each response, {ROUNDS} \
         rounds in turn; medians:\n",
        LATENCY.as_millis()
    );
    println!("| pages in flight | elapsed, s |\n|---|---|");
    println!("| 1 | {:.2} |", seconds(&one));
    println!("| {PAGES} | {:.2} |", seconds(&many));
    println!(
        "| **times faster** (target: at least 6) | **{:.1}** |\n",
        Ratio::of(&one, &many).wall
    );
    Ok(())
}

/// Reads all events with a new client, so that no measurement benefits from connections or caches
/// of the previous one.
async fn read(server: &Server, in_flight: usize) -> Result<Spent> {
    let client = calls::client(&server.url)?;
    let job = client.training_jobs().get(JOB_ID).await?;
    let round = Round::start();
    let mut events = job.events().in_flight(in_flight).stream();
    let mut count = 0;
    while events
        .try_next()
        .await
        .context("the list ended early")?
        .is_some()
    {
        count += 1;
    }
    let spent = round.end();
    ensure!(count == EVENTS, "{count} events were listed");
    Ok(spent)
}

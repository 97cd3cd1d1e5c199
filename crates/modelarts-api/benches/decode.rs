//! Measures the decoding of pages, compared with plain structs.

use anyhow::{Result, ensure};
use modelarts_ext::api::{
    decode::{self, Decode},
    types::{ListTrainingJobEventsResponse, ListTrainingJobsResponse},
};
use serde::de::DeserializeOwned;

use crate::{
    by_hand, canned,
    events::page,
    shapes::{Events, Jobs, documented},
    timing::{Ratio, Round, micros},
};

const ROUNDS: u32 = 25;
const PAGES: u32 = 400;
/// Number of warm-up rounds, which are not measured.
const WARM_UP: u32 = 2;

/// Compares the decoding of a page of 100 events and of a page of 50 jobs.
pub fn compare() -> Result<()> {
    let events = page(20_000, 0, 100);
    let jobs = canned::jobs()?;
    println!("Decoding, {ROUNDS} rounds of {PAGES} pages, in turn; CPU, medians:\n");
    println!(
        "| page, and what plain structs have | modelarts-api, µs | plain structs, µs | **ratio** \
         (target: at most 1.15) |\n|---|---|---|---|"
    );
    row::<ListTrainingJobEventsResponse, Events>(
        "100 events",
        events.as_bytes(),
        |page| page.events.len() == 100,
        |page| page.events.len() == 100,
    )?;
    row::<ListTrainingJobsResponse, Jobs<documented::TrainingJob>>(
        "50 jobs, all documented fields",
        jobs.as_bytes(),
        |page| page.items.len() == 50,
        |page| page.items.len() == 50,
    )?;
    row::<ListTrainingJobsResponse, Jobs<by_hand::Job>>(
        "50 jobs, only the fields of this page",
        jobs.as_bytes(),
        |page| page.items.len() == 50,
        |page| page.items.len() == 50,
    )?;
    println!();
    Ok(())
}

fn row<Ours: Decode, Plain: DeserializeOwned>(
    name: &str,
    body: &[u8],
    ours_is_right: fn(&Ours) -> bool,
    plain_is_right: fn(&Plain) -> bool,
) -> Result<()> {
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let a = Round::start();
        for _ in 0..PAGES {
            let (page, dropped) = decode::body::<Ours>(body)?;
            ensure!(ours_is_right(&page) && dropped.is_empty(), "not the page");
        }
        let a = a.end();
        let b = Round::start();
        for _ in 0..PAGES {
            let page: Plain = serde_json::from_slice(body)?;
            ensure!(plain_is_right(&page), "not the page");
        }
        let b = b.end();
        if round >= WARM_UP {
            ours.push(a);
            plain.push(b);
        }
    }
    println!(
        "| {name}, {} kB | {:.1} | {:.1} | **{:.2}** |",
        body.len() / 1000,
        micros(&ours, PAGES, |spent| spent.cpu),
        micros(&plain, PAGES, |spent| spent.cpu),
        Ratio::of(&ours, &plain).cpu,
    );
    Ok(())
}

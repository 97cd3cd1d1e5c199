//! Program for `cargo xtask bench instructions`, which counts its instructions.
//!
//! The program repeats a call, or the decoding of a page, on one thread and without a network.
//! Every request receives the same response from memory. The command runs the program with two
//! numbers of repetitions. The difference between the two counts is the cost of the additional
//! repetitions, without the cost of starting the program.

#[path = "../../bench/src/by_hand.rs"]
mod by_hand;
#[path = "../../bench/src/canned.rs"]
mod canned;
#[path = "../../bench/src/events.rs"]
mod events;
#[path = "../../bench/src/shapes.rs"]
mod shapes;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use futures::future::ready;
use modelarts_ext::{
    Client, Credentials,
    api::{
        BoxFuture,
        decode::{self, Decode},
        types::{ListTrainingJobEventsResponse, ListTrainingJobsResponse},
    },
    connector::{ConnectorError, HttpConnector},
};
use serde::de::DeserializeOwned;

use crate::{
    canned::{JOB, JOB_ID, PROJECT},
    shapes::{Events, Jobs, documented},
};

const ENDPOINT: &str = "http://127.0.0.1:9";

#[derive(Parser)]
struct Cli {
    work: Work,
    side: Side,
    /// Number of repetitions
    times: u32,
}

/// Work whose instructions are counted.
#[derive(Clone, Copy, ValueEnum)]
enum Work {
    /// A get of a job, signed
    Get,
    /// A get of a job, with a token instead of a signature
    TokenGet,
    /// Decoding of a page of 50 jobs
    Jobs,
    /// Decoding of a page of 100 events
    Events,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Side {
    Sdk,
    ByHand,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Cli { work, side, times } = Cli::parse();
    match work {
        Work::Get | Work::TokenGet => {
            let signed = matches!(work, Work::Get);
            match side {
                Side::Sdk => sdk_gets(signed, times).await,
                Side::ByHand => gets_by_hand(signed, times).await,
            }
        }
        Work::Jobs => decode_pages::<ListTrainingJobsResponse, Jobs<documented::TrainingJob>>(
            side,
            &canned::jobs()?,
            times,
        ),
        Work::Events => decode_pages::<ListTrainingJobEventsResponse, Events>(
            side,
            &events::page(20_000, 0, 100),
            times,
        ),
    }
}

async fn sdk_gets(signed: bool, times: u32) -> Result<()> {
    let client = Client::builder()
        .endpoint(ENDPOINT)
        .project_id(PROJECT)
        .credentials(if signed {
            Credentials::keys("access", "secret")
        } else {
            Credentials::token("token")
        })
        .connector(Canned)
        .build()?;
    let jobs = client.training_jobs();
    for _ in 0..times {
        let job = jobs.get(JOB_ID).await?;
        ensure!(job.name() == "leaves", "not the requested job");
    }
    Ok(())
}

async fn gets_by_hand(signed: bool, times: u32) -> Result<()> {
    let http = reqwest::Client::new();
    let path = format!("/v2/{PROJECT}/training-jobs/{JOB_ID}");
    for _ in 0..times {
        let request = http.get(format!("{ENDPOINT}{path}"));
        let request = if signed {
            by_hand::signed(request, ENDPOINT, &path)?
        } else {
            by_hand::with_token(request)
        };
        let request = request.build()?;
        let (job, _) = tokio::time::timeout(Duration::from_secs(120), async {
            by_hand::read(respond(&request)).await
        })
        .await??;
        ensure!(job.metadata.name == "leaves", "not the requested job");
    }
    Ok(())
}

/// Connector that returns the same job for every request.
#[derive(Debug)]
struct Canned;

impl HttpConnector for Canned {
    fn send(
        &self,
        request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        Box::pin(ready(Ok(respond(&request))))
    }
}

fn respond(_: &reqwest::Request) -> reqwest::Response {
    let mut response = http::Response::new(JOB);
    for (name, value) in [
        ("content-type", "application/json;charset=UTF-8"),
        ("x-request-id", "6c9f1d2ab8f44c0ca2c3a6b80dbe0f11"),
    ] {
        response
            .headers_mut()
            .insert(name, http::HeaderValue::from_static(value));
    }
    response.into()
}

fn decode_pages<Ours: Decode, Plain: DeserializeOwned>(
    side: Side,
    body: &str,
    times: u32,
) -> Result<()> {
    for _ in 0..times {
        match side {
            Side::Sdk => {
                let (_, skipped) = decode::body::<Ours>(body.as_bytes())?;
                ensure!(skipped.is_empty(), "a row could not be decoded");
            }
            Side::ByHand => drop(serde_json::from_slice::<Plain>(body.as_bytes())?),
        }
    }
    Ok(())
}

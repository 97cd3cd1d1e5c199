//! Counts the instructions of the SDK and of the client written by hand, and fails if a ratio is
//! above its limit.
//!
//! Other programs on the machine hardly affect instruction counts, but they affect durations.
//! Counts therefore reveal smaller increases. The program runs itself once under callgrind. It uses
//! one thread and no network: every request receives the same response from memory.

use std::{env, fs, hint::black_box, process::Command, time::Duration};

use anyhow::{Context, Result, ensure};
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
use tokio::runtime::Runtime;

use crate::{
    by_hand,
    get::{JOB_ID, PROJECT},
    pages::{self, plain},
};

/// Compiler for which the limits hold. With other compilers, a ratio above its limit is no error.
const COMPILER: &str = "rustc 1.95.0";

/// Limits of the ratios: 3 % above the measured ratios.
const LIMITS: [(&str, f64); 4] = [
    ("one get, signed", 1.134),
    ("signing: a signed get less one with a token", 1.056),
    ("decoding 50 jobs", 0.940),
    ("decoding 100 events", 0.779),
];

const ENDPOINT: &str = "http://127.0.0.1:9";
/// Number of counted calls.
const CALLS: u32 = 100;

/// Prints the counts, and compares their ratios with the limits.
pub fn compare() -> Result<()> {
    let [get, token, jobs, events] = count()?;
    let signing = (get.0 - token.0, get.1 - token.1);
    let output = Command::new("rustc").arg("--version").output()?;
    let compiler = String::from_utf8_lossy(&output.stdout);
    println!("Instructions per call, {}:\n", compiler.trim());
    println!("| instructions | modelarts-ext | by hand | ratio | limit |\n|---|---|---|---|---|");
    let mut above = false;
    for ((work, limit), (ours, by_hand)) in LIMITS.into_iter().zip([get, signing, jobs, events]) {
        let ratio = ours / by_hand;
        println!("| {work} | {ours:.0} | {by_hand:.0} | {ratio:.3} | {limit:.3} |");
        above |= ratio > limit;
    }
    ensure!(
        !above || !compiler.starts_with(COMPILER),
        "a ratio is above its limit; make the code cheaper, or justify the cost and raise the \
         limit in {}",
        file!()
    );
    Ok(())
}

/// Returns the instructions per call of each task of [`run`]: with the SDK, and by hand.
fn count() -> Result<[(f64, f64); 4]> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("counts");
    // Callgrind writes a file with the instructions of each execution of `counted_calls`.
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(concat!("--zero-before=", module_path!(), "::counted_calls"))
        .arg(concat!("--dump-after=", module_path!(), "::counted_calls"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(env::current_exe()?)
        .arg("counted")
        .status()
        .context("valgrind could not be started; install it, for instance by apt-get")?;
    ensure!(status.success(), "valgrind: {status}");
    let count = |number: u32| -> Result<f64> {
        let text = fs::read_to_string(format!("{}.{number}", file.display()))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        let total = total.context("callgrind reports no total")?;
        Ok(total.trim().parse::<f64>()? / f64::from(CALLS))
    };
    let pair = |number| anyhow::Ok((count(number)?, count(number + 1)?));
    Ok([pair(1)?, pair(3)?, pair(5)?, pair(7)?])
}

/// Runs each task with the SDK and by hand. [`compare`] calls this function under callgrind.
pub fn run(runtime: &Runtime) -> Result<()> {
    for signed in [true, false] {
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
        repeat(|times| {
            runtime.block_on(async {
                for _ in 0..times {
                    let job = jobs.get(JOB_ID).await?;
                    ensure!(job.name() == "leaves", "not the requested job");
                }
                Ok(())
            })
        })?;
        let http = by_hand::client()?;
        repeat(|times| runtime.block_on(get_by_hand(&http, signed, times)))?;
    }
    decode::<ListTrainingJobsResponse, plain::Jobs>(&pages::jobs())?;
    decode::<ListTrainingJobEventsResponse, plain::Events>(&pages::events(20_000, 0, 100))
}

/// Runs the work as a warm-up, which is not counted, and then with counting.
fn repeat(mut work: impl FnMut(u32) -> Result<()>) -> Result<()> {
    work(20)?;
    counted_calls(&mut work)
}

/// Runs the work. Callgrind finds this function by its name, and would miss its end if it ended in
/// a tail call.
#[inline(never)]
fn counted_calls(work: &mut dyn FnMut(u32) -> Result<()>) -> Result<()> {
    black_box(work(CALLS))
}

async fn get_by_hand(http: &reqwest::Client, signed: bool, times: u32) -> Result<()> {
    let path = format!("/v2/{PROJECT}/training-jobs/{JOB_ID}");
    for _ in 0..times {
        let request = http.get(format!("{ENDPOINT}{path}"));
        let request = if signed {
            by_hand::signed(request, ENDPOINT, &path)?
        } else {
            by_hand::with_token(request)
        };
        let request = request.build()?;
        let read = async { by_hand::read(respond(&request)).await };
        let (job, _) = tokio::time::timeout(Duration::from_secs(120), read).await??;
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
    let mut response = http::Response::new(pages::JOB);
    for (name, value) in [
        ("content-type", "application/json;charset=UTF-8"),
        ("x-request-id", "6c9f1d2ab8f44c0ca2c3a6b80dbe0f11"),
    ] {
        let value = http::HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response.into()
}

fn decode<Ours: Decode, Plain: DeserializeOwned>(body: &str) -> Result<()> {
    repeat(|times| {
        (0..times).try_for_each(|_| {
            let (_, skipped) = decode::body::<Ours>(body.as_bytes())?;
            ensure!(skipped.is_empty(), "a row could not be decoded");
            Ok(())
        })
    })?;
    repeat(|times| {
        for _ in 0..times {
            drop(serde_json::from_slice::<Plain>(body.as_bytes())?);
        }
        Ok(())
    })
}

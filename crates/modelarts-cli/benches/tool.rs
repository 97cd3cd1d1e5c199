//! Measures the command-line tool: its start, lists and logs, compared with programs that do the
//! same with less.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use futures::TryStreamExt;
use modelarts_emulator::{Emulator, Timing, seeds::Seeds};
use modelarts_ext::{Client, LogItem};
use serde_json::{Value, json};

use crate::timing::median;

const TOKEN: &str = "bench";
const LINES: usize = 200_000;
/// Maximum size of the stripped program, in megabytes.
const MAX_SIZE: f64 = 20.0;

/// Baseline that the library prints alone, in a process of its own.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Baseline {
    /// Prints the names of the first page of jobs.
    FirstPage,
    /// Follows the log of the job `long`.
    FollowLog,
}

/// Runs a baseline with the settings of the environment; [`measure`] starts this process.
#[tokio::main(flavor = "current_thread")]
pub async fn run(baseline: Baseline) -> Result<()> {
    let client = Client::from_env()?;
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    match baseline {
        Baseline::FirstPage => {
            let mut pages = client.training_jobs().list().pages();
            let page = pages.try_next().await?.context("there are no jobs")?;
            for job in page.items {
                writeln!(stdout, "{}", job.name())?;
            }
        }
        Baseline::FollowLog => {
            let job = client.training_jobs().get_by_name("long").await?;
            let mut lines = job.logs("worker-0").follow();
            while let Some(item) = lines.try_next().await? {
                if let LogItem::Line(line) = item {
                    writeln!(stdout, "{line}")?;
                }
            }
        }
    }
    Ok(stdout.flush()?)
}

/// Measures the program `modelarts`, which is built first.
#[tokio::main]
pub async fn measure() -> Result<()> {
    let program = build()?;
    let size = fs::metadata(&program)?.len() as f64 / 1e6;
    println!("Size of the program, stripped: {size:.1} MB (target: at most {MAX_SIZE})\n");
    let few = start(10, false).await?;
    let many = start(10_000, true).await?;
    let place = tempfile::tempdir()?;
    let empty = empty_program(place.path())?;
    let this = std::env::current_exe()?;
    println!("| | program, ms | compared with | ms | ratio | target |\n|---|---|---|---|---|---|");
    let tool = |emulator: &Emulator, arguments: &[&str]| {
        let mut command = command(&program, emulator, place.path());
        command.args(arguments);
        command
    };
    let library = |emulator: &Emulator, baseline: &str| {
        let mut command = command(&this, emulator, place.path());
        command.args(["baseline", baseline]);
        command
    };
    compare("`--help`", "an empty Rust program", 41, 3.0, || {
        Ok((
            whole(&mut tool(&few, &["--help"]))?,
            whole(&mut Command::new(&empty))?,
        ))
    })?;
    let url = format!(
        "{}/v2/{}/training-job-searches",
        few.url(),
        few.project_id()
    );
    compare("`ls` of 10 jobs", "curl, the same request", 41, 2.0, || {
        let mut curl = Command::new("curl");
        curl.args(["-sf", "-H", "content-type: application/json"])
            .args(["-H", &format!("x-auth-token: {TOKEN}")])
            .args([
                "-d",
                r#"{"offset":0,"limit":50,"sort_by":"create_time","order":"desc"}"#,
            ])
            .arg(&url);
        Ok((whole(&mut tool(&few, &["ls"]))?, whole(&mut curl)?))
    })?;
    compare(
        "first row of 10,000 jobs",
        "the library's first page",
        21,
        1.5,
        || {
            Ok((
                // The first line has the headings.
                until_line(&mut tool(&many, &["ls"]), 2)?,
                until_line(&mut library(&many, "first-page"), 1)?,
            ))
        },
    )?;
    let name = format!("`logs -f` of {LINES} lines");
    compare(&name, "the library's lines", 5, 1.5, || {
        Ok((
            whole(&mut tool(&many, &["logs", "-f", "long"]))?,
            whole(&mut library(&many, "follow-log"))?,
        ))
    })?;
    println!();
    few.shutdown().await;
    many.shutdown().await;
    Ok(())
}

/// Builds the program as it is released.
fn build() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "build",
            "--quiet",
            "--profile",
            "distribution",
            "--package",
            "modelarts-cli",
        ])
        .current_dir(&root)
        .status()?;
    ensure!(status.success(), "modelarts-cli does not build: {status}");
    // This program is in target/release.
    let this = std::env::current_exe()?;
    let target = this.ancestors().nth(2).context("no target directory")?;
    Ok(target.join("distribution/modelarts"))
}

fn empty_program(place: &Path) -> Result<PathBuf> {
    let (source, program) = (place.join("empty.rs"), place.join("empty"));
    fs::write(&source, "fn main() {}\n")?;
    let status = Command::new("rustc")
        .args(["-O", "-o"])
        .arg(&program)
        .arg(&source)
        .status()?;
    ensure!(status.success(), "rustc: {status}");
    Ok(program)
}

/// Starts an emulator with this number of jobs, and the job `long` with its log if required.
async fn start(jobs: usize, with_log: bool) -> Result<Emulator> {
    let emulator = Emulator::builder()
        .token(TOKEN)
        .job_quota(u32::MAX)
        .timing(Timing::instant())
        .start()
        .await?;
    let mut seeds: Vec<Value> = (0..jobs)
        .map(|number| json!({"name": format!("job-{number}")}))
        .collect();
    if with_log {
        let lines: String = (0..LINES)
            .map(|number| format!("epoch {number} loss 0.{number:06} of the training\n"))
            .collect();
        seeds.push(json!({"name": "long", "logs": {"worker-0": lines}}));
    }
    let seeds = Seeds::from_json(&json!({ "jobs": seeds }).to_string())?;
    emulator.seed(&seeds).await?;
    Ok(emulator)
}

/// Returns a program with the settings of the emulator and no others.
fn command(program: &Path, emulator: &Emulator, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", home)
        .env("HW_AUTH_TOKEN", TOKEN)
        .env("MODELARTS_ENDPOINT", emulator.url())
        .env("HUAWEICLOUD_SDK_PROJECT_ID", emulator.project_id())
        .stderr(Stdio::inherit());
    command
}

/// Prints the medians of two programs, and the median of the ratios.
fn compare(
    name: &str,
    floor_name: &str,
    rounds: usize,
    target: f64,
    mut round: impl FnMut() -> Result<(f64, f64)>,
) -> Result<()> {
    round()?;
    let rounds: Vec<(f64, f64)> = (0..rounds).map(|_| round()).collect::<Result<_>>()?;
    let ours = median(rounds.iter().map(|round| round.0).collect());
    let floor = median(rounds.iter().map(|round| round.1).collect());
    let ratio = median(rounds.iter().map(|round| round.0 / round.1).collect());
    println!(
        "| {name} | {ours:.1} | {floor_name} | {floor:.1} | **{ratio:.2}** | at most {target} |"
    );
    Ok(())
}

/// Runs a program to its end. Returns the time in milliseconds.
fn whole(command: &mut Command) -> Result<f64> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut stdout = child.stdout.take().context("no stdout")?;
    std::io::copy(&mut stdout.by_ref(), &mut std::io::sink())?;
    let status = child.wait()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Runs a program until it has printed this line. Returns the time in milliseconds.
fn until_line(command: &mut Command, number: usize) -> Result<f64> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
    let line = stdout.lines().nth(number - 1).context("too few lines")??;
    let elapsed = started.elapsed().as_secs_f64() * 1e3;
    ensure!(!line.is_empty(), "{command:?}: an empty line");
    child.kill()?;
    child.wait()?;
    Ok(elapsed)
}

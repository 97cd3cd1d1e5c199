//! Scenarios of the launcher `slurm` of modelarts-emulator, on a cluster of three nodes that runs on
//! this machine. Started by `cargo xtask slurm`.

mod cluster;
mod embedded;
mod emulator;
mod figures;
mod scenarios;
mod site;

/// Job of the quick start, the same as in the example.
#[path = "../../../crates/modelarts-obs/examples/quickstart/job.rs"]
mod job;

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    cluster::{Cluster, tail},
    scenarios::{ALL, Scenario},
    site::{Launcher, Site},
};

/// Time limit of a scenario.
const LIMIT: Duration = Duration::from_secs(300);

/// Settings of the program.
#[derive(Parser)]
struct Arguments {
    /// Program `modelarts-emulator`
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
    /// Run only the scenarios of CI
    #[arg(long, conflicts_with = "names")]
    ci: bool,
    /// Measure instead, and print tables
    #[arg(long, conflicts_with_all = ["ci", "names"])]
    figures: bool,
    /// Run jobs as processes of this machine instead
    #[arg(long, hide = true)]
    local: bool,
    /// Run an emulator in this process, for a scenario with this directory
    #[arg(long, value_name = "DIR", hide = true)]
    embedded: Option<PathBuf>,
    /// Scenarios to run; all if not given
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let work = run(Arguments::parse());
    let result = tokio::select! {
        result = work => result,
        // The cluster is dropped, which ends its processes.
        () = interrupt() => Err(anyhow::anyhow!("interrupted")),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Completes on Ctrl-C and on SIGTERM.
async fn interrupt() {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated => {}
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode> {
    if let Some(directory) = arguments.embedded {
        return embedded::serve(&directory, arguments.program, emulator::TOKEN).await;
    }
    let selected = select(&arguments)?;
    let program = fs::canonicalize(&arguments.program)
        .with_context(|| arguments.program.display().to_string())?;
    let launcher = match arguments.local {
        true => Launcher::Local,
        false => Launcher::Slurm,
    };
    let mut cluster = start().await?;
    if arguments.figures {
        figures::run(&cluster, &program).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut failed = Vec::new();
    for scenario in &selected {
        let site = Site::create(&cluster, launcher, scenario.name, &program)?;
        let start_time = Instant::now();
        let result = match tokio::time::timeout(LIMIT, (scenario.run)(&site)).await {
            Ok(result) => result,
            Err(_) => Err(anyhow::anyhow!(
                "not ended after {} seconds",
                LIMIT.as_secs()
            )),
        };
        let seconds = start_time.elapsed().as_secs_f64();
        let result = result.and_then(|()| cluster.wait_until_idle());
        match result {
            Ok(()) => println!("{:<14} {seconds:>6.1} s", scenario.name),
            Err(error) => {
                println!("{:<14} {seconds:>6.1} s  FAILED: {error:#}", scenario.name);
                let log = fs::read_to_string(site.directory().join(emulator::LOG));
                for line in tail(&log.unwrap_or_default(), 30) {
                    println!("    emulator | {line}");
                }
                print!("{}", cluster.report());
                failed.push(scenario.name);
                // The next scenario gets a cluster in a known state.
                drop(cluster);
                cluster = start().await?;
            }
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{} of {} failed: {}",
        failed.len(),
        selected.len(),
        failed.join(", ")
    );
    Ok(ExitCode::FAILURE)
}

/// Starts the cluster, and prints the time that this took.
async fn start() -> Result<Cluster> {
    let start = Instant::now();
    let cluster = tokio::task::spawn_blocking(Cluster::start).await??;
    println!("{:<14} {:>6.1} s", "cluster", start.elapsed().as_secs_f64());
    Ok(cluster)
}

fn select(arguments: &Arguments) -> Result<Vec<&'static Scenario>> {
    let names = &arguments.names;
    if let Some(unknown) = names
        .iter()
        .find(|name| ALL.iter().all(|it| it.name != **name))
    {
        let known: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
        bail!(
            "no scenario is called {unknown}; there are {}",
            known.join(", ")
        );
    }
    let selected = ALL.iter().filter(|scenario| match arguments.ci {
        true => scenario.in_ci,
        // Five kills include one.
        false if names.is_empty() => scenario.name != "kill",
        false => names.iter().any(|name| name == scenario.name),
    });
    Ok(selected.collect())
}

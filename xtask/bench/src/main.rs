//! Measures the client against what one would write by hand.
//!
//! Everything is a ratio of two things measured in turn in one run, because single
//! figures of a shared machine say little. See `BENCH.md` for results.

mod build;
mod by_hand;
mod calls;
mod official;
mod server;
mod timing;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask bench", about = "Measures, and prints tables")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// One get over loopback, against reqwest and serde used by hand
    Get,
    /// The same get, against the official Python SDK where it is installed
    Official {
        /// The interpreter that has huaweicloudsdkmodelarts
        #[arg(long, default_value = "python3")]
        python: String,
    },
    /// A clean build of a program that uses modelarts-ext, against one that uses reqwest
    Build,
    /// Only gets, for a profiler
    #[command(hide = true)]
    Profile {
        calls: u32,
        /// Those by hand instead of those of the SDK
        #[arg(long)]
        by_hand: bool,
    },
    /// Answers every request with the same job; for the other commands
    #[command(hide = true)]
    Serve,
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Some(Command::Serve) => server::run(),
        Some(Command::Profile { calls, by_hand }) => calls::profile(calls, by_hand),
        Some(Command::Get) => calls::get(),
        Some(Command::Official { python }) => official::compare(&python),
        Some(Command::Build) => build::compare(),
        None => {
            calls::get()?;
            official::compare("python3")?;
            build::compare()
        }
    }
}

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
    /// Clean builds of programs that use our crates, against one that uses reqwest alone
    Build {
        /// How often each is built
        #[arg(long, default_value_t = 3)]
        rounds: usize,
        /// Only programs with this crate
        #[arg(long)]
        only: Option<build::Crate>,
    },
    /// Only gets, for a profiler
    #[command(hide = true)]
    Profile { calls: u32 },
    /// Answers every request with the same job; for the other commands
    #[command(hide = true)]
    Serve,
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Some(Command::Serve) => server::run(),
        Some(Command::Profile { calls }) => calls::profile(calls),
        Some(Command::Get) => calls::get(),
        Some(Command::Official { python }) => official::compare(&python),
        Some(Command::Build { rounds, only }) => build::compare(rounds, only),
        None => {
            calls::get()?;
            official::compare("python3")?;
            build::compare(3, None)
        }
    }
}

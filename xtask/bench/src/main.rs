//! Measures the client against what one would write by hand, and the emulator.
//!
//! What is said of the client is a ratio of two things measured in turn in one run, because single
//! figures of a shared machine say little. See `BENCH.md` for results.

mod build;
mod by_hand;
mod calls;
mod emulator;
mod listing;
mod official;
mod server;
mod timing;

use std::path::PathBuf;

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
    /// The emulator: answers a second, ten thousand jobs, memory
    Emulator,
    /// Clean builds of programs that use our crates, against one that uses reqwest alone
    Build {
        /// How often each is built
        #[arg(long, default_value_t = 3)]
        rounds: usize,
    },
    /// The emulator's lists over a million jobs, against ten thousand; takes minutes
    EmulatorListing,
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
    /// An emulator in this directory; for the other commands
    #[command(hide = true)]
    Emulate { place: PathBuf },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Some(Command::Serve) => server::run(),
        Some(Command::Emulate { place }) => emulator::serve(&place),
        Some(Command::Emulator) => emulator::measure(),
        Some(Command::Profile { calls, by_hand }) => calls::profile(calls, by_hand),
        Some(Command::EmulatorListing) => listing::measure(),
        Some(Command::Get) => calls::get(),
        Some(Command::Official { python }) => official::compare(&python),
        Some(Command::Build { rounds }) => build::compare(rounds),
        None => {
            calls::get()?;
            official::compare("python3")?;
            emulator::measure()?;
            build::compare(3)
        }
    }
}

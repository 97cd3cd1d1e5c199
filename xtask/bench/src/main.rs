//! Measures the client against what one would write by hand.
//!
//! Everything is a ratio of two things measured in turn in one run, because single
//! figures of a shared machine say little. See `BENCH.md` for results.

mod build;
mod by_hand;
mod calls;
mod decode;
mod events;
mod in_flight;
mod memory;
mod official;
mod server;
mod shapes;
mod timing;

use std::time::Duration;

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
    /// Decoding pages of events and jobs, against plain structs
    Decode,
    /// A long list over a slow connection, with one page in flight and with eight
    InFlight,
    /// The memory that a list of a million events takes
    Memory,
    /// A clean build of a program that uses modelarts-ext, against one that uses reqwest
    Build,
    /// Only gets, for a profiler
    #[command(hide = true)]
    Profile { calls: u32 },
    /// Only decoding, for a profiler
    #[command(hide = true)]
    ProfileDecode { pages: u32 },
    /// Answers requests for a job and its events; for the other commands
    #[command(hide = true)]
    Serve {
        /// How many events the job has
        events: u64,
        /// How long a page of them takes, in milliseconds
        delay: u64,
    },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Some(Command::Serve { events, delay }) => server::run(events, Duration::from_millis(delay)),
        Some(Command::ProfileDecode { pages }) => decode::profile(pages),
        Some(Command::Decode) => decode::compare(),
        Some(Command::InFlight) => in_flight::compare(),
        Some(Command::Memory) => memory::measure(),
        Some(Command::Profile { calls }) => calls::profile(calls),
        Some(Command::Get) => calls::get(),
        Some(Command::Official { python }) => official::compare(&python),
        Some(Command::Build) => build::compare(),
        None => {
            calls::get()?;
            official::compare("python3")?;
            decode::compare()?;
            in_flight::compare()?;
            memory::measure()?;
            build::compare()
        }
    }
}

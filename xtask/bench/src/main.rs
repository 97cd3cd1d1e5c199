//! Measures the client against what one would write by hand, and the emulator.
//!
//! What is said of the client is a ratio of two things measured in turn in one run, because single
//! figures of a shared machine say little. See `BENCH.md` for results.

mod build;
mod by_hand;
mod calls;
mod decode;
mod emulator;
mod events;
mod in_flight;
mod listing;
mod memory;
mod official;
mod server;
mod shapes;
mod timing;

use std::{path::PathBuf, time::Duration};

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
        /// Only programs with this crate
        #[arg(long)]
        only: Option<build::Crate>,
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
    /// An emulator in this directory; for the other commands
    #[command(hide = true)]
    Emulate { place: PathBuf },
    /// Decoding pages of events and jobs, against plain structs
    Decode,
    /// A long list over a slow connection, with one page in flight and with eight
    InFlight,
    /// The memory that a list of a million events takes
    Memory,
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
        Some(Command::Emulate { place }) => emulator::serve(&place),
        Some(Command::Emulator) => emulator::measure(),
        Some(Command::Profile { calls, by_hand }) => calls::profile(calls, by_hand),
        Some(Command::Serve { events, delay }) => server::run(events, Duration::from_millis(delay)),
        Some(Command::ProfileDecode { pages }) => decode::profile(pages),
        Some(Command::Decode) => decode::compare(),
        Some(Command::InFlight) => in_flight::compare(),
        Some(Command::Memory) => memory::measure(),
        Some(Command::EmulatorListing) => listing::measure(),
        Some(Command::Get) => calls::get(),
        Some(Command::Official { python }) => official::compare(&python),
        Some(Command::Build { rounds, only }) => build::compare(rounds, only),
        None => {
            calls::get()?;
            official::compare("python3")?;
            emulator::measure()?;
            decode::compare()?;
            in_flight::compare()?;
            memory::measure()?;
            build::compare(3, None)
        }
    }
}

//! Benchmarks of the SDK and of the emulator.
//!
//! Most benchmarks of the SDK report the ratio of two programs, which are measured in alternating
//! rounds of one run. Absolute figures would vary on a shared machine. `BENCH.md` contains results.

mod build;
mod by_hand;
mod calls;
mod canned;
mod decode;
mod emulator;
mod events;
mod in_flight;
mod memory;
mod official;
mod server;
mod shapes;
mod timing;
mod tool;

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
    /// One call over loopback, compared with a client written by hand with reqwest and serde
    Get,
    /// The same call, compared with the official Python SDK if it is installed
    Official {
        /// The Python interpreter with the package huaweicloudsdkmodelarts
        #[arg(long, default_value = "python3")]
        python: String,
    },
    /// The emulator: responses per second, ten thousand jobs, memory
    Emulator,
    /// Clean builds of programs with the SDK, compared with programs that use reqwest alone
    Build {
        /// Number of builds of each program
        #[arg(long, default_value_t = 3)]
        rounds: usize,
        /// Measure only programs with this crate
        #[arg(long)]
        only: Option<build::Crate>,
    },
    /// The emulator's lists of a million jobs, compared with those of ten thousand; takes minutes
    EmulatorListing,
    /// Run an emulator in this directory; started by the other commands
    #[command(hide = true)]
    Emulate { place: PathBuf },
    /// Decoding pages of events and jobs, compared with plain structs
    Decode,
    /// A long list over a slow connection, with one page in flight and with eight
    InFlight,
    /// The command-line tool, compared with an empty program, curl and the library
    Tool,
    /// Do what the command-line tool does with the library alone; started by `tool`
    #[command(hide = true)]
    Baseline { baseline: tool::Baseline },
    /// Memory usage of reading a list of a million events
    Memory,
    /// Serve a job and its events; started by the other commands
    #[command(hide = true)]
    Serve {
        /// Number of events of the job
        events: u64,
        /// Delay of each page of events, in milliseconds
        delay: u64,
    },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Some(Command::Emulate { place }) => emulator::serve(&place),
        Some(Command::Emulator) => emulator::measure(),
        Some(Command::Serve { events, delay }) => server::run(events, Duration::from_millis(delay)),
        Some(Command::Decode) => decode::compare(),
        Some(Command::InFlight) => in_flight::compare(),
        Some(Command::Tool) => tool::measure(),
        Some(Command::Baseline { baseline }) => tool::run(baseline),
        Some(Command::Memory) => memory::measure(),
        Some(Command::EmulatorListing) => emulator::listing::measure(),
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

//! Command-line arguments of the program.

use clap::{ArgAction, Args, CommandFactory, Parser};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::format::FmtSpan,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{commands::Command, context::CONTEXT_VARIABLE, output::OutputArguments};

const EXIT_CODES: &str = "\
Exit codes:
  0    completed, or the command succeeded
  1    refused by the service, the network or this machine
  2    wrong arguments
  3    refused by the check; nothing was sent
  4    no such job, or no such object
  10   the job failed
  11   the job ended abnormally
  12   the job was terminated
  13   the job was deleted meanwhile
  124  the time limit passed
  130  Ctrl-C, SIGTERM or SIGHUP; the job continues, except on this machine
  141  the reader of stdout ended before the job

Credentials, region and project are those of the SDK: the variables HUAWEICLOUD_SDK_AK,
HUAWEICLOUD_SDK_SK, HUAWEICLOUD_SDK_PROJECT_ID and MODELARTS_REGION, or files; `modelarts doctor`
prints where each was found. The program sends nothing but the requests of its commands and of
completion: it has no telemetry.";

/// Runs training jobs on ModelArts, and first on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "modelarts",
    version,
    after_long_help = EXIT_CODES,
    after_help = "Exit codes and settings: modelarts --help",
    infer_subcommands = false,
    disable_help_subcommand = false
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Global arguments, which all commands accept.
#[derive(Debug, Args)]
pub(crate) struct GlobalArguments {
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Context: settings that `modelarts context` manages.
    #[arg(
        long,
        global = true,
        env = CONTEXT_VARIABLE,
        value_name = "CONTEXT",
        help_heading = "Global"
    )]
    pub(crate) context: Option<String>,
    /// Prints requests with their request ids on stderr; twice, also details.
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global")]
    pub(crate) verbose: u8,
}

/// Returns the definition of the command line, for manual pages and completion.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Crates whose logs `--verbose` prints.
const LOGGED_CRATES: [&str; 6] = [
    "modelarts_api",
    "modelarts_cli",
    "modelarts_console",
    "modelarts_emulator",
    "modelarts_ext",
    "modelarts_obs",
];

/// Sets up the log of the crates of this workspace on stderr. `RUST_LOG` takes precedence.
pub(crate) fn set_up_log(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let default = Targets::new().with_targets(LOGGED_CRATES.map(|name| (name, level)));
    let given = std::env::var("RUST_LOG").unwrap_or_default();
    let filter = match given.trim_matches(',') {
        "" => default,
        given => given.parse().unwrap_or(default),
    };
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // Logs the end of each call, with its status, attempts and request id.
        .with_span_events(FmtSpan::CLOSE)
        // A closed stderr must not end the program.
        .log_internal_errors(false)
        .finish()
        .with(filter)
        .init();
}

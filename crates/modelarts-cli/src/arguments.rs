//! Command-line arguments of the program.

use clap::{ArgAction, Args, CommandFactory, Parser};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::format::FmtSpan,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{
    commands::Command, context::CONTEXT_VARIABLE, exit_status::ExitStatus, output::OutputArguments,
};

const SETTINGS: &str = "\
Credentials, region and project are those of the SDK: the variables HUAWEICLOUD_SDK_AK,
HUAWEICLOUD_SDK_SK, HUAWEICLOUD_SDK_PROJECT_ID and MODELARTS_REGION, or files; `modelarts doctor`
prints where each was found. The program sends nothing but the requests of its commands and of
completion: it has no telemetry.";

/// Runs training jobs on ModelArts, and first on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "modelarts",
    version,
    after_long_help = notes(),
    after_help = "Exit codes and settings: modelarts --help",
    infer_subcommands = false,
    // The command `help` of this program also prints JSON.
    disable_help_subcommand = true,
    // The setting applies to all commands, but `context help` remains.
    mut_subcommands(|command| command.defer(|command| command.disable_help_subcommand(false)))
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

/// Returns the text below the flags in the help of the program.
fn notes() -> String {
    let lines = ExitStatus::ALL.iter().map(|it| format!("  {:<3}  {}\n", it.code, it.meaning));
    format!("Exit codes:\n{}\n{SETTINGS}", lines.collect::<String>())
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

//! Entry point of the program: arguments, runtime, errors, exit code.

use std::{io::Write, process::ExitCode};

use clap::Parser;
use serde_json::json;

use crate::{
    arguments::Arguments, context::Selection, exit_status::ExitStatus, failure::Failure,
    output::Output, session::Session, terminal::Terminal,
};

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json_errors = arguments.global.output.is_json();
    let status = match run(arguments) {
        Ok(status) => status,
        Err(failure) => {
            if failure.has_text() {
                print_failure(&failure, json_errors);
            }
            failure.status()
        }
    };
    ExitCode::from(status.code())
}

fn run(arguments: Arguments) -> Result<ExitStatus, Failure> {
    let global = arguments.global;
    crate::arguments::set_up_log(global.verbose);
    let terminal = Terminal::detect();
    let output = Output::new(global.output, terminal)?;
    let selection = Selection::new(global.context);
    let session = Session::new(selection, output, terminal, crate::arguments::command);
    let mut builder = match arguments.command.runs_jobs() {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| Failure::local(format_args!("no runtime: {error}")))?;
    let result = runtime.block_on(arguments.command.run(&session));
    // Threads that still read stdin must not hold up the end of the program.
    runtime.shutdown_background();
    result
}

fn print_failure(failure: &Failure, as_json: bool) {
    let mut stderr = anstream::stderr().lock();
    // Nobody reads the message if stderr is closed; the exit code remains.
    let _ = match as_json {
        true => writeln!(
            stderr,
            "{}",
            json!({"schema_version": crate::output::SCHEMA_VERSION, "error": failure.to_json()})
        ),
        false => writeln!(stderr, "error: {failure}"),
    };
}

//! Entry point of the program: arguments, runtime, errors, exit code.

use std::{env, ffi::OsString, process::ExitCode};

use clap::{
    Parser,
    error::{ContextKind, ContextValue},
};

use crate::{
    arguments::Arguments,
    completion,
    context::Selection,
    exit_status::ExitStatus,
    failure::{ErrorDocument, ErrorFacts, Failure},
    output::{self, OUTPUT_VARIABLE, Output},
    session::Session,
    terminal::{self, Terminal},
};

/// First argument that selects the program `modelarts-emulator`. The Python wheel contains one
/// executable for both programs.
#[cfg(unix)]
const EMULATOR: &str = "emulator";

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    if completion::answer(crate::arguments::command) {
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<OsString> = env::args_os().collect();
    #[cfg(unix)]
    if arguments.get(1).is_some_and(|first| first == EMULATOR) {
        let rest = arguments.into_iter().skip(2);
        let name = OsString::from("modelarts-emulator");
        return modelarts_emulator::program::run([name].into_iter().chain(rest));
    }
    let arguments = match Arguments::try_parse_from(&arguments) {
        Ok(arguments) => arguments,
        Err(mut error) => {
            suggest_command(&mut error, arguments.get(1));
            return print_usage(&error);
        }
    };
    let json_errors = arguments.global.output.has_json_errors();
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
    arguments.command.require_format(output.format)?;
    let place = arguments.command.place();
    let session = Session::new(selection, output, terminal, crate::arguments::command, place);
    let mut builder = match arguments.command.is_server() || session.has_records() {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| Failure::local(format_args!("no runtime: {error}")))?;
    let has_outcome = arguments.command.has_outcome();
    let result = match runtime.block_on(arguments.command.run(&session)) {
        Err(Failure::Closed) if has_outcome => Ok(ExitStatus::BrokenPipe),
        Err(failure) => Err(failure.with_advice(|kind| session.selection.advice(kind))),
        result => result,
    };
    runtime.block_on(session.close());
    // Threads that still read stdin must not delay the end of the program.
    runtime.shutdown_background();
    result
}

fn print_failure(failure: &Failure, as_json: bool) {
    match as_json.then(|| output::to_line(&failure.document())) {
        Some(Ok(json)) => terminal::note_unchanged(json),
        _ => {
            terminal::note(format_args!("error: {failure}"));
            if let Some(hint) = failure.hint() {
                terminal::note(hint);
            }
        }
    }
}

/// Commands of other tools, with the command that does the same here.
const OTHER_NAMES: [(&str, &str); 13] = [
    ("auth", "doctor"),
    ("cancel", "stop"),
    ("create", "submit"),
    ("delete", "rm"),
    ("describe", "show"),
    ("get", "ls"),
    ("kill", "stop"),
    ("launch", "submit"),
    ("login", "context"),
    ("ps", "ls"),
    ("queue", "ls"),
    ("status", "show"),
    ("tail", "logs"),
];

/// Suggests the command that other tools call by the unknown name `first`.
fn suggest_command(error: &mut clap::Error, first: Option<&OsString>) {
    let name = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => name.clone(),
        _ => return,
    };
    // Commands of commands, such as those of `context`, have other names.
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    if let Some((_, command)) = known.filter(|_| first.is_some_and(|first| *first == *name)) {
        let command = ContextValue::Strings(vec![(*command).to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, command);
    }
}

/// Prints the help, the version, or an error of the arguments. Returns the exit code.
fn print_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // The reader of stdout may have closed it.
        let _ = error.print();
        return ExitCode::from(ExitStatus::Success.code());
    }
    let status = ExitStatus::Usage;
    if output::is_json_requested(env::args_os()) {
        let text = error.render().to_string();
        let text = text.trim_end();
        let message = text.strip_prefix("error: ").unwrap_or(text).to_owned();
        let error = ErrorFacts::new(message, status);
        if let Ok(json) = output::to_line(&ErrorDocument { error }) {
            terminal::note_unchanged(json);
            return ExitCode::from(status.code());
        }
    }
    let _ = error.print();
    let value = error.get(ContextKind::InvalidValue);
    let argument = error.get(ContextKind::InvalidArg);
    if let (Some(ContextValue::String(value)), Some(ContextValue::String(argument))) =
        (value, argument)
        && argument.starts_with("--output")
        && env::var(OUTPUT_VARIABLE).is_ok_and(|variable| variable == *value)
    {
        terminal::note(format_args!("\nThe value may be that of the variable {OUTPUT_VARIABLE}."));
    }
    ExitCode::from(status.code())
}

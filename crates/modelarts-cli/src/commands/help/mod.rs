//! `modelarts help`: the help of a command as text, or the definition of the command line as JSON.

pub(crate) mod document;

use clap::Args;
use schemars::Schema;

use crate::{
    commands::help::document::CommandLine,
    exit_status::ExitStatus,
    failure::Failure,
    output::{Format, Stdout, one_line},
    session::Session,
    wording::near_or,
};

/// Prints the help of the program or of a command, or the command line as JSON.
#[derive(Debug, Args)]
pub(crate) struct Help {
    /// Command: submit, context set. Default: the program with all commands.
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Prints commands, flags, exit codes and the names of the schemas as one JSON document, for
    /// scripts and assistants; the same as --output json.
    #[arg(long)]
    json: bool,
}

impl Help {
    pub(crate) async fn run(
        self,
        session: &Session,
        schemas: Vec<(String, Schema)>,
    ) -> Result<ExitStatus, Failure> {
        let mut program = session.documented_command();
        program.build();
        let mut command = &program;
        for name in &self.command {
            command = command.find_subcommand(name).ok_or_else(|| unknown(command, name))?;
        }
        let format = session.output.format;
        if self.json || matches!(format, Format::Json | Format::Ndjson | Format::Yaml) {
            let schemas = schemas.into_iter().map(|(name, _)| name).collect();
            let mut stdout = Stdout::lock();
            session
                .output
                .print_json(&mut stdout, &CommandLine::new(&program, command, schemas))?;
            stdout.flush()?;
        } else {
            let names = self.command.iter().map(String::as_str);
            let words = ["modelarts"].into_iter().chain(names).chain(["--help"]);
            // The help is an error of clap. The reader of stdout may have closed it.
            let _ = (session.command)().try_get_matches_from(words).map_err(|help| help.print());
        }
        Ok(ExitStatus::Success)
    }
}

fn unknown(parent: &clap::Command, name: &str) -> Failure {
    let path = parent.get_bin_name().unwrap_or(parent.get_name());
    let known = parent.get_subcommands().map(clap::Command::get_name);
    let hint = near_or(name, known, || format!("see `{path} --help`"));
    let name = one_line(name.to_owned());
    Failure::usage(format_args!("no command is called `{path} {name}`; {hint}"))
}

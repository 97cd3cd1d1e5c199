//! `CommandLine`: the definition of the command line as a document.

use clap::{
    Arg, ArgAction, Command,
    builder::{PossibleValue, StyledStr},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit_status::{ExitCode, ExitStatus};

/// The command line of the program, or of one of its commands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommandLine {
    /// Version of the program.
    version: String,
    #[serde(flatten)]
    command: CommandFacts,
    /// Flags that all commands take.
    global_flags: Vec<ArgumentFacts>,
    /// Exit codes of the program.
    exit_codes: &'static [ExitCode],
    /// Names of the JSON Schemas of the documents, and with `.line` of the lines, that commands
    /// print.
    schemas: Vec<String>,
}

/// A command.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommandFacts {
    /// Name, such as `set` of `modelarts context set`.
    name: String,
    /// Other names.
    aliases: Vec<String>,
    /// Purpose in one sentence.
    about: Option<String>,
    /// Purpose in more sentences, if they differ.
    long_about: Option<String>,
    /// Form of the command line.
    usage: String,
    /// Arguments without a flag, in order.
    arguments: Vec<ArgumentFacts>,
    /// Flags that not all commands take.
    flags: Vec<ArgumentFacts>,
    /// Text below the flags in the help, such as examples.
    notes: Option<String>,
    /// Commands of the command.
    commands: Vec<CommandFacts>,
}

/// An argument or a flag.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArgumentFacts {
    /// The flag, such as `--output`, or the name of an argument, such as `SCRIPT`.
    name: String,
    /// Short form, such as `-o`.
    short: Option<String>,
    /// Other names.
    aliases: Vec<String>,
    /// Names of the values; none if the flag has no value.
    value_names: Vec<String>,
    /// `true` if it must always be given.
    required: bool,
    /// `true` if it may be given several times, or with several values.
    repeatable: bool,
    /// Values if it is not given; the help may describe others.
    default: Vec<String>,
    /// All values that are allowed; none if there is no list.
    values: Vec<ValueFacts>,
    /// Environment variable that sets the value.
    environment: Option<String>,
    /// Heading of the group in the help.
    heading: Option<String>,
    /// Description.
    help: Option<String>,
    /// Names of arguments and flags that must not be given together with it.
    conflicts: Vec<String>,
}

/// An allowed value.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValueFacts {
    /// The value.
    name: String,
    /// Description.
    help: Option<String>,
}

impl CommandLine {
    /// Describes `command`, which is `program` or one of its commands. Both must be built.
    pub(crate) fn new(program: &Command, command: &Command, schemas: Vec<String>) -> Self {
        Self {
            version: program.get_version().unwrap_or_default().to_owned(),
            command: CommandFacts::new(command),
            global_flags: arguments(program, is_global),
            exit_codes: ExitStatus::ALL,
            schemas,
        }
    }
}

impl CommandFacts {
    fn new(command: &Command) -> Self {
        let usage = command.clone().render_usage().to_string();
        let about = text(command.get_about());
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        Self {
            name: command.get_name().to_owned(),
            aliases: command.get_visible_aliases().map(str::to_owned).collect(),
            long_about: text(command.get_long_about()).filter(|long| about.as_ref() != Some(long)),
            about,
            usage: usage.trim_start_matches("Usage: ").to_owned(),
            arguments: arguments(command, |argument| argument.is_positional()),
            flags: arguments(command, |argument| !argument.is_positional() && !is_global(argument)),
            notes: text(command.get_after_long_help().or_else(|| command.get_after_help())),
            commands: commands.map(Self::new).collect(),
        }
    }
}

/// Returns `true` if all commands take the flag. Clap adds `--help` to each of them.
fn is_global(argument: &Arg) -> bool {
    argument.is_global_set() || matches!(argument.get_action(), ArgAction::Help)
}

fn arguments(command: &Command, is_part: impl Fn(&Arg) -> bool) -> Vec<ArgumentFacts> {
    let all = command.get_arguments().filter(|it| !it.is_hide_set() && is_part(it));
    all.map(|it| ArgumentFacts::new(command, it)).collect()
}

impl ArgumentFacts {
    fn new(command: &Command, argument: &Arg) -> Self {
        let has_values = argument.get_action().takes_values();
        let aliases = argument.get_visible_aliases().unwrap_or_default();
        let value_names = argument.get_value_names().filter(|_| has_values).unwrap_or_default();
        let defaults = argument.get_default_values().iter().filter(|_| has_values);
        let values = argument.get_possible_values();
        // Either of two conflicting arguments may name the other.
        let names = |one, other| command.get_arg_conflicts_with(one).contains(&other);
        let others = command.get_arguments().filter(|it| !it.is_hide_set());
        let conflicts = others.filter(|it| names(argument, it) || names(it, argument));
        Self {
            name: name(argument),
            short: argument.get_short().map(|short| format!("-{short}")),
            aliases: aliases.into_iter().map(|alias| format!("--{alias}")).collect(),
            value_names: value_names.iter().map(ToString::to_string).collect(),
            required: argument.is_required_set(),
            repeatable: matches!(argument.get_action(), ArgAction::Append | ArgAction::Count),
            default: defaults.map(|value| value.to_string_lossy().into_owned()).collect(),
            values: values.iter().filter(|it| !it.is_hide_set()).map(ValueFacts::new).collect(),
            environment: argument.get_env().map(|name| name.to_string_lossy().into_owned()),
            heading: argument.get_help_heading().map(str::to_owned),
            help: text(argument.get_long_help().or_else(|| argument.get_help())),
            conflicts: conflicts.map(name).collect(),
        }
    }
}

impl ValueFacts {
    fn new(value: &PossibleValue) -> Self {
        Self { name: value.get_name().to_owned(), help: text(value.get_help()) }
    }
}

fn name(argument: &Arg) -> String {
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    argument.get_long().map(|long| format!("--{long}")).or(value).unwrap_or_default()
}

fn text(text: Option<&StyledStr>) -> Option<String> {
    text.map(ToString::to_string)
}

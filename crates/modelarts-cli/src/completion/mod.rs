//! Completion of the command line in bash, zsh and fish, with values of the service from a cache.
//!
//! The script of a shell runs the program with the variable [`VARIABLE`] for each Tab. The answer
//! comes from files alone. If the cached values are old, a process in the background reads them
//! from the service.

mod cache;

pub(crate) use cache::{ENGINES, Entry, FLAVORS, JOBS, MAX_ENTRIES, remember};

use std::{env, ffi::OsString, panic, process, sync::Arc};

use clap::{Arg, Command, ValueHint, builder::StyledStr};
use clap_complete::{ArgValueCandidates, CompletionCandidate, Shell, engine::complete};

use crate::{
    context::{CONTEXT_VARIABLE, Contexts, Selection},
    output::Stdout,
};
use cache::Cache;

/// Variable with which a shell asks for an answer.
const VARIABLE: &str = "MODELARTS_COMPLETE";
/// Names of values that may be files.
const FILES: [&str; 5] = ["SCRIPT", "SOURCE", "TARGET", "DIR", "[NAME=]DIR"];

/// Returns the script of a shell that asks the program for answers; `None` for other shells.
pub(crate) fn script(shell: Shell) -> Option<&'static str> {
    match shell {
        Shell::Bash => Some(include_str!("modelarts.bash")),
        Shell::Fish => Some(include_str!("modelarts.fish")),
        Shell::Zsh => Some(include_str!("modelarts.zsh")),
        _ => None,
    }
}

/// Answers a shell that asks for the next word: prints values with their help, one on a line.
/// Returns `false` if no shell asks. Prints no errors, because they would appear in the line that
/// the user types.
pub(crate) fn answer(command: fn() -> Command) -> bool {
    if env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    panic::set_hook(Box::new(|_| {}));
    let words: Vec<OsString> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let context = context_of(&words).or_else(|| env::var(CONTEXT_VARIABLE).ok());
    let selection = Selection::new(context.clone());
    // Jobs of this machine are not cached.
    let is_local = words.iter().any(|word| word == "--local");
    let cache = if is_local { Cache::default() } else { Cache::of(&selection) };
    let cache = Arc::new(cache);
    let lines = answers(with_commands(with_candidates(command(), &cache)), words);
    let mut stdout = Stdout::lock();
    let _ = stdout.write(&lines).and_then(|()| stdout.flush());
    if !is_local && cache.claim_refresh(&selection) {
        refresh(context);
    }
    true
}

/// Returns the value of the last `--context` in a line that may be incomplete.
fn context_of(words: &[OsString]) -> Option<String> {
    let words = words.iter().filter_map(|word| word.to_str());
    let pairs: Vec<(&str, &str)> = words.clone().zip(words.skip(1)).collect();
    let context = pairs.into_iter().rev().find_map(|(flag, value)| match flag {
        "--context" => Some(value),
        _ => value.strip_prefix("--context="),
    });
    context.map(str::to_owned)
}

/// Returns the values that fit the last word; none if it is a file, which shells complete better.
fn answers(mut command: Command, words: Vec<OsString>) -> String {
    let is_empty = words.last().is_some_and(|word| word.is_empty());
    let index = words.len().saturating_sub(1);
    let mut candidates = complete(&mut command, words, index, None).unwrap_or_default();
    let is_flag = |it: &CompletionCandidate| it.get_value().to_string_lossy().starts_with('-');
    if is_empty && !candidates.iter().all(is_flag) {
        candidates.retain(|candidate| !is_flag(candidate));
    }
    let lines = candidates.iter().filter_map(|candidate| {
        let value = candidate.get_value().to_str().filter(|value| is_plain(value))?;
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().unwrap_or_default().replace(char::is_control, " ");
        Some(format!("{value}\t{help}\n"))
    });
    lines.collect()
}

/// Returns `true` if shells take the value literally. Names are texts of other users.
fn is_plain(value: &str) -> bool {
    let is_literal = |c: char| c.is_ascii_alphanumeric() || "_-.:/+@=".contains(c);
    !value.is_empty() && value.chars().all(is_literal)
}

/// Adds candidates to the arguments that take jobs, flavors, engines, contexts and files.
fn with_candidates(command: Command, cache: &Arc<Cache>) -> Command {
    let add = |argument: Arg| {
        let name = argument.get_value_names().and_then(|names| names.first()).cloned();
        let name = name.as_ref().map_or("", |name| name.as_str());
        let is_file = FILES.contains(&name) || argument.get_value_hint() != ValueHint::Unknown;
        let list = [JOBS, FLAVORS, ENGINES].into_iter().find(|list| *list == name);
        let cache = Arc::clone(cache);
        match list {
            Some(list) => argument.add(ArgValueCandidates::new(move || values(&cache, list))),
            None if name == "CONTEXT" => argument.add(ArgValueCandidates::new(contexts)),
            // Takes precedence over flags for an empty word, and is not printed.
            None if is_file => argument.add(ArgValueCandidates::new(|| vec!["".into()])),
            None => argument,
        }
    };
    command.mut_args(add).mut_subcommands(|command| with_candidates(command, cache))
}

/// Adds the names of the commands to the argument of `help`.
fn with_commands(command: Command) -> Command {
    let facts = |it: &Command| (it.get_name().to_owned(), it.get_about().cloned());
    let names: Vec<_> = command.get_subcommands().map(facts).collect();
    let candidate = |(name, about): &(String, Option<StyledStr>)| {
        CompletionCandidate::new(name).help(about.clone())
    };
    let candidates = move || names.iter().map(candidate).collect();
    let add = |argument: Arg| argument.add(ArgValueCandidates::new(candidates));
    command.mut_subcommand("help", |help| help.mut_arg("command", add))
}

fn values(cache: &Cache, list: &str) -> Vec<CompletionCandidate> {
    // The program would read a name with a leading hyphen as a flag.
    let entries = cache.entries(list).iter().filter(|entry| !entry.value.starts_with('-'));
    let candidate = |it: &Entry| CompletionCandidate::new(&it.value).help(Some(it.help().into()));
    // Without values, the empty candidate keeps flags away, as for files.
    entries.map(candidate).chain([CompletionCandidate::new("")]).collect()
}

fn contexts() -> Vec<CompletionCandidate> {
    let contexts = Contexts::path().and_then(|path| Contexts::read(&path)).unwrap_or_default();
    contexts.contexts.into_keys().map(CompletionCandidate::new).collect()
}

/// Starts a process that reads the values of the service for the next Tab.
fn refresh(context: Option<String>) {
    let program = env::current_exe().unwrap_or_else(|_| "modelarts".into());
    let mut command = process::Command::new(program);
    command.args(["completion", "--refresh"]).env_remove(VARIABLE);
    command.args(context.map(|context| format!("--context={context}")));
    let null = process::Stdio::null;
    command.stdin(null()).stdout(null()).stderr(null());
    // Ctrl-C in the shell must not reach the process.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let _ = command.spawn();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> Arc<Cache> {
        let mut cache = Cache::default();
        let entry = |value: &str, text: &str| Entry {
            value: value.to_owned(),
            text: text.to_owned(),
            time: 0,
        };
        let jobs = [
            entry("leaves", "Running\u{1b}[2J\tx"),
            entry("bert", "Failed"),
            entry("$(reboot)", ""),
            entry("a b", ""),
            entry("-rf", ""),
        ];
        cache.add(JOBS, jobs.into(), true);
        cache.add(ENGINES, vec![entry("PyTorch:1.8", "")], true);
        Arc::new(cache)
    }

    /// Returns the answer for a line, whose last word may be empty.
    fn answer_to(line: &str) -> String {
        let command = Command::new("modelarts").disable_help_flag(true).subcommand(
            Command::new("logs")
                .disable_help_flag(true)
                .arg(Arg::new("job").value_name("JOB"))
                .arg(Arg::new("engine").long("engine").value_name("ENGINE").help("Engine\nlong"))
                .arg(Arg::new("flavor").long("flavor").value_name("FLAVOR").hide(true))
                .arg(Arg::new("out").long("out").value_name("DIR")),
        );
        let command = command.disable_help_subcommand(true);
        answers(with_candidates(command, &cache()), line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn values_are_those_of_the_argument() {
        for (line, expected) in [
            // Neither flags, nor names that shells or the program would read otherwise.
            ("modelarts logs ", "leaves\tRunning x\nbert\tFailed\n"),
            ("modelarts logs l", "leaves\tRunning x\n"),
            ("modelarts logs --engine ", "PyTorch:1.8\t\n"),
            ("modelarts logs --engine=Py", "--engine=PyTorch:1.8\t\n"),
            ("modelarts logs --e", "--engine\tEngine\n"),
            ("modelarts logs --flavor ", ""),
            ("modelarts logs leaves ", "--engine\tEngine\n--out\t\n"),
            ("modelarts lo", "logs\t\n"),
            // Shells complete files.
            ("modelarts logs --out ", ""),
            ("modelarts logs --out ./x", ""),
            ("modelarts logs --engine x -", "--engine\tEngine\n--out\t\n"),
            ("", ""),
        ] {
            assert_eq!(answer_to(line), expected, "{line}");
        }
    }

    #[test]
    fn the_context_is_that_of_the_line() {
        for (line, expected) in [
            ("modelarts --context dev logs ", Some("dev")),
            ("modelarts --context=a logs --context b x", Some("b")),
            ("modelarts logs --context", None),
            ("modelarts logs x", None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(context_of(&words).as_deref(), expected, "{line}");
        }
    }
}

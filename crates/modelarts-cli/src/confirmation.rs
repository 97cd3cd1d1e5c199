//! Questions on the terminal.

use std::{
    fmt,
    io::{self, Write},
};

use crate::{failure::Failure, output::one_line, terminal::Terminal};

/// Asks the user on the terminal before an action that cannot be undone. Any answer except `y` and
/// `yes` is an error. `action` completes the question; `yes`, the value of `--yes`, replaces it.
pub(crate) fn confirm(
    terminal: Terminal,
    yes: bool,
    action: impl fmt::Display,
) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !terminal.interactive {
        return Err(Failure::usage(format_args!(
            "this would {action}; without a terminal to ask on, --yes must be given"
        )));
    }
    let answer = ask(&format!("This will {action}. Continue? [y/N] "))?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::local("cancelled; nothing was changed")),
    }
}

/// Asks the user on the terminal for one of several choices, each with a text about it. An empty
/// answer selects the choice `default`, or the first. Must be called only if the terminal is
/// interactive.
pub(crate) fn choose(
    question: &str,
    choices: &[(String, String)],
    default: &str,
) -> Result<String, Failure> {
    let width = choices.iter().map(|(choice, _)| choice.len()).max().unwrap_or_default();
    for (number, (choice, text)) in (1..).zip(choices) {
        note!("{number:>4}  {}", one_line(format!("{choice:width$}  {text}")).trim_end());
    }
    let default = choices.iter().position(|(choice, _)| choice == default).unwrap_or(0) + 1;
    let answer = ask(&format!("{question} [{default}]: "))?;
    let number = match answer.trim() {
        "" if !answer.is_empty() => Some(default),
        answer => answer.parse().ok(),
    };
    let chosen = number.and_then(|number: usize| choices.get(number.checked_sub(1)?));
    chosen.map(|(choice, _)| choice.clone()).ok_or_else(|| {
        let count = choices.len();
        Failure::local(format_args!("the answer must be 1 to {count}; nothing was changed"))
    })
}

/// Prints a question on stderr. Returns the line of the answer; an empty text at the end of stdin.
fn ask(question: &str) -> Result<String, Failure> {
    let answer = || -> io::Result<String> {
        let mut stderr = anstream::stderr().lock();
        write!(stderr, "{question}")?;
        stderr.flush()?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            // The next output begins on a new line.
            writeln!(stderr)?;
        }
        Ok(line)
    };
    answer().map_err(|error| {
        Failure::local(format_args!("cannot ask on the terminal: {error}; nothing was changed"))
    })
}

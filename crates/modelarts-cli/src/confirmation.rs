//! Questions before actions that cannot be undone.

use std::{
    fmt,
    io::{self, Write},
};

use crate::{failure::Failure, terminal::Terminal};

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
    let answer = || -> io::Result<String> {
        let mut stderr = anstream::stderr().lock();
        write!(stderr, "This will {action}. Continue? [y/N] ")?;
        stderr.flush()?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            // The next output begins on a new line.
            writeln!(stderr)?;
        }
        Ok(line)
    };
    let answer = answer().map_err(|error| {
        Failure::local(format_args!("cannot ask on the terminal: {error}; nothing was changed"))
    })?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::local("cancelled; nothing was changed")),
    }
}

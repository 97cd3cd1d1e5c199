//! Questions before what cannot be undone.

use std::fmt;

use dialoguer::{Confirm, theme::SimpleTheme};

use crate::{failure::Failure, terminal::Terminal};

/// Asks on the terminal before something is destroyed. `action` completes the question, such as
/// `delete 3 jobs`, and `yes` is the value of `--yes`. The default is no.
///
/// # Errors
/// Returns an error if the user declines, and without a terminal if `--yes` is not given.
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
    let question = Confirm::with_theme(&SimpleTheme)
        .with_prompt(format!("This will {action}. Continue?"))
        .default(false);
    match question.interact_opt() {
        Ok(Some(true)) => Ok(()),
        Ok(_) => Err(Failure::local("cancelled; nothing was changed")),
        Err(dialoguer::Error::IO(error)) => Err(Failure::local(format_args!(
            "cannot ask on the terminal: {error}; nothing was changed"
        ))),
    }
}

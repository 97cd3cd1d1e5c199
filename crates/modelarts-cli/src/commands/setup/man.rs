//! `modelarts man`.

use std::{fs, path::PathBuf};

use clap::Args;
use clap_mangen::Man as Page;

use crate::{exit_status::ExitStatus, failure::Failure, output::Stdout, session::Session};

/// Prints the manual page of the program, for `man -l -`, or writes the pages of all commands.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Directory for one page for each command, such as ~/.local/share/man/man1; it is created if
    /// it does not exist.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        // The command `help` has no page.
        let command = (session.command)().disable_help_subcommand(true);
        let Some(directory) = self.dir else {
            let mut page = Vec::new();
            Page::new(command).render(&mut page)?;
            let mut stdout = Stdout::lock();
            stdout.write(&String::from_utf8_lossy(&page))?;
            stdout.flush()?;
            return Ok(ExitStatus::Success);
        };
        fs::create_dir_all(&directory)
            .and_then(|()| clap_mangen::generate_to(command, &directory))
            .map_err(|error| {
                Failure::local(format_args!(
                    "cannot write the pages to {}: {error}",
                    directory.display()
                ))
            })?;
        note!("wrote the pages of all commands to {}", directory.display());
        Ok(ExitStatus::Success)
    }
}

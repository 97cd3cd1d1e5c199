//! `modelarts completion` and `modelarts man`: texts that are generated from the arguments.

use std::{fs, path::PathBuf};

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man as Page;

use crate::{exit_status::ExitStatus, failure::Failure, output::Stdout, session::Session};

/// Prints the manual page of the program, for `man -l -`, or writes the pages of all commands.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Directory for one page per command, such as ~/.local/share/man/man1; it is created if it
    /// does not exist.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        // The command `help` has no manual page.
        let command = (session.command)().disable_help_subcommand(true);
        let Some(directory) = self.dir else {
            let mut page = Vec::new();
            Page::new(command).render(&mut page)?;
            return print(&page);
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

/// Prints the completion script of a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
To load it in each new shell:
  bash        modelarts completion bash > ~/.local/share/bash-completion/completions/modelarts
  zsh         modelarts completion zsh > ~/.zfunc/_modelarts
              (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish        modelarts completion fish > ~/.config/fish/completions/modelarts.fish
  powershell  modelarts completion powershell >> $PROFILE
  elvish      modelarts completion elvish >> ~/.config/elvish/rc.elv")]
pub(crate) struct Completion {
    /// Shell of the script.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Completion {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let mut script = Vec::new();
        let mut command = (session.command)();
        clap_complete::generate(self.shell, &mut command, "modelarts", &mut script);
        print(&script)
    }
}

fn print(text: &[u8]) -> Result<ExitStatus, Failure> {
    let mut stdout = Stdout::lock();
    stdout.write(&String::from_utf8_lossy(text))?;
    stdout.flush()?;
    Ok(ExitStatus::Success)
}

//! `modelarts completion` and `modelarts man`: texts that are generated from the arguments.

use std::{fs, path::PathBuf, time::Duration};

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man as Page;

use crate::{
    commands::create::choices::{engines, flavors},
    completion::{self, ENGINES, Entry, FLAVORS, JOBS, MAX_ENTRIES, remember},
    exit_status::ExitStatus,
    failure::Failure,
    output::Stdout,
    session::Session,
};

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
        let command = session.documented_command();
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

/// Time limit for reading the values of the service.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(20);

/// Prints the completion script of a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Bash, zsh and fish also complete names of jobs, flavors, engines and contexts, from a file that a
process in the background renews if it is older than a minute.

To load it in each new shell:
  bash        modelarts completion bash > ~/.local/share/bash-completion/completions/modelarts
  zsh         modelarts completion zsh > ~/.zfunc/_modelarts
              (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish        modelarts completion fish > ~/.config/fish/completions/modelarts.fish
  powershell  modelarts completion powershell >> $PROFILE
  elvish      modelarts completion elvish >> ~/.config/elvish/rc.elv")]
pub(crate) struct Completion {
    /// Shell of the script.
    #[arg(value_enum, value_name = "SHELL", required_unless_present = "refresh")]
    shell: Option<Shell>,
    /// Reads the values of the service for the next Tab.
    #[arg(long, hide = true, conflicts_with = "shell")]
    refresh: bool,
}

impl Completion {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let Some(shell) = self.shell else {
            let refreshed = tokio::time::timeout(REFRESH_TIMEOUT, refresh(session)).await;
            return refreshed.unwrap_or(Ok(())).map(|()| ExitStatus::Success);
        };
        if let Some(script) = completion::script(shell) {
            return print(script.as_bytes());
        }
        let mut script = Vec::new();
        let mut command = (session.command)();
        clap_complete::generate(shell, &mut command, "modelarts", &mut script);
        print(&script)
    }
}

/// Reads the newest jobs, the flavors and the engines for completion.
async fn refresh(session: &Session) -> Result<(), Failure> {
    let client = session.client().await?;
    let jobs = client.training_jobs().list().collect(MAX_ENTRIES);
    let (jobs, flavors, engines) = futures::join!(jobs, flavors(client), engines(client));
    let remember = |list, entries| remember(&session.selection, list, entries, true);
    let entry = |(value, text)| Entry { value, text, time: 0 };
    remember(JOBS, jobs?.iter().map(Entry::of_job).collect());
    remember(FLAVORS, flavors?.into_iter().map(entry).collect());
    remember(ENGINES, engines?.into_iter().map(entry).collect());
    Ok(())
}

fn print(text: &[u8]) -> Result<ExitStatus, Failure> {
    let mut stdout = Stdout::lock();
    stdout.write(&String::from_utf8_lossy(text))?;
    stdout.flush()?;
    Ok(ExitStatus::Success)
}

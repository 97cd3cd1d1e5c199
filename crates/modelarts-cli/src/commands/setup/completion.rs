//! `modelarts completion`.

use clap::Args;
use clap_complete::Shell;

use crate::{exit_status::ExitStatus, failure::Failure, output::Stdout, session::Session};

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
        let mut stdout = Stdout::lock();
        stdout.write(&String::from_utf8_lossy(&script))?;
        stdout.flush()?;
        Ok(ExitStatus::Success)
    }
}

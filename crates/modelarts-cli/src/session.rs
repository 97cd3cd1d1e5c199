//! `Session`: settings, client and output that the commands share.

#[cfg(unix)]
use modelarts_emulator::Emulator;
use modelarts_ext::{Client, ClientBuilder};
use modelarts_obs::Staging;
use tokio::sync::OnceCell;

use crate::{context::Selection, failure::Failure, output::Output, terminal::Terminal};

pub(crate) struct Session {
    pub(crate) selection: Selection,
    pub(crate) output: Output,
    pub(crate) terminal: Terminal,
    /// Function that returns the definition of the command line, for completion and manual pages.
    pub(crate) command: fn() -> clap::Command,
    /// Service of the commands.
    place: Place,
    client: OnceCell<Client>,
    #[cfg(unix)]
    emulator: std::cell::OnceCell<Emulator>,
}

/// Service of the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The service of the context.
    Service,
    /// The records of the jobs that ran on this machine, in an emulator.
    #[cfg_attr(not(unix), allow(dead_code))]
    Records,
}

impl Session {
    pub(crate) fn new(
        selection: Selection,
        output: Output,
        terminal: Terminal,
        command: fn() -> clap::Command,
        place: Place,
    ) -> Self {
        Self {
            selection,
            output,
            terminal,
            command,
            place,
            client: OnceCell::new(),
            #[cfg(unix)]
            emulator: std::cell::OnceCell::new(),
        }
    }

    /// Returns the definition of the command line without the commands `help` of commands, which
    /// print the same as the command `help` of the program.
    pub(crate) fn documented_command(&self) -> clap::Command {
        (self.command)().mut_subcommands(|command| command.defer(|command| command))
    }

    /// Returns `true` if the jobs are those that ran on this machine.
    pub(crate) fn has_records(&self) -> bool {
        self.place == Place::Records
    }

    /// Stops the emulator of the records, if it was started.
    pub(crate) async fn close(self) {
        #[cfg(unix)]
        if let Some(emulator) = self.emulator.into_inner() {
            emulator.shutdown().await;
        }
    }

    /// Returns the client. The first call reads the settings, and looks up the project if no
    /// project is set.
    pub(crate) async fn client(&self) -> Result<&Client, Failure> {
        self.client
            .get_or_try_init(|| async {
                #[cfg(unix)]
                if self.has_records() {
                    let (emulator, client) = crate::local_jobs::open().await?;
                    self.emulator.get_or_init(|| emulator);
                    return Ok(client);
                }
                self.selection.require_agreement()?;
                Self::connect(&self.selection).await
            })
            .await
    }

    pub(crate) async fn connect(selection: &Selection) -> Result<Client, Failure> {
        let builder = ClientBuilder::default()
            .environment(selection.environment()?)
            .user_agent(concat!("modelarts-cli/", env!("CARGO_PKG_VERSION")));
        Ok(builder.connect().await?)
    }

    /// Returns the staging for local code and data in OBS. The environment variable
    /// `MODELARTS_OBS_BUCKET` and the context set the bucket.
    pub(crate) async fn staging(&self) -> Result<Staging, Failure> {
        Ok(Staging::new(self.client().await?))
    }

    /// Returns the project and the endpoint of a client, for questions before an action.
    pub(crate) fn place(client: &Client) -> String {
        let endpoint = client.endpoint().trim_end_matches('/');
        format!("the project {} at {endpoint}", client.project_id())
    }

    /// Returns `true` if the endpoint is a server on this machine, such as the emulator, so that
    /// short pauses between polls are acceptable.
    pub(crate) fn is_local(client: &Client) -> bool {
        client.endpoint().starts_with("http://")
    }
}

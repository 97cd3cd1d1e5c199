//! Command `modelarts console`, which serves the page.

mod browser;
pub(crate) mod page;

use std::net::SocketAddr;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::console::page::{check_address, start_page},
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    output::Document,
    session::Session,
};

const NOTES: &str = "\
The page is for this user on this machine only: the link logs a browser in, and is valid once. The
next link is printed when it was used. A session lasts 12 hours, also over a restart on the same
port. Keys of the service stay in this program.

For a browser on another machine: ssh -L 8900:127.0.0.1:8900 USER@THIS-MACHINE";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct ConsoleCommand {
    /// Loopback address to listen on; port 0 selects a free port. Default: 127.0.0.1:8900, or the
    /// next free port.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Shows jobs, and rejects all changes.
    #[arg(long)]
    read_only: bool,
    /// Opens no browser. By default, a browser opens if a terminal and a desktop exist.
    #[arg(long)]
    no_browser: bool,
}

/// The running page.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConsoleReady {
    /// Address of the page.
    url: String,
    /// Link that logs a browser in. It is valid once; the next one is printed on stderr.
    login_url: String,
    /// Address of the service.
    endpoint: String,
    /// Id of the project.
    project_id: String,
    /// Context of the page; null if none is selected.
    context: Option<String>,
    /// True if the page rejects all changes.
    read_only: bool,
}

impl Document for ConsoleReady {
    fn text(&self, _: bool, _: Option<u16>) -> String {
        self.login_url.clone()
    }
}

impl ConsoleCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        check_address(self.listen, "--listen")?;
        let mut interrupt = Interrupt::new();
        let client = session.client().await?;
        let context = session.selection.name()?;
        let flavor = &session.selection.context()?.flavor;
        let page = start_page(client, self.listen, "--listen", |builder| {
            let builder = builder.read_only(self.read_only).flavor(flavor.clone());
            match context {
                Some(name) => builder.context(name),
                None => builder,
            }
        })
        .await?;
        let ready = ConsoleReady {
            url: page.url(),
            login_url: page.login_url(),
            endpoint: client.endpoint().to_owned(),
            project_id: client.project_id().to_owned(),
            context: context.map(str::to_owned),
            read_only: self.read_only,
        };
        note!(
            "Jobs of the project {} on {}{}",
            ready.project_id,
            ready.endpoint,
            match ready.read_only {
                true => ", read-only",
                false => "",
            }
        );
        note!("Link for a browser, valid once:");
        note!("  {}", ready.login_url);
        note!("Ctrl-C ends the page; jobs continue");
        session.output.document_line(&ready)?;
        let wants_browser = !self.no_browser && session.output.is_text();
        let _file = match wants_browser && session.terminal.interactive && browser::has_desktop() {
            true => browser::open(&ready.login_url),
            false => None,
        };
        interrupt.received().await;
        page.shutdown().await;
        Ok(ExitStatus::Interrupted)
    }
}

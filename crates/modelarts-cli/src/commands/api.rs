//! `modelarts api`.

use clap::Args;

use crate::{exit_status::ExitStatus, failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Api {}

impl Api {
    pub(crate) async fn run(self, _session: &Session) -> Result<ExitStatus, Failure> {
        Err(Failure::local("api is not built yet"))
    }
}

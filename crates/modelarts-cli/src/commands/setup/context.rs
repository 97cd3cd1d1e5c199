//! `modelarts context`.

use clap::Args;

use crate::{exit_status::ExitStatus, failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct ContextCommand {}

impl ContextCommand {
    pub(crate) async fn run(self, _session: &Session) -> Result<ExitStatus, Failure> {
        Err(Failure::local("context is not built yet"))
    }
}

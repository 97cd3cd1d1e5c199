//! `modelarts stop`.

use clap::Args;

use crate::{exit_status::ExitStatus, failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Stop {}

impl Stop {
    pub(crate) async fn run(self, _session: &Session) -> Result<ExitStatus, Failure> {
        Err(Failure::local("stop is not built yet"))
    }
}

//! `modelarts show`.

use clap::Args;

use crate::{exit_status::ExitStatus, failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Show {}

impl Show {
    pub(crate) async fn run(self, _session: &Session) -> Result<ExitStatus, Failure> {
        Err(Failure::local("show is not built yet"))
    }
}

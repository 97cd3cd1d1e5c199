//! `modelarts rm`.

use clap::Args;

use crate::{exit_status::ExitStatus, failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Rm {}

impl Rm {
    pub(crate) async fn run(self, _session: &Session) -> Result<ExitStatus, Failure> {
        Err(Failure::local("rm is not built yet"))
    }
}

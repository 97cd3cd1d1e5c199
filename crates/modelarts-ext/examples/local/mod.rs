//! Setup of the examples: an emulator in this process, and a client that is connected to it.

use modelarts_emulator::{Builder, Emulator};
use modelarts_ext::{Client, ClientBuilder};

/// Starts an emulator with these settings, and connects to it.
pub async fn start(builder: Builder) -> anyhow::Result<(Emulator, Client)> {
    if Emulator::python3().await.is_none() {
        anyhow::bail!("the emulator runs training scripts with python3, and there is none");
    }
    let emulator = builder.start().await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    Ok((emulator, client))
}

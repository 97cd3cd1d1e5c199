//! Setup of the examples: an emulator in this process, and a client that is connected to it.

use std::error::Error;

use modelarts_emulator::{Builder, Emulator};
use modelarts_ext::{Client, ClientBuilder};

/// Starts an emulator with these settings, and connects to it.
pub async fn start(builder: Builder) -> Result<(Emulator, Client), Box<dyn Error>> {
    if Emulator::python3().await.is_none() {
        return Err("the emulator runs training scripts with python3, and there is none".into());
    }
    let emulator = builder.start().await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    Ok((emulator, client))
}

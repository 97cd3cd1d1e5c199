//! A client with credentials from a source of its own, such as a vault, with a proxy, and with a
//! count of its retries: `cargo run --example own_provider`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures::{FutureExt, future::BoxFuture};
use modelarts_emulator::{
    Emulator, Timing,
    faults::{Fault, FaultRule},
};
use modelarts_ext::{
    Client, Credentials, Error,
    credentials::{FetchCredentials, Fetched, ProviderContext},
};

/// Issues keys that are valid for an hour. The client stores and renews them. The trait requires
/// `Debug`, and that of `Credentials` prints no secrets.
#[derive(Debug)]
struct Vault(Credentials);

impl FetchCredentials for Vault {
    fn fetch<'a>(&'a self, _: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        async {
            println!("the vault issues keys");
            let end = SystemTime::now() + Duration::from_secs(3600);
            Ok(Fetched::new(self.0.clone()).expires_at(end))
        }
        .boxed()
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
    let vault = Vault(Credentials::keys(emulator.access_key(), emulator.secret_key()));
    let retries = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&retries);
    let client = Client::builder()
        .endpoint(emulator.url())
        .project_id(emulator.project_id())
        .credentials(vault.into_provider())
        // Requests to an address of this machine, such as the emulator, do not use the proxy.
        .proxy("http://proxy.example.com:3128")
        .on_attempt(move |attempt| {
            if attempt.number > 1 {
                count.fetch_add(1, Ordering::Relaxed);
            }
        })
        .build()?;

    let rule = FaultRule::times(3, "ListTrainingJobs", Fault::status(503));
    emulator.faults().add(rule)?;
    for _ in 0..5 {
        client.training_jobs().list().collect(10).await?;
    }
    let retries = retries.load(Ordering::Relaxed);
    println!("5 lists, {retries} retries");
    anyhow::ensure!(retries == 3);
    emulator.shutdown().await;
    Ok(())
}

//! Sources of credentials: `cargo run --example credentials`.
//!
//! The example starts the emulator in this process, with a user that has keys and a password. On
//! the service, most programs need only `Client::connect_from_env()`.

mod local;

use std::{
    error::Error,
    time::{Duration, SystemTime},
};

use modelarts_emulator::Emulator;
use modelarts_ext::{
    Client, ClientBuilder, Credentials,
    api::BoxFuture,
    credentials::{FetchCredentials, Fetched, Password, ProviderContext},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let with_password = Emulator::builder().password("open sesame");
    let (emulator, client) = local::start(with_password).await?;
    show("Keys in code", &client).await?;

    // `Client::from_env()` reads the same settings from the variables of the process, and from
    // files.
    for (name, _) in emulator.envs() {
        println!("{name}");
    }
    let from_vars = ClientBuilder::from_vars(emulator.vars());
    show("Keys in variables", &from_vars.build()?).await?;

    // A login with a password returns a token, which is cached, and renewed before it expires. The
    // token belongs to one project, which `connect` reads from the response.
    let login = Password::new(emulator.url(), "emulator", "open sesame")
        .domain("emulator")
        .project_id(emulator.project_id());
    let builder = Client::builder().endpoint(emulator.url());
    let client = builder.credentials(login.into_provider()).connect().await?;
    show("A password", &client).await?;

    // Keys from a source that this crate does not support itself.
    let vault = Vault { keys: Credentials::keys(emulator.access_key(), emulator.secret_key()) };
    let client = Client::builder()
        .endpoint(emulator.url())
        .project_id(emulator.project_id())
        .credentials(vault.into_provider())
        .build()?;
    show("A vault", &client).await?;

    // `Debug` does not print secrets.
    let keys = Credentials::keys(emulator.access_key(), emulator.secret_key());
    println!("{keys:?}");
    emulator.shutdown().await;
    Ok(())
}

async fn show(how: &str, client: &Client) -> Result<(), modelarts_ext::Error> {
    let jobs = client.training_jobs().list().collect(10).await?;
    println!("{how}: project {}, {} jobs", client.project_id(), jobs.len());
    Ok(())
}

#[derive(Debug)]
struct Vault {
    keys: Credentials,
}

impl FetchCredentials for Vault {
    fn fetch<'a>(
        &'a self,
        context: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Fetched, modelarts_ext::Error>> {
        Box::pin(async {
            // A real source sends a request with `context.http`. The keys are renewed before the
            // hour has passed.
            let end: SystemTime = context.clock.now() + Duration::from_secs(3600);
            Ok(Fetched::new(self.keys.clone()).expires_at(end))
        })
    }
}

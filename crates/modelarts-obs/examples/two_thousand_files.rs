//! Uploads 2,000 small files to OBS, downloads them to another directory, and compares them:
//! `cargo run --example two_thousand_files`.

use std::{fs, time::Instant};

use modelarts_emulator::Emulator;
use modelarts_ext::ClientBuilder;
use modelarts_obs::Obs;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let emulator = Emulator::start().await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    let directory = tempfile::tempdir()?;
    let (source, copy) = (directory.path().join("source"), directory.path().join("copy"));
    let paths: Vec<String> = (0..2000).map(|n| format!("{:02}/{n}.txt", n % 20)).collect();
    for (n, path) in paths.iter().enumerate() {
        fs::create_dir_all(source.join(format!("{:02}", n % 20)))?;
        fs::write(source.join(path), format!("file {n}\n").repeat(n % 100))?;
    }

    let obs = Obs::new(&client)?.with_cache_dir(directory.path().join("cache"));
    obs.bucket("two-thousand")?.create().await?;
    let address = "obs://two-thousand/files";

    let start = Instant::now();
    let sent = obs.sync_up(&source, address).await?;
    println!("sent {:?} in {:.1?}", sent.transferred, start.elapsed());
    anyhow::ensure!(sent.skipped.is_empty(), "left out: {:?}", sent.skipped);

    // Each downloaded file is compared with the SHA-256 that the upload stored with its object.
    let start = Instant::now();
    let received = obs.sync_down(address, &copy).await?;
    println!("received {:?} in {:.1?}", received.transferred, start.elapsed());
    anyhow::ensure!(received.transferred.files == 2000);

    // A second upload compares the copy with OBS, and sends nothing.
    let again = obs.sync_up(&copy, address).await?;
    anyhow::ensure!((again.transferred.files, again.unchanged.files) == (0, 2000));
    for path in &paths {
        let (sent, received) = (fs::read(source.join(path))?, fs::read(copy.join(path))?);
        anyhow::ensure!(sent == received, "{path} differs");
    }
    println!("all {} files are equal", paths.len());
    emulator.shutdown().await;
    Ok(())
}

//! modelarts-obs as a program. It takes its settings from the environment, and one command with its
//! arguments. The scripts of `cargo xtask obs` call it like the programs of other clients.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use futures::{StreamExt, TryStreamExt, stream};
use modelarts_ext::Client;
use modelarts_obs::{Bucket, Obs};
use walkdir::WalkDir;

/// Number of transfers at once.
const TRANSFERS: usize = 16;

#[derive(Parser)]
enum Command {
    /// Creates a bucket
    Make { bucket: String },
    /// Sends the files of a directory
    Send {
        directory: PathBuf,
        bucket: String,
        prefix: String,
    },
    /// Receives the objects below a prefix into a directory
    Receive {
        bucket: String,
        prefix: String,
        directory: PathBuf,
    },
    /// Prints the keys below a prefix, each on a line
    List { bucket: String, prefix: String },
    /// Copies an object within a bucket
    Copy {
        bucket: String,
        source: String,
        target: String,
    },
    /// Deletes an object
    Remove { bucket: String, key: String },
}

#[tokio::main]
async fn main() -> Result<()> {
    let command = Command::parse();
    let obs = Obs::new(&Client::from_env()?)?;
    match command {
        Command::Make { bucket } => obs.bucket(&bucket)?.create().await?,
        Command::Send {
            directory,
            bucket,
            prefix,
        } => send(&obs.bucket(&bucket)?, directory, &prefix).await?,
        Command::Receive {
            bucket,
            prefix,
            directory,
        } => receive(&obs.bucket(&bucket)?, &prefix, directory).await?,
        Command::List { bucket, prefix } => {
            let bucket = obs.bucket(&bucket)?;
            let mut objects = Box::pin(bucket.list(&prefix));
            while let Some(object) = objects.try_next().await? {
                println!("{}", object.key());
            }
        }
        Command::Copy {
            bucket,
            source,
            target,
        } => {
            let bucket = obs.bucket(&bucket)?;
            bucket.put(&target, bucket.get(&source).await?).await?;
        }
        Command::Remove { bucket, key } => obs.bucket(&bucket)?.delete(&key).await?,
    }
    Ok(())
}

async fn send(bucket: &Bucket, directory: PathBuf, prefix: &str) -> Result<()> {
    let mut files = Vec::new();
    for entry in WalkDir::new(&directory) {
        let entry = entry?;
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(&directory)?;
            let path = path.to_str().context("a name is not Unicode")?;
            files.push((format!("{prefix}/{path}"), entry.path().to_owned()));
        }
    }
    let sent = stream::iter(files).map(|(key, path)| async move {
        bucket.put(&key, fs::read(path)?).await?;
        anyhow::Ok(())
    });
    sent.buffer_unordered(TRANSFERS).try_collect().await
}

async fn receive(bucket: &Bucket, prefix: &str, directory: PathBuf) -> Result<()> {
    let directory = &directory;
    let received = bucket.list(prefix).map(|object| async move {
        let object = object?;
        let below = object.key().strip_prefix(prefix).unwrap_or_default();
        let path = directory.join(below.trim_start_matches('/'));
        fs::create_dir_all(path.parent().context("a file has a directory")?)?;
        fs::write(path, bucket.get(object.key()).await?)?;
        anyhow::Ok(())
    });
    received.buffer_unordered(TRANSFERS).try_collect().await
}

//! Command-line client based on modelarts-obs, with settings from the environment. The scripts of
//! `cargo xtask obs` run it in the same way as the programs of other clients.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use futures::TryStreamExt;
use modelarts_ext::Client;
use modelarts_obs::Obs;

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
        } => {
            obs.sync_up(directory, format!("obs://{bucket}/{prefix}"))
                .await?;
        }
        Command::Receive {
            bucket,
            prefix,
            directory,
        } => {
            obs.sync_down(format!("obs://{bucket}/{prefix}"), directory)
                .await?;
        }
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
            // `Obs::copy` keeps the name of a single object, so the object is read and written
            // under the new name. The contents are small.
            let bucket = obs.bucket(&bucket)?;
            bucket.put(&target, bucket.get(&source).await?).await?;
        }
        Command::Remove { bucket, key } => obs.bucket(&bucket)?.delete(&key).await?,
    }
    Ok(())
}

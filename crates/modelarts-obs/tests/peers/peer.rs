//! Command-line client based on modelarts-obs, with settings from the environment. The scripts of
//! this directory run it in the same way as the programs of other clients.

use std::{env, error::Error};

use futures::TryStreamExt;
use modelarts_ext::Client;
use modelarts_obs::Obs;

const USAGE: &str = "\
usage: modelarts-obs-peer make BUCKET
                          send DIRECTORY BUCKET PREFIX
                          receive BUCKET PREFIX DIRECTORY
                          list BUCKET PREFIX
                          copy BUCKET SOURCE TARGET
                          remove BUCKET KEY";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [command, arguments @ ..] = arguments.as_slice() else {
        println!("{USAGE}");
        return Ok(());
    };
    let obs = Obs::new(&Client::from_env()?)?;
    match (*command, arguments) {
        ("make", [bucket]) => obs.bucket(bucket)?.create().await?,
        ("send", [directory, bucket, prefix]) => {
            obs.sync_up(directory, format!("obs://{bucket}/{prefix}")).await?;
        }
        ("receive", [bucket, prefix, directory]) => {
            obs.sync_down(format!("obs://{bucket}/{prefix}"), directory).await?;
        }
        ("list", [bucket, prefix]) => {
            let bucket = obs.bucket(bucket)?;
            let mut objects = Box::pin(bucket.list(prefix));
            while let Some(object) = objects.try_next().await? {
                println!("{}", object.key());
            }
        }
        ("copy", [bucket, source, target]) => {
            // `Obs::copy` keeps the name of a single object, so the object is read and written
            // under the new name. The contents are small.
            let bucket = obs.bucket(bucket)?;
            bucket.put(target, bucket.get(source).await?).await?;
        }
        ("remove", [bucket, key]) => obs.bucket(bucket)?.delete(key).await?,
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

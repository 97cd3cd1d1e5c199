//! Command `modelarts cp`, which copies a file from or to OBS.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use modelarts_obs::{DirectorySync, Obs, ObsPath};
use tempfile::TempDir;

use crate::{
    commands::sync::{address, report_of},
    exit_status::ExitStatus,
    failure::Failure,
    output::Stdout,
    session::Session,
};

const EXAMPLES: &str = "\
Examples:
  modelarts cp model.pt obs://my-bucket/models/
  modelarts cp obs://my-bucket/out/job-7/best.pt ./job-7.pt
  modelarts cp obs://my-bucket/out/job-7/metrics.json - | jq .loss";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cp {
    /// File: a path of this machine, or an address such as obs://my-bucket/model.pt.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Target: a file, a directory, an address, or - for stdout. A directory in OBS ends with /.
    #[arg(value_name = "TARGET")]
    target: String,
}

/// A file that is copied.
enum Source {
    Here(PathBuf),
    Object(ObsPath),
}

impl Cp {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let source = address("SOURCE", &self.source)?;
        if source.is_none() && address("TARGET", &self.target)?.is_none() {
            return Err(Failure::usage(
                "SOURCE and TARGET are paths of this machine; at least one must be an address such \
                 as obs://my-bucket/model.pt",
            ));
        }
        let source = match source {
            Some(path) => Source::Object(path),
            None => Source::Here(local_file(&self.source)?),
        };
        let obs = Obs::new(session.client().await?)?;
        if let Source::Object(path) = &source {
            require_object(&obs, path).await?;
            if self.target == "-" {
                let contents = obs.bucket(path.bucket())?.get(path.key()).await?;
                let mut stdout = Stdout::lock();
                stdout.write_bytes(&contents)?;
                stdout.flush()?;
                return Ok(ExitStatus::Success);
            }
        }
        self.copy(session, &obs, &source).await
    }

    /// Copies the file by a synchronization, which keeps its name. For another name, the file
    /// passes through a temporary directory.
    async fn copy(
        &self,
        session: &Session,
        obs: &Obs,
        source: &Source,
    ) -> Result<ExitStatus, Failure> {
        let name = match source {
            Source::Here(path) => path.file_name().unwrap_or_default().to_string_lossy().into(),
            Source::Object(path) => path.name().unwrap_or_default().to_owned(),
        };
        let is_remote = address("TARGET", &self.target)?.is_some();
        let (directory, file) = self.split_target(is_remote, &name);
        let report = async |sync: DirectorySync, words| {
            report_of(session, (&self.source, &self.target), false, words, sync).await
        };
        let sent = ("upload", "send", "sent");
        let received = ("download", "receive", "received");
        if file == name {
            return match source {
                Source::Here(path) => report(obs.sync_up(path, directory), sent).await,
                Source::Object(from) if is_remote => {
                    let copied = ("copy", "copy", "copied");
                    report(obs.copy(from.to_string(), directory), copied).await
                }
                Source::Object(from) => {
                    report(obs.sync_down(from.to_string(), directory), received).await
                }
            };
        }
        let scratch = match is_remote {
            true => TempDir::new(),
            false => fs::create_dir_all(&directory).and_then(|()| TempDir::new_in(&directory)),
        };
        let scratch = scratch.map_err(|error| self.unwritable(&error))?;
        let renamed = scratch.path().join(&file);
        let failed = |error| self.unwritable(&error);
        match source {
            Source::Here(path) => {
                // A hard link to a symbolic link would not lead to its file.
                let path = fs::canonicalize(path).map_err(failed)?;
                let linked = fs::hard_link(&path, &renamed);
                linked.or_else(|_| fs::copy(&path, &renamed).map(drop)).map_err(failed)?;
            }
            Source::Object(from) if is_remote => {
                obs.sync_down(from.to_string(), scratch.path()).await?;
                fs::rename(scratch.path().join(&name), &renamed).map_err(failed)?;
            }
            Source::Object(from) => {
                let sync = obs.sync_down(from.to_string(), scratch.path());
                let status = report(sync, received).await?;
                if status != ExitStatus::Success {
                    return Ok(status);
                }
                fs::rename(scratch.path().join(&name), &self.target).map_err(failed)?;
                return Ok(status);
            }
        }
        report(obs.sync_up(&renamed, directory), sent).await
    }

    /// Returns the directory and the name of the target. A directory keeps the name of the source.
    fn split_target(&self, is_remote: bool, name: &str) -> (String, String) {
        let target = self.target.as_str();
        let is_bucket = is_remote && target.matches('/').count() == 2;
        let is_directory = target.ends_with('/') || !is_remote && Path::new(target).is_dir();
        match target.rsplit_once('/') {
            _ if is_directory || is_bucket => (target.to_owned(), name.to_owned()),
            Some((directory, file)) => (format!("{directory}/"), file.to_owned()),
            None => (".".to_owned(), target.to_owned()),
        }
    }

    fn unwritable(&self, error: &std::io::Error) -> Failure {
        Failure::local(format_args!("TARGET {}: {error}", self.target))
    }
}

fn local_file(source: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(source);
    let rule = "it must be a file; `modelarts sync` copies directories";
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(path.to_owned()),
        Ok(_) => Err(Failure::usage(format_args!("SOURCE {source}: {rule}"))),
        Err(error) => Err(Failure::usage(format_args!("SOURCE {source}: {error}; {rule}"))),
    }
}

async fn require_object(obs: &Obs, path: &ObsPath) -> Result<(), Failure> {
    let exists = match path.key().is_empty() {
        true => false,
        false => obs.bucket(path.bucket())?.exists(path.key()).await?,
    };
    match exists {
        true => Ok(()),
        false => Err(Failure::NotFound(format!(
            "SOURCE {path}: no object has this key; `modelarts ls` lists the objects below an \
             address, and `modelarts sync` copies directories"
        ))),
    }
}

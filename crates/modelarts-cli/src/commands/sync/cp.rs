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
        let report = async |sync: DirectorySync, words| {
            report_of(session, (&self.source, &self.target), false, words, sync).await
        };
        let sent = ("upload", "send", "sent");
        let received = ("download", "receive", "received");
        let Some(target) = address("TARGET", &self.target)? else {
            let Source::Object(from) = source else {
                return Ok(ExitStatus::Success);
            };
            let path = Path::new(&self.target);
            let is_directory = path.is_dir() || self.target.ends_with('/');
            if is_directory || path.file_name().is_some_and(|file| *file == *name) {
                let parent = path.parent().filter(|_| !is_directory);
                let directory = parent.unwrap_or(path);
                return report(obs.sync_down(from.to_string(), directory), received).await;
            }
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            let scratch = fs::create_dir_all(parent)
                .and_then(|()| TempDir::new_in(parent))
                .map_err(|error| self.unwritable(&error))?;
            let status = report(obs.sync_down(from.to_string(), scratch.path()), received).await?;
            fs::rename(scratch.path().join(&name), path)
                .map_err(|error| self.unwritable(&error))?;
            return Ok(status);
        };
        let directory = match self.target.ends_with('/') || target.key().is_empty() {
            true => self.target.clone(),
            false => {
                let (directory, file) = self.target.rsplit_once('/').unwrap_or_default();
                if file != name {
                    let scratch = tempfile::tempdir().map_err(Failure::local)?;
                    let file = scratch.path().join(file);
                    match source {
                        Source::Here(path) => {
                            // A hard link to a symbolic link would not lead to its file.
                            let path = fs::canonicalize(path).map_err(Failure::local)?;
                            let linked = fs::hard_link(&path, &file);
                            let copied = linked.or_else(|_| fs::copy(&path, &file).map(drop));
                            copied.map_err(Failure::local)?;
                        }
                        Source::Object(from) => {
                            obs.sync_down(from.to_string(), scratch.path()).await?;
                            let received = scratch.path().join(&name);
                            fs::rename(received, &file).map_err(Failure::local)?;
                        }
                    }
                    return report(obs.sync_up(&file, directory), sent).await;
                }
                directory.to_owned()
            }
        };
        match source {
            Source::Here(path) => report(obs.sync_up(path, directory), sent).await,
            Source::Object(from) => {
                report(obs.copy(from.to_string(), directory), ("copy", "copy", "copied")).await
            }
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

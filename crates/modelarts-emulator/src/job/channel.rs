//! Inputs, outputs and volumes of a job.

use std::{fmt, time::Duration};

use serde_json::Value;

use crate::{
    api::{error::ApiError, json_field::JsonField},
    files::{
        container_path::{self, ContainerPath, MA_MOUNT_PATH},
        obs_path::ObsPath,
    },
    validation::volumes::hides_platform,
};

#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) access: Access,
    pub(crate) source: DataSource,
    pub(crate) local_dir: ContainerPath,
    /// `true` if existing content is downloaded before the code starts.
    pub(crate) prefetch: bool,
    /// Interval between uploads while the job runs.
    pub(crate) period: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataSource {
    Obs(ObsPath),
    DataSet { id: String, version: Option<String> },
}

impl fmt::Display for DataSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Obs(path) => path.fmt(f),
            Self::DataSet { id, version } => {
                write!(f, "data set {id} {}", version.as_deref().unwrap_or_default())
            }
        }
    }
}

/// Way in which the code receives the local directory of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Command-line argument `--name=<local dir>`. This is the default.
    Parameter,
    /// Environment variable with the name of the channel.
    Env,
}

#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub(crate) source: VolumeSource,
    /// Absolute path in the container.
    pub(crate) local_path: String,
}

#[derive(Clone, Debug)]
pub(crate) enum VolumeSource {
    /// NFS export, written as `server:/path`.
    Nfs(String),
    /// Path in an object store or a parallel file system; the OBS root contains both.
    Obs(ObsPath),
}

/// Default interval between uploads: `30s` (SOURCES O).
const PERIOD: Duration = Duration::from_secs(30);

pub(crate) fn channels(algorithm: &JsonField<'_>, kind: &str) -> Result<Vec<Channel>, ApiError> {
    let mut channels: Vec<Channel> = Vec::new();
    for (index, item) in algorithm.items_of(kind)?.into_iter().enumerate() {
        let name = item.text_of("name")?.unwrap_or_default().to_owned();
        let remote = item.required("remote")?;
        let source = match remote.get("dataset")? {
            Some(dataset) => DataSource::DataSet {
                id: dataset.required("id")?.text()?.to_owned(),
                version: dataset.text_of("version_id")?.map(str::to_owned),
            },
            None => DataSource::Obs(obs(&remote.required("obs")?, "obs_url")?),
        };
        let access = item.text_of("access_method")?;
        let local_dir = match item.container_path_of("local_dir")? {
            Some(path) => path,
            None => {
                ContainerPath::from_static(MA_MOUNT_PATH).join(&format!("{kind}/{name}_{index}"))
            }
        };
        let prefetch = item.get("prefetch_to_local")?;
        let period = item.get("period")?;
        channels.push(Channel {
            access: match access {
                Some("env") => Access::Env,
                _ => Access::Parameter,
            },
            source,
            local_dir,
            prefetch: prefetch.is_some_and(|field| field.value() == &Value::Bool(true)),
            period: period.and_then(|field| seconds(field.value())).unwrap_or(PERIOD),
            name,
        });
    }
    Ok(channels)
}

/// Parses a duration in seconds, given as the string `30s` or the number 30 (SOURCES D-14).
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.trim_end_matches('s').parse().ok()?,
        other => other.as_u64()?,
    };
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

fn obs(parent: &JsonField<'_>, name: &str) -> Result<ObsPath, ApiError> {
    let text = parent.required(name)?.text()?;
    ObsPath::parse(text).map_err(|reason| ApiError::obs_path(text, reason))
}

/// Reads `spec.volumes` of a validated request. Omits volumes without a source or a path.
pub(crate) fn volumes(spec: &JsonField<'_>) -> Result<Vec<Volume>, ApiError> {
    let mut volumes = Vec::new();
    for item in spec.items_of("volumes")? {
        for (kind, source) in [("nfs", "nfs_server_path"), ("pfs", "pfs_path"), ("obs", "obs_path")]
        {
            let Some(volume) = item.get(kind)? else {
                continue;
            };
            let (Some(path), Some(local_path)) =
                (volume.text_of(source)?, volume.text_of("local_path")?)
            else {
                continue;
            };
            if hides_platform(local_path) || container_path::check_plain(local_path).is_err() {
                return Err(ApiError::not_modelled(format!(
                    "{} at {local_path} (it must be a path without . and .. that hides no \
                     directory of the platform: name another one)",
                    volume.required("local_path")?
                )));
            }
            volumes.push(Volume {
                source: match kind {
                    "nfs" => VolumeSource::Nfs(path.to_owned()),
                    _ => VolumeSource::Obs(obs(&volume, source)?),
                },
                local_path: local_path.to_owned(),
            });
        }
    }
    Ok(volumes)
}

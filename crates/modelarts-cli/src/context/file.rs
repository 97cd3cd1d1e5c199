//! `ConfigFile`: the file of the contexts.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Variable with the path of the file.
pub(crate) const CONFIG_VARIABLE: &str = "MODELARTS_CONFIG";

/// Contents of the file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigFile {
    /// Context of commands without `--context`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    /// Contexts by name.
    #[serde(default, rename = "context")]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// Settings of one context. They take precedence over variables of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    /// Region, such as `eu-de`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<String>,
    /// Id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) project_id: Option<String>,
    /// Address of the service, if it is not that of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
    /// Address of OBS, if it is not that of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) obs_endpoint: Option<String>,
    /// Bucket for local code and data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bucket: Option<String>,
    /// Prefix of the keys in the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prefix: Option<String>,
    /// File with the credentials of this context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) credentials_file: Option<PathBuf>,
    /// Cloud in `clouds.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) os_cloud: Option<String>,
    /// Flavor of jobs without `--flavor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flavor: Option<String>,
    /// Pool of jobs without `--pool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// Data directory of an emulator. Its file `connection.json` has all variables of a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl Context {
    /// Returns the variables of the SDK that the context sets.
    pub(crate) fn variables(&self) -> BTreeMap<&'static str, String> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let values = [
            ("MODELARTS_REGION", self.region.clone()),
            ("HUAWEICLOUD_SDK_PROJECT_ID", self.project_id.clone()),
            ("MODELARTS_ENDPOINT", self.endpoint.clone()),
            ("MODELARTS_OBS_ENDPOINT", self.obs_endpoint.clone()),
            ("MODELARTS_OBS_BUCKET", self.bucket.clone()),
            ("MODELARTS_OBS_PREFIX", self.prefix.clone()),
            (
                "HUAWEICLOUD_SDK_CREDENTIALS_FILE",
                path(&self.credentials_file),
            ),
            ("OS_CLOUD", self.os_cloud.clone()),
        ];
        let set = values.into_iter();
        set.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

impl ConfigFile {
    /// Returns the path of the file: `MODELARTS_CONFIG`, else `modelarts/config.toml` in the
    /// directory of the user for settings.
    pub(crate) fn path() -> Result<PathBuf, Failure> {
        if let Some(path) = std::env::var_os(CONFIG_VARIABLE).filter(|path| !path.is_empty()) {
            return Ok(PathBuf::from(path));
        }
        use etcetera::BaseStrategy;
        let base = etcetera::choose_base_strategy().map_err(|_| {
            Failure::usage(format_args!(
                "the home directory is not known; {CONFIG_VARIABLE} must name the file of contexts"
            ))
        })?;
        Ok(base.config_dir().join("modelarts").join("config.toml"))
    }

    /// Reads the file. A file that does not exist has no contexts.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Failure::usage(format_args!(
                    "cannot read the contexts in {}: {error}",
                    path.display()
                )));
            }
        };
        toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .map(|span| text[..span.start].lines().count().max(1));
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            Failure::usage(format_args!(
                "{}{line}: {}; edit the file, or delete it",
                path.display(),
                error.message()
            ))
        })
    }
}

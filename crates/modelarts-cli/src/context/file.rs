//! `ConfigFile`: the file of the contexts.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{context::fields, failure::Failure};

/// Environment variable with the path of the file.
pub(crate) const CONFIG_VARIABLE: &str = "MODELARTS_CONFIG";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigFile {
    /// Context that applies without `--context` and `MODELARTS_CONTEXT`; empty text selects none.
    #[serde(default)]
    pub(crate) current: Option<String>,
    #[serde(default, rename = "context")]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// Settings of a context. They take precedence over environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
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
    /// Returns the environment variables of the SDK that the context sets.
    pub(crate) fn variables(&self) -> BTreeMap<&'static str, String> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let values = [
            ("MODELARTS_REGION", self.region.clone()),
            ("HUAWEICLOUD_SDK_PROJECT_ID", self.project_id.clone()),
            ("MODELARTS_ENDPOINT", self.endpoint.clone()),
            ("MODELARTS_OBS_ENDPOINT", self.obs_endpoint.clone()),
            ("MODELARTS_OBS_BUCKET", self.bucket.clone()),
            ("MODELARTS_OBS_PREFIX", self.prefix.clone()),
            ("HUAWEICLOUD_SDK_CREDENTIALS_FILE", path(&self.credentials_file)),
            ("OS_CLOUD", self.os_cloud.clone()),
        ];
        let set = values.into_iter();
        set.filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl ConfigFile {
    /// Returns the path of the file: `MODELARTS_CONFIG`, otherwise `modelarts/config.toml` in the
    /// configuration directory of the user.
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

    /// Reads and parses the file. A missing file has no contexts.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Self::parse(path, &Self::read_text(path)?)
    }

    /// Returns the text of the file; empty if the file does not exist.
    pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(Failure::usage(format_args!(
                "cannot read the contexts in {}: {error}",
                path.display()
            ))),
        }
    }

    /// Parses the text of the file. Errors contain the line number.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let mut file: Self = toml_edit::de::from_str(text).map_err(|error| {
            let start = error.span().map(|span| span.start);
            let line = start.and_then(|start| text.get(..start));
            let line = line.map(|before| before.matches('\n').count() + 1);
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            let message = error.message();
            let unknown = message.strip_prefix("unknown field `");
            let unknown = unknown.and_then(|rest| rest.split_once('`'));
            let problem = match unknown {
                // If `current` is among the expected fields, the unknown field is not in a context.
                Some((name, rest)) if !rest.contains("`current`") => {
                    format!("unknown field {name:?}; {}", fields::unknown(name))
                }
                _ => format!("{message}; edit the file, or delete it"),
            };
            Failure::usage(format_args!("{}{line}: {problem}", path.display()))
        })?;
        file.current = file.current.filter(|name| !name.is_empty());
        Ok(file)
    }

    pub(crate) fn context(&self, path: &Path, name: &str) -> Result<&Context, Failure> {
        self.contexts.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let rule = match known.is_empty() {
                true => format!(
                    "there are none; create it with `modelarts context set {name} region=…`"
                ),
                false => format!("it must be one of: {}", known.join(", ")),
            };
            Failure::usage(format_args!(
                "no context is named {name:?} in {}; {rule}",
                path.display()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_fields_is_that_of_the_type() {
        let text = Some("x".to_owned());
        let path = Some(PathBuf::from("x"));
        let all = Context {
            region: text.clone(),
            project_id: text.clone(),
            endpoint: text.clone(),
            obs_endpoint: text.clone(),
            bucket: text.clone(),
            prefix: text.clone(),
            credentials_file: path.clone(),
            os_cloud: text.clone(),
            flavor: text.clone(),
            pool: text,
            data_dir: path,
        };
        let value = serde_json::to_value(all).unwrap();
        let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let mut listed: Vec<&str> = fields::FIELDS.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        listed.sort_unstable();
        assert_eq!(names, listed);
    }
}

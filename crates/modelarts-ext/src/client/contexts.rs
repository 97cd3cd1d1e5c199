//! Contexts of the tool `modelarts`: named settings in a file, one for each cloud, project or
//! emulator. With the feature `contexts`, programs use the same settings as the tool.
//!
//! The file `~/.config/modelarts/config.toml` (variable `MODELARTS_CONFIG`) has a table for each
//! context. `modelarts context set`, and for an emulator `modelarts dev`, write it. It contains no
//! secrets: credentials come from the variables and files of
//! [`from_env`](crate::ClientBuilder::from_env), and the keys of an emulator from its data
//! directory.
//!
//! ```toml
//! current = "team"
//!
//! [context.team]
//! region = "eu-de"
//! project_id = "0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b"
//! bucket = "team-bucket"
//! flavor = "modelarts.vm.cpu.8u"
//! ```

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    client::{Client, builder::ClientBuilder, resolve::CONTEXT},
    config::environment::Environment,
    credentials::Credentials,
    error::Error,
    masking::is_credential,
    spelling::nearest,
};

/// File in an emulator's data directory with the environment variables of a client; mode 0600.
#[doc(hidden)]
pub const CONNECTION_FILE: &str = "connection.json";
const CONFIG_VARIABLE: &str = "MODELARTS_CONFIG";
/// Variables with endpoints, region and project, which must all come from the same source.
const ADDRESSES: &[&str] = &[
    "MODELARTS_ENDPOINT",
    "MODELARTS_REGION",
    "MODELARTS_OBS_ENDPOINT",
    "HUAWEICLOUD_SDK_IAM_ENDPOINT",
    "HUAWEICLOUD_SDK_PROJECT_ID",
    "HW_PROJECT_ID",
    "OS_PROJECT_ID",
];
/// Environment variables that determine the endpoint of the service. Region variables of other
/// tools do not count, because users set them once for all programs.
#[doc(hidden)]
pub const ENDPOINTS: [&str; 2] = ["MODELARTS_ENDPOINT", "MODELARTS_REGION"];

/// Names of the fields of a [`Context`], with their descriptions.
#[doc(hidden)]
pub const FIELDS: &[(&str, &str)] = &[
    ("region", "region, such as eu-de"),
    ("project_id", "id of the project"),
    ("endpoint", "address of the service, if not that of the region"),
    ("obs_endpoint", "address of OBS, if not that of the region"),
    ("bucket", "bucket for local code and data"),
    ("prefix", "prefix of the keys in the bucket"),
    ("credentials_file", "file with the credentials, as ~/.huaweicloud/credentials"),
    ("os_cloud", "cloud in clouds.yaml"),
    ("flavor", "flavor of jobs without --flavor"),
    ("pool", "pool of jobs without --pool"),
    ("data_dir", "data directory of an emulator"),
];

const NO_SECRETS: &str = "a context holds no secrets: keys belong in the variables \
    HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or in the file ~/.huaweicloud/credentials, or in \
    another one that credentials_file names";

/// File of the contexts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Contexts {
    /// Context that the tool uses by default.
    #[serde(default)]
    pub current: Option<String>,
    /// Contexts by their names.
    #[serde(default, rename = "context")]
    pub contexts: BTreeMap<String, Context>,
}

/// Settings of a context. They take precedence over environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Context {
    /// Region, such as `eu-de`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Address of the service, if it is not that of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Address of OBS, if it is not that of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obs_endpoint: Option<String>,
    /// Bucket for local code and data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// Prefix of the keys in the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// File with the credentials of this context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
    /// Cloud in `clouds.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_cloud: Option<String>,
    /// Flavor of jobs without `--flavor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flavor: Option<String>,
    /// Pool of jobs without `--pool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Data directory of an emulator that `modelarts dev` started. Its file `connection.json` has
    /// all variables of a client. For another emulator, set `endpoint` and `project_id`, and give
    /// its keys in variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
}

impl Client {
    /// Creates a client with the settings of a context of the tool `modelarts`, such as `dev` of an
    /// emulator that `modelarts dev` started. Requires the feature `contexts`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::Client;
    ///
    /// // `modelarts dev` has started an emulator and created the context `dev`.
    /// let client = Client::from_context("dev")?;
    /// println!("project {} at {}", client.project_id(), client.endpoint());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`ClientBuilder::from_context`], and an error for a missing setting.
    pub fn from_context(name: &str) -> Result<Self, Error> {
        ClientBuilder::from_context(name)?.build()
    }
}

impl ClientBuilder {
    /// Creates a builder with the settings of a [context](crate::client::contexts) of the tool
    /// `modelarts`. Other settings, such as credentials, come from the environment of the process
    /// as in [`from_env`](Self::from_env); for an emulator, all come from its data directory. The
    /// field `current` of [`Contexts::read`] has the name of the context that the tool uses.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::ClientBuilder;
    ///
    /// let client = ClientBuilder::from_context("dev")?.rate_limit(20.0).build()?;
    /// println!("{} jobs", client.training_jobs().list().collect(1000).await?.len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, has no context of this name, or is invalid, or
    /// if the emulator of the context is not running.
    pub fn from_context(name: &str) -> Result<Self, Error> {
        let path = Contexts::path()?;
        let environment = Contexts::read(&path)?.get(&path, name)?.environment(name)?;
        Ok(Self::default().environment(environment))
    }
}

impl Context {
    /// Returns the environment variables of the SDK that the context sets.
    #[must_use]
    pub fn variables(&self) -> BTreeMap<&'static str, String> {
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

    /// Returns the environment of a client: the variables of the context take precedence over those
    /// of the process. For an emulator, the process adds only its cache directory, so that no keys
    /// of a cloud are used. If the variables of the process address another service, their
    /// endpoints, region and project are not used. `name` is the name of the context, for messages.
    ///
    /// # Errors
    /// Returns an error if the emulator of the context is not running.
    pub fn environment(&self, name: &str) -> Result<Environment, Error> {
        let process = Environment::of_process();
        let is_elsewhere = process.first(&ENDPOINTS).is_some()
            && endpoint(process).is_some_and(|other| {
                let own = self.own_environment(name).ok().and_then(endpoint);
                own.is_some_and(|own| own != other)
            });
        self.environment_without(name, if is_elsewhere { ADDRESSES } else { &[] })
    }

    /// Returns the environment without endpoints, region and project of the process.
    #[doc(hidden)]
    pub fn own_environment(&self, name: &str) -> Result<Environment, Error> {
        self.environment_without(name, ADDRESSES)
    }

    fn environment_without(
        &self,
        name: &str,
        hidden: &'static [&str],
    ) -> Result<Environment, Error> {
        let process = Environment::of_process();
        if self.data_dir.is_none() {
            let set = self.variables();
            let all = process.clone();
            return Ok(process.with_variables(move |name| match set.get(name) {
                Some(value) => Some(value.clone()),
                None if hidden.contains(&name) || name == CONTEXT => None,
                None => all.variable(name),
            }));
        }
        let mut variables = self.emulator_variables(name)?;
        let cache = process.variable("MODELARTS_CACHE_DIR");
        variables.extend(cache.map(|value| ("MODELARTS_CACHE_DIR".to_owned(), value)));
        Ok(Environment::new(move |name| variables.get(name).cloned()))
    }

    /// Returns the variables of the context and of its running emulator.
    #[doc(hidden)]
    pub fn emulator_variables(&self, name: &str) -> Result<BTreeMap<String, String>, Error> {
        let mut variables = match &self.data_dir {
            None => BTreeMap::new(),
            Some(directory) => connection(directory)?.ok_or_else(|| {
                Error::config(format!(
                    "the emulator of the context {name} is not running; {}",
                    start_advice(name, directory)
                ))
            })?,
        };
        let set = self.variables();
        variables.extend(set.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(variables)
    }
}

impl Contexts {
    /// Returns the path of the file: `MODELARTS_CONFIG`, otherwise `modelarts/config.toml` in the
    /// configuration directory of the user.
    ///
    /// # Errors
    /// Returns an error if the home directory is unknown.
    pub fn path() -> Result<PathBuf, Error> {
        if let Some(path) = std::env::var_os(CONFIG_VARIABLE).filter(|path| !path.is_empty()) {
            return Ok(PathBuf::from(path));
        }
        use etcetera::BaseStrategy;
        let base = etcetera::choose_base_strategy().map_err(|_| {
            Error::config(format!(
                "the home directory is not known; {CONFIG_VARIABLE} must name the file of contexts"
            ))
        })?;
        Ok(base.config_dir().join("modelarts").join("config.toml"))
    }

    /// Reads and parses the file. A missing file has no contexts.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is invalid, with the line number.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(path, &Self::read_text(path)?)
    }

    /// Returns the text of the file; empty if the file does not exist.
    #[doc(hidden)]
    pub fn read_text(path: &Path) -> Result<String, Error> {
        match fs::read_to_string(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let path = path.display();
                Err(Error::config(format!("cannot read the contexts in {path}: {error}")))
            }
            text => Ok(text.unwrap_or_default()),
        }
    }

    /// Parses the text of the file. Errors contain the line number.
    #[doc(hidden)]
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
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
                    format!("unknown field {name:?}; {}", unknown_field(name))
                }
                _ => format!("{message}; edit the file, or delete it"),
            };
            Error::config(format!("{}{line}: {problem}", path.display()))
        })?;
        file.current = file.current.filter(|name| !name.is_empty());
        Ok(file)
    }

    /// Returns a context of the file at `path`.
    ///
    /// # Errors
    /// Returns an error with the known names if there is no context of this name.
    pub fn get(&self, path: &Path, name: &str) -> Result<&Context, Error> {
        self.contexts.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let rule = match known.is_empty() {
                true => format!(
                    "there are none; create it with `modelarts context set {name} region=…`"
                ),
                false => format!("it must be one of: {}", known.join(", ")),
            };
            let path = path.display();
            Error::config(format!("no context is named {name:?} in {path}; {rule}"))
        })
    }
}

/// Returns advice on an unknown field name: where secrets belong, or which names exist.
#[doc(hidden)]
#[must_use]
pub fn unknown_field(name: &str) -> String {
    let name = name.to_lowercase();
    if is_credential(&name) {
        return NO_SECRETS.to_owned();
    }
    let names = FIELDS.iter().map(|(name, _)| *name);
    match nearest(&name, names.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("it must be one of: {}", names.collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the endpoint of a client with this environment; `None` if the settings give none.
#[doc(hidden)]
#[must_use]
pub fn endpoint(environment: Environment) -> Option<String> {
    let builder = ClientBuilder::default().environment(environment);
    let builder = builder.credentials(Credentials::token("unused")).project_id("unused");
    let endpoint = builder.build().ok()?.endpoint().to_owned();
    Some(endpoint.trim_end_matches('/').to_owned())
}

/// Returns a clause with the command that starts the emulator of a context.
#[doc(hidden)]
#[must_use]
pub fn start_advice(name: &str, directory: &Path) -> String {
    let directory = directory.display();
    format!("start it with `modelarts dev --name {name} --data-dir {directory}`")
}

/// Reads the environment variables of a client of the emulator in a data directory. Returns `None`
/// if the file does not exist, because the emulator is not running.
#[doc(hidden)]
pub fn connection(directory: &Path) -> Result<Option<BTreeMap<String, String>>, Error> {
    let path = directory.join(CONNECTION_FILE);
    let place = path.display();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::config(format!("cannot read {place}: {error}"))),
    };
    // The message of the parser could quote a key, so only the line is reported.
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let line = error.line();
        Error::config(format!(
            "{place}, line {line}: it must be a JSON object with texts; delete the file, and start \
             `modelarts dev` again"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_fields_is_that_of_the_type() {
        let fields = FIELDS.iter().map(|(name, _)| format!("{name} = \"x\"\n"));
        let text = format!("[context.a]\n{}", fields.collect::<String>());
        let file = Contexts::parse(Path::new("f"), &text).unwrap();
        let value = serde_json::to_value(&file.contexts["a"]).unwrap();
        assert_eq!(value.as_object().unwrap().len(), FIELDS.len());
    }
}

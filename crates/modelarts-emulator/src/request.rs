//! What a job is asked to be: the body of CreateTrainingJob, read and checked.
//!
//! Checked are the rules that the runner lives by and those whose error codes this emulator
//! documents in its README. What it would have to ignore it refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::body::Field;
use crate::confined::Confined;
use crate::error::ApiError;
use crate::flavors::{self, Flavor};
use crate::home::{DEFAULT_LOCAL_CODE_DIR, HomePath, MA_MOUNT_PATH};
use crate::obs::ObsPath;

/// A checked request.
#[derive(Debug)]
pub(crate) struct JobRequest {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) workspace_id: String,
    pub(crate) annotations: Option<Map<String, Value>>,
    pub(crate) algorithm_name: String,
    pub(crate) code_dir: Option<ObsPath>,
    pub(crate) start: Start,
    pub(crate) engine: Map<String, Value>,
    pub(crate) has_policies: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) inputs: Vec<Channel>,
    pub(crate) outputs: Vec<Channel>,
    pub(crate) environments: Option<BTreeMap<String, String>>,
    /// Where the code directory's copy goes; the request may name another place than the default.
    pub(crate) local_code_dir: Option<HomePath>,
    pub(crate) working_dir: Option<HomePath>,
    pub(crate) flavor_id: Option<String>,
    pub(crate) pool_id: Option<String>,
    pub(crate) node_count: u32,
    pub(crate) auto_stop_hours: Option<u32>,
    pub(crate) log_export: LogExport,
    /// Members of `spec` that are given back as they came: `schedule_policy`, `custom_metrics`,
    /// `runtime_type`.
    pub(crate) spec_echo: Map<String, Value>,
}

/// How the code starts.
#[derive(Debug)]
pub(crate) enum Start {
    /// `python3 <boot file>`, from a preset image.
    BootFile {
        file: ObsPath,
        /// Its path inside the code directory.
        below: PathBuf,
    },
    /// `bash -c <command>`, from a custom image.
    Command(String),
}

/// A hyper-parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) description: String,
    pub(crate) constraint: Option<Value>,
}

/// An input or an output.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) access: Access,
    /// Whether the request said so, then the answer says it too.
    pub(crate) access_given: bool,
    pub(crate) obs: ObsPath,
    pub(crate) local_dir: HomePath,
}

/// How the code learns the local directory of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// `--name=<local dir>`, the default.
    Parameter,
    /// The environment variable `name`.
    Env,
}

/// `spec.log_export_path`.
#[derive(Debug)]
pub(crate) enum LogExport {
    NotGiven,
    /// Given, but blank; the answer says `{}`.
    Blank,
    To(ObsPath),
}

/// `environments` may hold this many pairs, with keys and values of these lengths.
const MAX_VARIABLES: usize = 100;
const MAX_VARIABLE_NAME: usize = 8192;
const MAX_VARIABLE_VALUE: usize = 4096;
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 256;

impl JobRequest {
    /// Reads a body.
    pub(crate) fn read(body: &Value) -> Result<Self, ApiError> {
        let body = Field::root(body);
        let kind = body.required("kind")?;
        if kind.text()? != "job" {
            return Err(ApiError::not_modelled(format!(
                "the job kind {:?}",
                kind.text()?
            )));
        }
        for name in ["tasks", "endpoints", "train_type", "ftjob_config"] {
            refuse_unless_empty(&body, name)?;
        }
        let metadata = body.required("metadata")?;
        let algorithm = body.required("algorithm")?;
        let spec = body.required("spec")?;
        let resource = spec.required("resource")?;
        refuse_unless_empty(&spec, "volumes")?;

        let engine = engine(&algorithm)?;
        let (code_dir, start) = start(&algorithm, &engine)?;
        let local_code_dir = match algorithm.text_of("local_code_dir")? {
            None => None,
            Some(text) => Some(HomePath::parse(text).map_err(ApiError::local_code_dir)?),
        };
        let working_dir = match algorithm.text_of("working_dir")? {
            None => None,
            Some(text) => Some(HomePath::parse(text).map_err(ApiError::working_dir)?),
        };
        if let Some(policies) = algorithm.get("policies")? {
            refuse_unless_empty(&policies, "auto_search")?;
        }
        for name in [
            "autosearch_config_path",
            "autosearch_framework_path",
            "summary",
        ] {
            refuse_unless_empty(&algorithm, name)?;
        }

        let flavor_id = resource.text_of("flavor_id")?.map(str::to_owned);
        let pool_id = resource.text_of("pool_id")?.map(str::to_owned);
        if flavor_id.is_none() && pool_id.is_none() {
            return Err(ApiError::invalid_parameter(
                "spec.resource.flavor_id is required where there is no spec.resource.pool_id",
            ));
        }
        let node_count = node_count(&resource, flavor_id.as_deref())?;

        Ok(Self {
            name: name(&metadata.required("name")?)?,
            description: description(&metadata)?.unwrap_or_default(),
            workspace_id: metadata.text_of("workspace_id")?.unwrap_or("0").to_owned(),
            annotations: annotations(&metadata)?,
            algorithm_name: algorithm.text_of("name")?.unwrap_or_default().to_owned(),
            code_dir,
            start,
            engine,
            has_policies: algorithm.get("policies")?.is_some(),
            parameters: parameters(&algorithm)?,
            inputs: channels(&algorithm, "inputs")?,
            outputs: channels(&algorithm, "outputs")?,
            environments: environments(&algorithm)?,
            local_code_dir,
            working_dir,
            flavor_id,
            pool_id,
            node_count,
            auto_stop_hours: auto_stop(&spec)?,
            log_export: log_export(&spec)?,
            spec_echo: spec_echo(&spec)?,
        })
    }

    /// Checks that what the request names in OBS is there, and that nothing leads out of the root.
    pub(crate) fn check_paths(&self, obs: &Confined) -> Result<(), ApiError> {
        if let Some(code_dir) = &self.code_dir {
            match obs.existing(&code_dir.relative()) {
                Ok(path) if path.is_dir() => {}
                Err(error) if error.kind() == io::ErrorKind::Other => {
                    return Err(ApiError::obs_path(&code_dir.to_string(), error));
                }
                _ => return Err(ApiError::code_dir()),
            }
        }
        if let Start::BootFile { file, .. } = &self.start {
            match obs.existing(&file.relative()) {
                Ok(path) if path.is_file() => {}
                Err(error) if error.kind() == io::ErrorKind::Other => {
                    return Err(ApiError::obs_path(&file.to_string(), error));
                }
                _ => return Err(ApiError::boot_file()),
            }
        }
        let export = match &self.log_export {
            LogExport::To(path) => Some(path),
            _ => None,
        };
        let channels = self
            .inputs
            .iter()
            .chain(&self.outputs)
            .map(|channel| &channel.obs);
        for path in channels.chain(export) {
            // What does not exist yet is looked at again when it is read or written.
            if let Err(error) = obs.existing(&path.relative())
                && error.kind() == io::ErrorKind::Other
            {
                return Err(ApiError::obs_path(&path.to_string(), error));
            }
        }
        Ok(())
    }

    /// Where the code directory's copies go: `MA_JOB_DIR`.
    pub(crate) fn job_dir(&self) -> HomePath {
        let default = || HomePath::fixed(DEFAULT_LOCAL_CODE_DIR);
        self.local_code_dir.clone().unwrap_or_else(default)
    }

    /// Where the code directory's copy lies: its last segment is kept.
    pub(crate) fn code_copy(&self) -> HomePath {
        match &self.code_dir {
            Some(code_dir) => self.job_dir().join(code_dir.last()),
            None => self.job_dir(),
        }
    }

    pub(crate) fn flavor(&self) -> Option<&'static Flavor> {
        self.flavor_id.as_deref().and_then(Flavor::find)
    }

    pub(crate) fn auto_stop(&self) -> Option<Duration> {
        self.auto_stop_hours
            .map(|hours| Duration::from_secs(u64::from(hours) * 3600))
    }

    /// What stands for the image in the events.
    pub(crate) fn image(&self) -> &str {
        ["image_url", "engine_version", "engine_id", "engine_name"]
            .iter()
            .find_map(|name| self.engine.get(*name)?.as_str())
            .unwrap_or_default()
    }
}

/// Refuses a member that the emulator would have to ignore.
fn refuse_unless_empty(parent: &Field<'_>, name: &str) -> Result<(), ApiError> {
    let Some(field) = parent.get(name)? else {
        return Ok(());
    };
    let empty = match field.value() {
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.values().all(Value::is_null),
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    if empty {
        Ok(())
    } else {
        Err(ApiError::not_modelled(format!("the request field {field}")))
    }
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn name(field: &Field<'_>) -> Result<String, ApiError> {
    let text = field.text()?;
    if is_name(text) {
        Ok(text.to_owned())
    } else {
        Err(field.must("be 1 to 64 letters, digits, hyphens or underscores"))
    }
}

fn description(parent: &Field<'_>) -> Result<Option<String>, ApiError> {
    let Some(field) = parent.get("description")? else {
        return Ok(None);
    };
    let text = field.text()?;
    if text.chars().count() > MAX_DESCRIPTION {
        return Err(field.must("have at most 256 characters"));
    }
    Ok(Some(text.to_owned()))
}

fn annotations(metadata: &Field<'_>) -> Result<Option<Map<String, Value>>, ApiError> {
    let Some(annotations) = metadata.get("annotations")? else {
        return Ok(None);
    };
    for (_, value) in annotations.members()? {
        value.text()?;
    }
    Ok(Some(annotations.object()?.clone()))
}

fn engine(algorithm: &Field<'_>) -> Result<Map<String, Value>, ApiError> {
    let Some(engine) = algorithm.get("engine")? else {
        return Ok(Map::new());
    };
    for name in ["engine_id", "engine_name", "engine_version", "image_url"] {
        engine.text_of(name)?;
    }
    refuse_unless_empty(&engine, "install_sys_packages")?;
    let mut given = engine.object()?.clone();
    given.retain(|_, value| !value.is_null() && *value != "");
    Ok(given)
}

/// The four sources of an algorithm (checklist.md, rule 1), of which two can exist here.
fn start(
    algorithm: &Field<'_>,
    engine: &Map<String, Value>,
) -> Result<(Option<ObsPath>, Start), ApiError> {
    if algorithm.text_of("id")?.is_some()
        || algorithm.text_of("subscription_id")?.is_some()
        || algorithm.text_of("item_version_id")?.is_some()
    {
        // True, not only modest: there is no algorithm in this emulator.
        return Err(ApiError::algorithm_not_found());
    }
    let code_dir = obs_member(algorithm, "code_dir")?;
    let boot_file = obs_member(algorithm, "boot_file")?;
    let command = algorithm.text_of("command")?;
    let start = match (boot_file, command) {
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid_parameter(
                "algorithm.command must not stand beside algorithm.boot_file",
            ));
        }
        (Some(file), None) => {
            let Some(directory) = &code_dir else {
                return Err(ApiError::invalid_parameter(
                    "algorithm.code_dir is required with algorithm.boot_file",
                ));
            };
            let below = file
                .below(directory)
                .ok_or_else(ApiError::boot_file_outside)?;
            if below.extension().is_none_or(|extension| extension != "py") {
                return Err(ApiError::boot_file());
            }
            let complete = engine.contains_key("engine_id")
                || engine.contains_key("image_url")
                || (engine.contains_key("engine_name") && engine.contains_key("engine_version"));
            if !complete {
                return Err(ApiError::invalid_parameter(
                    "algorithm.engine must have engine_id, or engine_name and engine_version, or image_url",
                ));
            }
            Start::BootFile { file, below }
        }
        (None, command) => {
            let image = engine.contains_key("image_url");
            match command {
                Some(command) if image => {
                    if command.contains(['\n', '\r']) {
                        return Err(ApiError::invalid_parameter(
                            "algorithm.command must not contain line breaks",
                        ));
                    }
                    Start::Command(command.to_owned())
                }
                None if !image => {
                    return Err(ApiError::invalid_parameter(
                        "algorithm.boot_file is required",
                    ));
                }
                _ => return Err(ApiError::command_and_image()),
            }
        }
    };
    Ok((code_dir, start))
}

fn obs_member(parent: &Field<'_>, name: &str) -> Result<Option<ObsPath>, ApiError> {
    match parent.text_of(name)? {
        None => Ok(None),
        Some(text) => ObsPath::parse(text)
            .map(Some)
            .map_err(|reason| ApiError::obs_path(text, reason)),
    }
}

fn parameters(algorithm: &Field<'_>) -> Result<Vec<Parameter>, ApiError> {
    let mut parameters = Vec::new();
    for item in algorithm.items_of("parameters")? {
        let value = match item.get("value")? {
            Some(value) => value.text()?.to_owned(),
            None => String::new(),
        };
        parameters.push(Parameter {
            name: name(&item.required("name")?)?,
            value,
            description: item.text_of("description")?.unwrap_or_default().to_owned(),
            constraint: item.get("constraint")?.map(|field| field.value().clone()),
        });
    }
    Ok(parameters)
}

fn channels(algorithm: &Field<'_>, kind: &str) -> Result<Vec<Channel>, ApiError> {
    let mut channels: Vec<Channel> = Vec::new();
    for (index, item) in algorithm.items_of(kind)?.into_iter().enumerate() {
        let name = name(&item.required("name")?)?;
        if channels.iter().any(|channel| channel.name == name) {
            return Err(ApiError::channel());
        }
        let remote = item.required("remote")?;
        refuse_unless_empty(&remote, "dataset")?;
        let obs = remote.required("obs")?;
        let url = obs.required("obs_url")?;
        let obs = ObsPath::parse(url.text()?).map_err(|reason| {
            ApiError::obs_path(url.value().as_str().unwrap_or_default(), reason)
        })?;
        let access = item.get("access_method")?;
        let access_given = access.is_some();
        let access = match access {
            None => Access::Parameter,
            Some(field) => match field.text()? {
                "parameter" => Access::Parameter,
                "env" => Access::Env,
                _ => return Err(field.must("be parameter or env")),
            },
        };
        if access == Access::Env && !is_variable(&name) {
            return Err(item
                .required("name")?
                .must("be the name of an environment variable, as access_method is env"));
        }
        let local_dir = match item.text_of("local_dir")? {
            Some(text) => {
                let field = item.required("local_dir")?;
                HomePath::parse(text)
                    .map_err(|phrase| field.must(format!("be usable: {phrase}")))?
            }
            None => HomePath::fixed(MA_MOUNT_PATH).join(&format!("{kind}/{name}_{index}")),
        };
        channels.push(Channel {
            name,
            description: description(&item)?,
            access,
            access_given,
            obs,
            local_dir,
        });
    }
    let places: BTreeSet<String> = channels
        .iter()
        .map(|channel| channel.local_dir.to_string())
        .collect();
    if places.len() < channels.len() {
        return Err(ApiError::channel());
    }
    Ok(channels)
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn environments(algorithm: &Field<'_>) -> Result<Option<BTreeMap<String, String>>, ApiError> {
    let Some(field) = algorithm.get("environments")? else {
        return Ok(None);
    };
    let members = field.members()?;
    if members.len() > MAX_VARIABLES {
        return Err(field.must("have at most 100 pairs"));
    }
    let mut variables = BTreeMap::new();
    for (name, value) in members {
        if name.len() > MAX_VARIABLE_NAME || !is_variable(name) {
            return Err(field.must(
                "have names of letters, digits and underscores that do not start with a digit",
            ));
        }
        let text = value.text()?;
        if text.chars().count() > MAX_VARIABLE_VALUE || text.contains('$') {
            return Err(value.must("have at most 4096 characters and no $"));
        }
        variables.insert(name.to_owned(), text.to_owned());
    }
    Ok(Some(variables))
}

fn node_count(resource: &Field<'_>, flavor_id: Option<&str>) -> Result<u32, ApiError> {
    let Some(field) = resource.get("node_count")? else {
        return Ok(1);
    };
    let asked = field.integer()?;
    if asked < 1 {
        return Err(field.must("be 1 or more"));
    }
    let maximum = flavors::max_nodes(flavor_id.and_then(Flavor::find));
    match u32::try_from(asked) {
        Ok(count) if count <= maximum => Ok(count),
        _ => Err(ApiError::too_many_nodes(asked, maximum)),
    }
}

fn auto_stop(spec: &Field<'_>) -> Result<Option<u32>, ApiError> {
    let Some(auto_stop) = spec.get("auto_stop")? else {
        return Ok(None);
    };
    let unit = auto_stop.required("time_unit")?;
    if unit.text()? != "HOURS" {
        return Err(unit.must("be HOURS"));
    }
    let duration = auto_stop.required("duration")?;
    match u32::try_from(duration.integer()?) {
        Ok(hours) if hours >= 1 => Ok(Some(hours)),
        _ => Err(duration.must("be 1 or more")),
    }
}

fn log_export(spec: &Field<'_>) -> Result<LogExport, ApiError> {
    let Some(field) = spec.get("log_export_path")? else {
        return Ok(LogExport::NotGiven);
    };
    refuse_unless_empty(&field, "host_path")?;
    Ok(obs_member(&field, "obs_url")?.map_or(LogExport::Blank, LogExport::To))
}

fn spec_echo(spec: &Field<'_>) -> Result<Map<String, Value>, ApiError> {
    let mut echo = Map::new();
    if let Some(policy) = spec.get("schedule_policy")? {
        policy.object()?;
        echo.insert("schedule_policy".into(), policy.value().clone());
    }
    if let Some(metrics) = spec.get("custom_metrics")? {
        metrics.items()?;
        echo.insert("custom_metrics".into(), metrics.value().clone());
    }
    if let Some(runtime_type) = spec.text_of("runtime_type")? {
        echo.insert("runtime_type".into(), runtime_type.into());
    }
    Ok(echo)
}

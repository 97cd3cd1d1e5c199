//! Request of a job: the body of CreateTrainingJob, read after its [validation](crate::validation).

use std::{collections::BTreeMap, ops::Range, path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Map, Value};

use crate::{
    api::{error::ApiError, json_field::JsonField},
    catalog::{engines::Engine, flavors::Flavor},
    files::{
        container_path::{ContainerPath, DEFAULT_LOCAL_CODE_DIR},
        obs_path::ObsPath,
    },
    job::channel::{Channel, Volume, channels, volumes},
    tuning::settings::Tuning,
    validation::{annotations, creation::fine_tuned_field, fields::ignored::unused_entry},
};

/// Default of `spec.runtime_type`.
pub(crate) const RUNTIME_TYPE: &str = "production";

/// Request of a job. Its default value is a placeholder for a request that has not been read yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobRequest {
    /// Body as received, with the members of a stored algorithm.
    pub(crate) body: Value,
    pub(crate) name: String,
    pub(crate) workspace_id: String,
    pub(crate) annotations: Option<Map<String, Value>>,
    pub(crate) algorithm_name: String,
    pub(crate) code_dir: Option<ObsPath>,
    pub(crate) start: Start,
    pub(crate) engine: Map<String, Value>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) inputs: Vec<Channel>,
    pub(crate) outputs: Vec<Channel>,
    pub(crate) environments: Option<BTreeMap<String, String>>,
    /// Path for the copy of the code directory, if the request specifies one.
    pub(crate) local_code_dir: Option<ContainerPath>,
    pub(crate) working_dir: Option<ContainerPath>,
    pub(crate) flavor_id: Option<String>,
    pub(crate) pool_id: Option<String>,
    pub(crate) node_count: u32,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) auto_stop_hours: Option<u32>,
    pub(crate) log_export: LogExport,
    pub(crate) retry: Retry,
    /// Search whose trials run the code, if the job has one.
    pub(crate) tuning: Option<Tuning>,
    /// Requests of the elements of `tasks`. `node_count` of the job is the total of all elements.
    pub(crate) roles: Vec<Arc<JobRequest>>,
    /// Name of the role, if this is the request of an element of `tasks`.
    pub(crate) role: Option<String>,
    /// Index of the first task of the role. Not 0 if earlier elements have the same role.
    pub(crate) first_index: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Start {
    /// `python3 <boot file>`, in a preset image.
    BootFile {
        file: ObsPath,
        /// Path of the boot file in the code directory.
        below: PathBuf,
    },
    /// `bash -c <command>`, in a custom image.
    Command(String),
    /// Fine-tuning with the platform's own code, which the emulator does not contain.
    FineTuning,
}

impl Default for Start {
    fn default() -> Self {
        Self::Command(String::new())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) description: String,
    pub(crate) constraint: Option<Value>,
}

/// Destination of the log export: `spec.log_export_path`.
#[derive(Clone, Debug, Default)]
pub(crate) enum LogExport {
    #[default]
    NotGiven,
    /// The member is present but empty. Responses contain `{}`.
    Blank,
    To(ObsPath),
}

/// Restarts requested by the annotations `fault-tolerance/…`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retry {
    /// Maximum number of restarts. If it is not 0, the job also has a pre-check of its nodes.
    pub(crate) times: u32,
    /// `true` if any failure restarts the job, at most three times.
    pub(crate) unconditional: bool,
    /// `true` if the job is restarted in place when it hangs.
    pub(crate) hang: bool,
}

impl JobRequest {
    /// Reads a validated body without `tasks`.
    pub(super) fn read_ordinary(given: Value) -> Result<Self, ApiError> {
        let body = JsonField::root(&given);
        let metadata = body.required("metadata")?;
        let none = Value::Object(Map::new());
        let algorithm = match body.get("algorithm")? {
            None if fine_tuned_field(&given).is_some() => JsonField::root(&none),
            _ => body.required("algorithm")?,
        };
        let spec = body.required("spec")?;
        let resource = spec.required("resource")?;

        let annotations = metadata.get("annotations")?;
        let annotations = annotations.map(|field| field.object().cloned()).transpose()?;
        let engine = engine(&algorithm)?;
        let (code_dir, start) = start(&given, &algorithm)?;
        // Engines of version 1 do not support custom directories.
        let old = preset(&engine).is_some_and(|engine| engine.v1_compatible);
        let home = |name: &str| match old {
            true => Ok(None),
            false => algorithm.container_path_of(name),
        };
        let node_count = resource.get("node_count")?.map(|field| field.integer());
        Ok(Self {
            name: metadata.required("name")?.text()?.to_owned(),
            workspace_id: metadata.text_of("workspace_id")?.unwrap_or("0").to_owned(),
            retry: Retry::read(annotations.as_ref()),
            annotations,
            algorithm_name: algorithm.text_of("name")?.unwrap_or_default().to_owned(),
            code_dir,
            start,
            engine,
            parameters: parameters(&algorithm)?,
            inputs: channels(&algorithm, "inputs")?,
            outputs: channels(&algorithm, "outputs")?,
            environments: environments(&algorithm)?,
            local_code_dir: home("local_code_dir")?,
            working_dir: home("working_dir")?,
            flavor_id: resource.text_of("flavor_id")?.map(str::to_owned),
            pool_id: resource.text_of("pool_id")?.map(str::to_owned),
            node_count: u32::try_from(node_count.transpose()?.unwrap_or(1)).unwrap_or(1),
            volumes: volumes(&spec)?,
            auto_stop_hours: auto_stop(&spec)?,
            log_export: match spec.get("log_export_path")? {
                None => LogExport::NotGiven,
                Some(field) => {
                    obs_member(&field, "obs_url")?.map_or(LogExport::Blank, LogExport::To)
                }
            },
            tuning: Tuning::read(&algorithm)?,
            body: given,
            ..Self::default()
        })
    }

    /// Returns the requests of the roles or, without roles, the request of the job itself.
    pub(crate) fn role_requests(self: &Arc<Self>) -> &[Arc<Self>] {
        match self.roles.as_slice() {
            [] => std::slice::from_ref(self),
            roles => roles,
        }
    }

    pub(super) fn all_outputs(self: &Arc<Self>) -> impl Iterator<Item = &Channel> {
        self.role_requests().iter().flat_map(|part| &part.outputs)
    }

    /// Returns the name of the role, which is the prefix of its task names.
    pub(crate) fn role(&self) -> &str {
        self.role.as_deref().unwrap_or("worker")
    }

    pub(crate) fn indexes(&self) -> Range<u32> {
        self.first_index..self.first_index + self.node_count
    }

    /// Returns `MA_JOB_DIR`: the parent of the copy of the code directory.
    pub(crate) fn job_dir(&self) -> ContainerPath {
        let default = || ContainerPath::from_static(DEFAULT_LOCAL_CODE_DIR);
        self.local_code_dir.clone().unwrap_or_else(default)
    }

    /// Returns the path of the copy of the code. Its last segment is that of the code directory.
    pub(crate) fn code_copy(&self) -> ContainerPath {
        match &self.code_dir {
            Some(code_dir) => self.job_dir().join(code_dir.last()),
            None => self.job_dir(),
        }
    }

    pub(crate) fn flavor(&self) -> Option<&'static Flavor> {
        self.flavor_id.as_deref().and_then(Flavor::find)
    }

    pub(crate) fn auto_stop(&self) -> Option<Duration> {
        self.auto_stop_hours.map(|hours| Duration::from_secs(u64::from(hours) * 3600))
    }

    /// Returns the detection time of hangs: `MA_HANG_DETECT_TIME` minutes, or 30.
    pub(crate) fn hang_time(&self) -> Duration {
        let variables = self.environments.as_ref();
        let minutes = variables
            .and_then(|variables| variables.get("MA_HANG_DETECT_TIME"))
            .and_then(|text| text.parse().ok())
            .filter(|minutes| *minutes > 0)
            .unwrap_or(30_u32);
        Duration::from_secs(60 * u64::from(minutes))
    }

    /// Returns the name of the image for events.
    pub(crate) fn image(&self) -> &str {
        ["image_url", "engine_version", "engine_id", "engine_name"]
            .iter()
            .find_map(|name| self.engine.get(*name)?.as_str())
            .unwrap_or_default()
    }

    /// Returns the priority, 0 to 3, which defaults to 1 (SOURCES D-68).
    pub(crate) fn priority(&self) -> i64 {
        let priority = self.body.pointer("/spec/schedule_policy/priority");
        priority.and_then(Value::as_i64).unwrap_or(1)
    }

    pub(crate) fn runtime_type(&self) -> &str {
        match self.text("/spec/runtime_type") {
            "" => RUNTIME_TYPE,
            given => given,
        }
    }

    /// Returns the string at a JSON Pointer in the body, or an empty string if it is absent.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        let value = self.body.pointer(pointer);
        value.and_then(Value::as_str).unwrap_or_default()
    }
}

impl Retry {
    fn read(given: Option<&Map<String, Value>>) -> Self {
        let text = |key: &str| given?.get(key)?.as_str();
        Self {
            times: text(annotations::RETRIES).and_then(|text| text.parse().ok()).unwrap_or(0),
            unconditional: text(annotations::UNCONDITIONAL) == Some("true"),
            hang: text(annotations::HANG_RETRY) == Some("true"),
        }
    }
}

pub(crate) fn preset(engine: &Map<String, Value>) -> Option<&'static Engine> {
    let text = |name: &str| engine.get(name)?.as_str();
    match (text("engine_id"), text("engine_name"), text("engine_version")) {
        (Some(id), _, _) => Engine::by_id(id),
        (None, Some(name), Some(version)) => Engine::by_name(name, version),
        _ => None,
    }
}

fn engine(algorithm: &JsonField<'_>) -> Result<Map<String, Value>, ApiError> {
    let Some(engine) = algorithm.get("engine")? else {
        return Ok(Map::new());
    };
    let mut given = engine.object()?.clone();
    given.retain(|_, value| !value.is_null() && *value != "");
    Ok(given)
}

fn start(given: &Value, algorithm: &JsonField<'_>) -> Result<(Option<ObsPath>, Start), ApiError> {
    let path = algorithm.text_of("code_dir")?;
    if path.is_some_and(|path| path.starts_with("file://")) {
        return Err(ApiError::not_modelled("code inside an image (file://)"));
    }
    let code_dir = obs_member(algorithm, "code_dir")?;
    let command = algorithm.text_of("command")?;
    let start = match obs_member(algorithm, "boot_file")? {
        Some(file) if unused_entry(given) != Some("boot_file") => {
            let below = code_dir.as_ref().and_then(|code| file.below(code));
            let below = below.ok_or_else(|| ApiError::of(2792, &[]))?;
            Start::BootFile { file, below }
        }
        _ => match command {
            Some(command) => Start::Command(command.to_owned()),
            None if fine_tuned_field(given).is_some() => Start::FineTuning,
            None => return Err(ApiError::of(2806, &[])),
        },
    };
    Ok((code_dir, start))
}

fn obs_member(parent: &JsonField<'_>, name: &str) -> Result<Option<ObsPath>, ApiError> {
    match parent.text_of(name)? {
        None => Ok(None),
        Some(text) => {
            ObsPath::parse(text).map(Some).map_err(|reason| ApiError::obs_path(text, reason))
        }
    }
}

fn parameters(algorithm: &JsonField<'_>) -> Result<Vec<Parameter>, ApiError> {
    let items = algorithm.items_of("parameters")?.into_iter();
    let read = |item: JsonField<'_>| {
        Ok(Parameter {
            name: item.required("name")?.text()?.to_owned(),
            value: item.text_of("value")?.unwrap_or_default().to_owned(),
            description: item.text_of("description")?.unwrap_or_default().to_owned(),
            constraint: item.get("constraint")?.map(|field| field.value().clone()),
        })
    };
    items.map(read).collect()
}

fn environments(algorithm: &JsonField<'_>) -> Result<Option<BTreeMap<String, String>>, ApiError> {
    let Some(field) = algorithm.get("environments")? else {
        return Ok(None);
    };
    let members = field.members()?.into_iter();
    let texts = members.map(|(name, value)| Ok((name.to_owned(), value.text()?.to_owned())));
    texts.collect::<Result<_, _>>().map(Some)
}

pub(crate) fn auto_stop(spec: &JsonField<'_>) -> Result<Option<u32>, ApiError> {
    match spec.get("auto_stop")? {
        None => Ok(None),
        Some(auto_stop) => Ok(u32::try_from(auto_stop.required("duration")?.integer()?).ok()),
    }
}

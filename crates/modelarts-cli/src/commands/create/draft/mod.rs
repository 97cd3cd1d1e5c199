//! `Draft`: a job from flags and a file, before its local directories are staged.

pub(crate) mod data_versions;
mod names;
mod paths;

pub(crate) use names::generated_name;
pub(crate) use paths::{is_address, no_such_file, path_below};

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use modelarts_ext::{
    CreateJob, TrainingJobs,
    jobs::create::{Input, Output},
};
use modelarts_obs::{
    ObsPath,
    staging::{DataVersioning, LocalPlaces},
};
use serde_json::Value;

use self::{
    data_versions::require_versions,
    paths::{below, require_directory},
};
use crate::{
    commands::create::{
        flags::JobFlags,
        job_file::JobFile,
        values::{Channel, Pair, script_parameters},
    },
    context::Context,
    failure::Failure,
    job_reference::JobArgument,
    session::Session,
};

/// Recommended name of an input, used if the user gives none.
const INPUT: &str = "data_url";
/// Recommended name of an output, used if the user gives none.
const OUTPUT: &str = "train_url";
/// Placeholder address of channels whose local directories are not staged yet.
const UNSTAGED: &str = "obs://staged";

/// A job that is not staged yet.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The job. Placeholders stand for the addresses of local directories.
    pub(crate) job: CreateJob,
    /// Local code directory, and the script in it that the job starts.
    pub(crate) code: Option<(PathBuf, Option<String>)>,
    /// Names and local directories of inputs.
    pub(crate) data: Vec<(String, PathBuf)>,
    pub(crate) versioning: DataVersioning,
    /// Names of the outputs that get a new address.
    pub(crate) outputs: Vec<String>,
    /// Bucket for staging, if it is not the bucket of the context.
    pub(crate) bucket: Option<String>,
    /// Bucket for staging if the context has none: that of the job of `--from`.
    pub(crate) other_bucket: Option<String>,
    pub(crate) file: Option<JobFile>,
    /// `true` if the name has a random suffix.
    pub(crate) has_generated_name: bool,
    /// Names of environment variables with inherited values, which may be secrets.
    pub(crate) inherited: Vec<String>,
}

impl Draft {
    /// Reads the request body of the job of `--from`, if the flag is given. The versions of its data
    /// must exist, unless flags give other data.
    pub(crate) async fn base(
        flags: &JobFlags,
        session: &Session,
    ) -> Result<Option<Value>, Failure> {
        let Some(from) = &flags.from else {
            return Ok(None);
        };
        let job = JobArgument::new(from).find(session.client().await?).await?;
        let body = job.copy_as(job.name()).await?.body();
        let is_given = |name: &str| {
            let data = flags.data.iter().map(|channel| channel.name.as_deref().unwrap_or(INPUT));
            data.chain(flags.dataset.iter().map(|set| set.name.as_str())).any(|it| it == name)
        };
        require_versions(&job, &body, is_given, &session.staging().await?).await?;
        Ok(Some(body))
    }

    /// Creates the draft, from the request body of another job if there is one. Sends no request.
    pub(crate) fn new(
        flags: &JobFlags,
        base: Option<&Value>,
        jobs: &TrainingJobs,
        context: &Context,
    ) -> Result<Self, Failure> {
        let mut flags = Cow::Borrowed(flags);
        let (file, job) = match (&flags.file, base) {
            (Some(path), _) => {
                let (file, job) = JobFile::read(path, jobs)?;
                (Some(file), job)
            }
            (None, Some(body)) => (None, jobs.from_value(body)?),
            (None, None) => (None, jobs.create_unnamed()),
        };
        let is_named = file.is_some() && !text(&job, "metadata", "name").is_empty();
        let mut draft = Self {
            job,
            code: None,
            data: Vec::new(),
            versioning: flags.data_version.into(),
            outputs: Vec::new(),
            bucket: flags.bucket.clone(),
            other_bucket: base.and_then(bucket_of),
            file,
            has_generated_name: false,
            inherited: Vec::new(),
        };
        draft.job = flags.parameters.set(draft.job).map_err(Failure::usage)?;
        if let Some(path) = &flags.file {
            let boot_file =
                draft.take_local_places(path.parent().unwrap_or(Path::new("")), &flags)?;
            // The boot file of the file is in the directory of --code-dir, too.
            if flags.script.is_none() && flags.code_dir.is_some() && flags.boot_file.is_none() {
                flags.to_mut().boot_file = boot_file;
            }
        }
        if !is_named && flags.parameters.text("name").is_none() {
            let base = base.and_then(|body| body["metadata"]["name"].as_str());
            let of_file = draft.code.as_ref().and_then(|(_, boot_file)| boot_file.clone());
            let of_job = Some(text(&draft.job, "algorithm", "boot_file"));
            let source = flags.script.clone().or(of_file).or(flags.code_dir.clone()).or(of_job);
            draft.edit(|job| job.name(generated_name(source.as_deref(), base)));
            draft.has_generated_name = true;
        }
        // A flavor of the context may not fit a given pool, and vice versa.
        if draft.needs_flavor() {
            draft.set(&context.flavor, CreateJob::flavor);
            draft.set(&context.pool, CreateJob::pool);
        }
        draft.set_code(&flags)?;
        draft.set_channels(&flags)?;
        if base.is_some() {
            draft.renew_outputs(&flags);
        }
        draft.set_parameters(&flags)?;
        for mount in &flags.volume {
            draft.edit(|job| job.volume(mount.0.clone()));
        }
        if flags.hang_retry {
            draft.edit(CreateJob::hang_restart);
        }
        if flags.unconditional_retry {
            draft.edit(CreateJob::unconditional_restart);
        }
        draft.set(&flags.notify, |job, topic| job.notify(topic.urn, topic.events));
        let before = draft.job.body();
        for set in &flags.set {
            let job = draft.job.set_field(&set.name, &set.value);
            draft.job = job.map_err(|error| {
                Failure::usage(format_args!("--set {}={}: {error}", set.name, set.value))
            })?;
        }
        draft.keep_set_places(&before)?;
        Ok(draft)
    }

    pub(crate) fn edit(&mut self, edit: impl FnOnce(CreateJob) -> CreateJob) {
        self.job = edit(self.job.clone());
    }

    /// Applies a setter to the job if the flag is given.
    fn set<T: Clone>(&mut self, flag: &Option<T>, set: impl FnOnce(CreateJob, T) -> CreateJob) {
        if let Some(value) = flag.clone() {
            self.edit(|job| set(job, value));
        }
    }

    /// Returns `true` if local directories must be sent, or outputs need addresses.
    pub(crate) fn needs_staging(&self) -> bool {
        self.code.is_some() || !self.data.is_empty() || !self.outputs.is_empty()
    }

    pub(crate) fn has_script(&self) -> bool {
        matches!(self.code, Some((_, Some(_))))
            || !text(&self.job, "algorithm", "boot_file").is_empty()
    }

    /// Returns `true` if the job starts a script, and no engine, image or algorithm is given.
    pub(crate) fn needs_engine(&self) -> bool {
        let body = self.job.body();
        let algorithm = &body["algorithm"];
        let has = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let engine = &algorithm["engine"];
        let chosen = ["engine_id", "engine_name", "image_url"];
        self.has_script()
            && !chosen.iter().any(|field| has(&engine[*field]))
            && !has(&algorithm["id"])
            && !has(&algorithm["subscription_id"])
    }

    /// Returns `true` if neither a flavor, nor a pool, nor a list of tasks is given.
    pub(crate) fn needs_flavor(&self) -> bool {
        let body = self.job.body();
        let resource = &body["spec"]["resource"];
        resource["flavor_id"].is_null()
            && resource["pool_id"].is_null()
            && body["tasks"].as_array().is_none_or(Vec::is_empty)
    }

    pub(crate) fn name(&self) -> String {
        text(&self.job, "metadata", "name")
    }

    /// Takes the local code and data of a job file, whose paths are relative to its directory, and
    /// the outputs without an address. Returns the boot file of local code.
    fn take_local_places(
        &mut self,
        directory: &Path,
        flags: &JobFlags,
    ) -> Result<Option<String>, Failure> {
        let (job, places) = LocalPlaces::take(self.job.clone(), directory)?;
        self.job = job;
        let mut of_file = None;
        if let Some((code, boot_file)) = places.code {
            let boot_file = flags.boot_file.clone().or(boot_file);
            let boot_file = boot_file.map(|file| file.trim_start_matches("./").to_owned());
            if flags.script.is_none() && flags.code_dir.is_none() {
                require_directory(&code, "algorithm.code_dir")?;
                self.code = Some((code, boot_file.clone()));
            }
            of_file = boot_file;
        }
        for input in places.data {
            require_directory(&input.directory, &input.field)?;
            self.data.push((input.name, input.directory));
        }
        self.outputs.extend(places.outputs);
        Ok(of_file)
    }

    /// Sends no directory to a place that `--set` has changed.
    fn keep_set_places(&mut self, before: &Value) -> Result<(), Failure> {
        let after = self.job.body();
        let address = |body: &Value, list: &str, name: &str| {
            let channels = body["algorithm"][list].as_array().cloned().unwrap_or_default();
            let channel = channels.into_iter().find(|channel| channel["name"] == name)?;
            Some(channel["remote"].clone())
        };
        let names = self.data.iter().map(|(name, _)| ("inputs", name));
        let mut names = names.chain(self.outputs.iter().map(|name| ("outputs", name)));
        if let Some((_, name)) = names.find(|(list, name)| address(&after, list, name).is_none()) {
            return Err(Failure::usage(format_args!(
                "--set must not rename {name}; --data NAME=DIR and --out NAME give other names"
            )));
        }
        let is_set =
            |list: &str, name: &str| address(before, list, name) != address(&after, list, name);
        self.data.retain(|(name, _)| !is_set("inputs", name));
        self.outputs.retain(|name| !is_set("outputs", name));
        let Some((directory, boot_file)) = self.code.take() else {
            return Ok(());
        };
        let field = |name: &str| after["algorithm"][name].as_str().map(str::to_owned);
        match (field("code_dir"), field("boot_file"), boot_file) {
            (None, None, boot_file) => self.code = Some((directory, boot_file)),
            (None, set, _) => {
                self.edit(|job| job.without_field("algorithm.boot_file"));
                self.code = Some((directory, set));
            }
            (Some(code), None, Some(boot_file)) => {
                self.edit(|job| job.boot_file(below(&code, &boot_file)));
            }
            (Some(_), ..) => {}
        }
        Ok(())
    }

    fn set_code(&mut self, flags: &JobFlags) -> Result<(), Failure> {
        let is_remote = |path: &Option<String>| path.as_deref().is_some_and(is_address);
        let Some(script) = &flags.script else {
            match &flags.code_dir {
                None => {
                    self.set(&flags.boot_file, CreateJob::boot_file);
                }
                Some(directory) if is_address(directory) => {
                    let boot_file = flags.boot_file.as_deref();
                    let boot_file = boot_file.map(|file| below(directory, file));
                    self.edit(|job| job.code_dir(directory));
                    self.set(&boot_file, CreateJob::boot_file);
                }
                Some(directory) => {
                    require_directory(Path::new(directory), "--code-dir")?;
                    self.code = Some((directory.into(), flags.boot_file.clone()));
                }
            }
            return Ok(());
        };
        let has_command =
            flags.from.is_some() && !text(&self.job, "algorithm", "command").is_empty();
        if has_command && flags.parameters.text("command").is_none() {
            return Err(Failure::usage(format_args!(
                "the job of --from starts a command and no script; --command must be given with \
                 {script}, or --code-dir for other code"
            )));
        }
        if is_address(script) {
            let parent = script.rsplit_once('/').map_or(script.as_str(), |(dir, _)| dir);
            let code_dir = flags.code_dir.clone().unwrap_or_else(|| format!("{parent}/"));
            self.edit(|job| job.code_dir(code_dir).boot_file(script));
            return Ok(());
        }
        if is_remote(&flags.code_dir) {
            let directory = flags.code_dir.as_deref().unwrap_or_default();
            self.edit(|job| job.code_dir(directory).boot_file(below(directory, script)));
            return Ok(());
        }
        let path = Path::new(script);
        if path.is_dir() {
            if flags.boot_file.is_none() && flags.parameters.text("command").is_none() {
                return Err(Failure::usage(format_args!(
                    "{script} is a directory; --boot-file must name the script in it, or --command \
                     the command"
                )));
            }
            self.code = Some((path.to_owned(), flags.boot_file.clone()));
            return Ok(());
        }
        if !path.is_file() {
            return Err(no_such_file("the script", path, |path| path.is_file()));
        }
        let directory = match &flags.code_dir {
            Some(directory) => {
                require_directory(Path::new(directory), "--code-dir")?;
                PathBuf::from(directory)
            }
            None => match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
                _ => PathBuf::from("."),
            },
        };
        let boot_file = path_below(path, &directory).ok_or_else(|| {
            Failure::usage(format_args!(
                "the script {script} must be in the code directory {}",
                directory.display()
            ))
        })?;
        self.code = Some((directory, Some(boot_file)));
        Ok(())
    }

    fn set_channels(&mut self, flags: &JobFlags) -> Result<(), Failure> {
        let by_env = |name: &str| flags.pass_by_env.iter().any(|other| other == name);
        let mut names: Vec<String> = Vec::new();
        let mut inputs = Vec::new();
        for channel in &flags.data {
            let name = channel.name.clone().unwrap_or_else(|| INPUT.to_owned());
            self.data.retain(|(other, _)| *other != name);
            if is_address(&channel.place) {
                inputs.push((name.clone(), Input::obs(&name, &channel.place)));
            } else {
                let directory = Path::new(&channel.place);
                require_directory(directory, "--data")?;
                self.data.push((name.clone(), directory.to_owned()));
                let address = format!("{UNSTAGED}/data/{name}/");
                inputs.push((name.clone(), Input::obs(&name, address)));
            }
            names.push(name);
        }
        for set in &flags.dataset {
            self.data.retain(|(other, _)| *other != set.name);
            let input = match &set.version {
                Some(version) => Input::dataset(&set.name, &set.id, version),
                None => Input::asset_dataset(&set.name, &set.id),
            };
            names.push(set.name.clone());
            inputs.push((set.name.clone(), input));
        }
        for (name, input) in inputs {
            let input = match by_env(&name) {
                true => input.from_env(),
                false => input,
            };
            self.edit(|job| job.without_input(&name).add_input(input));
        }
        for text in &flags.out {
            let channel = output_channel(text)?;
            let name = channel.name.unwrap_or_else(|| OUTPUT.to_owned());
            self.outputs.retain(|other| *other != name);
            let mut output = if channel.place.is_empty() {
                self.outputs.push(name.clone());
                Output::obs(&name, format!("{UNSTAGED}/out/{name}/"))
            } else {
                Output::obs(&name, channel.place)
            };
            if by_env(&name) {
                output = output.from_env();
            }
            if flags.predownload.contains(&name) {
                output = output.predownload();
            }
            self.edit(|job| job.without_output(&name).add_output(output));
            names.push(name);
        }
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(Failure::usage(format_args!(
                    "two inputs or outputs are named {name}; each must have a name of its own: \
                     --data NAME=DIR"
                )));
            }
        }
        let given = [("--pass-by-env", &flags.pass_by_env), ("--predownload", &flags.predownload)];
        for (flag, given) in given {
            if let Some(unknown) = given.iter().find(|name| !names.contains(name)) {
                return Err(Failure::usage(format_args!(
                    "{flag} {unknown}: it must be the name of an input or output of --data, \
                     --dataset or --out; these are: {}",
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Gives each output of another job a new address, unless a flag gives one.
    fn renew_outputs(&mut self, flags: &JobFlags) {
        let body = self.job.body();
        for output in body["algorithm"]["outputs"].as_array().into_iter().flatten() {
            let Some(name) = output["name"].as_str() else {
                continue;
            };
            let is_given = flags.out.iter().any(|text| {
                let channel = output_channel(text).ok();
                channel.is_some_and(|channel| channel.name.as_deref().unwrap_or(OUTPUT) == name)
            });
            if !is_given {
                self.outputs.push(name.to_owned());
            }
        }
    }

    fn set_parameters(&mut self, flags: &JobFlags) -> Result<(), Failure> {
        let of_script = script_parameters(&flags.script_arguments).map_err(Failure::usage)?;
        let mut known: Vec<&Pair> = Vec::new();
        for parameter in flags.param.iter().chain(&of_script) {
            if let Some(other) = known.iter().find(|other| other.name == parameter.name) {
                return Err(Failure::usage(format_args!(
                    "the hyper-parameter {} must be given once, and has the values {:?} and {:?}",
                    parameter.name, other.value, parameter.value
                )));
            }
            known.push(parameter);
            self.edit(|job| job.parameter(&parameter.name, &parameter.value));
        }
        for variable in &flags.env {
            self.edit(|job| job.env(&variable.name, &variable.value));
            if variable.is_inherited {
                self.inherited.push(variable.name.clone());
            }
        }
        Ok(())
    }
}

/// Returns a text field in a section of the body; empty if the field is missing.
fn text(job: &CreateJob, section: &str, field: &str) -> String {
    let body = job.body();
    body[section][field].as_str().unwrap_or_default().to_owned()
}

/// Parses `NAME`, `NAME=obs://…` or `obs://…`. The place is empty if no address is given.
fn output_channel(text: &str) -> Result<Channel, Failure> {
    let (name, place) = match text.split_once('=') {
        Some((name, place)) => (Some(name), place),
        None if is_address(text) => (None, text),
        None => (Some(text), ""),
    };
    if !place.is_empty() && !is_address(place) || name == Some("") {
        return Err(Failure::usage(format_args!(
            "--out {text}: it must be NAME or NAME=obs://BUCKET/DIR/; --download DIR receives \
             outputs into a directory here"
        )));
    }
    Ok(Channel { name: name.map(str::to_owned), place: place.to_owned() })
}

/// Returns the bucket of the first output of a job, or of its code.
fn bucket_of(body: &Value) -> Option<String> {
    let algorithm = &body["algorithm"];
    let output = algorithm["outputs"][0]["remote"]["obs"]["obs_url"].as_str();
    let address = output.or(algorithm["code_dir"].as_str())?;
    let path: ObsPath = address.parse().ok()?;
    Some(path.bucket().to_owned())
}

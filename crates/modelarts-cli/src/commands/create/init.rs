//! Command `modelarts init`, which writes a job file.

use std::{fs, io::Write, path::Path};

use clap::Args;
use modelarts_ext::Client;
use serde_json::json;

use crate::{
    commands::create::{
        choices::{default_engine, engines, flavors, missing_flavor},
        draft::{no_such_file, path_below},
    },
    confirmation::choose,
    exit_status::ExitStatus,
    failure::Failure,
    session::Session,
    state::{self, state_directory},
};

/// JSON Schema of job files, from the OpenAPI description. `UPDATE=1` of the test `job_schema`
/// writes the file.
pub const JOB_SCHEMA: &str = include_str!("../../../schemas/job-file.json");
/// Name of the schema in the state directory.
const SCHEMA_FILE: &str = "job-file.json";
/// Address of the schema if there is no state directory.
const SCHEMA_ADDRESS: &str = "https://raw.githubusercontent.com/modelarts-rs/modelarts-rs/HEAD/\
    crates/modelarts-cli/schemas/job-file.json";
const TEMPLATE: &str = include_str!("job.yaml");

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Script that the job starts: a Python file on this machine. Default: the only one in this
    /// directory, or train.py.
    #[arg(value_name = "SCRIPT")]
    script: Option<String>,
    /// Name of the job file in this directory.
    #[arg(short, long, value_name = "FILE", default_value = "job.yaml")]
    file: String,
    /// Flavor of the nodes. Default: that of the context.
    #[arg(long, value_name = "FLAVOR")]
    flavor: Option<String>,
    /// Preset image: NAME:VERSION, or the id of an engine. Default: the newest PyTorch.
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Takes the defaults without questions.
    #[arg(short, long)]
    yes: bool,
    /// Replaces an existing file.
    #[arg(long)]
    force: bool,
    /// Prints the JSON Schema of job files, and writes nothing.
    #[arg(long, conflicts_with_all = ["script", "flavor", "engine", "yes", "force"])]
    schema: bool,
}

impl Init {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        if self.schema {
            session.output.foreign(serde_json::from_str(JOB_SCHEMA).map_err(Failure::local)?)?;
            return Ok(ExitStatus::Success);
        }
        let name = &self.file;
        let is_plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let is_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
        if !is_yaml || name.starts_with('-') || !name.chars().all(is_plain) {
            return Err(Failure::usage(format_args!(
                "--file {name}: it must be a name that ends in .yaml, of letters, digits, _, - and ."
            )));
        }
        let given = [("--flavor", &self.flavor), ("--engine", &self.engine)];
        for (flag, value) in given.into_iter().filter_map(|(flag, it)| Some((flag, it.as_ref()?))) {
            if value.split(':').any(|part| part.trim().is_empty()) {
                return Err(Failure::usage(format_args!(
                    "{flag} {value:?}: it must have no empty part; `modelarts {}s` lists them",
                    flag.trim_start_matches('-')
                )));
            }
        }
        if Path::new(name).exists() && !self.force {
            return Err(Failure::usage(format_args!("{name} exists; --force replaces it")));
        }
        let asks = session.terminal.interactive && !self.yes;
        let text = self.text(session, asks).await?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).create_new(!self.force);
        let written = options.open(name).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| Failure::local(format_args!("cannot write {name}: {error}")))?;
        note!(
            "wrote {name}; the next commands:\n  modelarts check -f {name}\n  modelarts run \
             --local -f {name}\n  modelarts submit -f {name}"
        );
        Ok(ExitStatus::Success)
    }

    async fn text(&self, session: &Session, asks: bool) -> Result<String, Failure> {
        let script = self.find_script()?;
        let (directory, boot_file) = script.rsplit_once('/').unwrap_or((".", &script));
        let (field, id) = self.resource(session, asks).await?;
        let engine = self.engine(session, asks).await?;
        let engine = match engine.split_once(':') {
            Some((name, version)) => {
                format!("engine_name: {}\n    engine_version: {}", json!(name), json!(version))
            }
            None => format!("engine_id: {}", json!(engine)),
        };
        let values = [
            ("{schema}", schema_address()),
            ("{file}", self.file.clone()),
            ("{code_dir}", json!(directory).to_string()),
            ("{boot_file}", json!(boot_file).to_string()),
            ("{engine}", engine),
            ("{resource}", format!("{field}: {}", json!(id))),
        ];
        let mut text = String::new();
        // Values may have the form of a placeholder.
        for part in TEMPLATE.split_inclusive('\n').flat_map(|line| line.split_inclusive('}')) {
            let found = values.iter().find(|(name, _)| part.ends_with(name));
            match found {
                Some((name, value)) => {
                    text.push_str(part.strip_suffix(name).unwrap_or(part));
                    text.push_str(value);
                }
                None => text.push_str(part),
            }
        }
        Ok(text)
    }

    /// Returns the path of the script, relative to this directory.
    fn find_script(&self) -> Result<String, Failure> {
        let script = self.script.clone().or_else(only_script);
        let script = script.unwrap_or_else(|| "train.py".to_owned());
        let path = Path::new(&script);
        if path.exists() && (!path.is_file() || !script.ends_with(".py")) {
            return Err(Failure::usage(format_args!(
                "the script {script} must be a Python file, whose name ends in .py"
            )));
        }
        if !path.is_file() {
            return Err(no_such_file("the script", path, Path::is_file));
        }
        path_below(path, Path::new(".")).ok_or_else(|| {
            Failure::usage(format_args!("the script {script} must be in this directory or below"))
        })
    }

    /// Returns the field of the flavor or of the pool, and its value.
    async fn resource(&self, session: &Session, asks: bool) -> Result<(&str, String), Failure> {
        let context = session.selection.context()?;
        let given = self.flavor.as_ref().or(context.flavor.as_ref().filter(|_| !asks));
        match (given, &context.flavor, &context.pool) {
            (Some(flavor), ..) => return Ok(("flavor_id", flavor.clone())),
            (None, None, Some(pool)) => return Ok(("pool_id", pool.clone())),
            _ => {}
        }
        let client = service(session).await?;
        let flavors = if asks { flavors(client).await? } else { Vec::new() };
        if flavors.is_empty() {
            return Err(missing_flavor(client).await);
        }
        let default = context.flavor.as_deref().unwrap_or_default();
        Ok(("flavor_id", choose("Flavor", &flavors, default)?))
    }

    /// Returns the engine: `NAME:VERSION` or an id.
    async fn engine(&self, session: &Session, asks: bool) -> Result<String, Failure> {
        if let Some(engine) = &self.engine {
            return Ok(engine.clone());
        }
        let client = service(session).await?;
        let (name, version) = default_engine(client).await?;
        let default = format!("{name}:{version}");
        match asks {
            true => choose("Engine", &engines(client).await?, &default),
            false => Ok(default),
        }
    }
}

/// Returns the only Python file of this directory.
fn only_script() -> Option<String> {
    let names = fs::read_dir(".").ok()?.flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut scripts = names.filter(|name| name.ends_with(".py"));
    scripts.next().filter(|_| scripts.next().is_none())
}

async fn service(session: &Session) -> Result<&Client, Failure> {
    session.client().await.map_err(|failure| {
        Failure::usage(format_args!(
            "--flavor and --engine must be given, because the service cannot list them: {failure}"
        ))
    })
}

/// Writes the schema into the state directory. Returns its path, or its public address.
fn schema_address() -> String {
    let path = state_directory()
        .and_then(|directory| std::path::absolute(directory.join(SCHEMA_FILE)).ok());
    let path = path.filter(|path| state::replace(path, JOB_SCHEMA.as_bytes()).is_ok());
    let path = path.and_then(|path| path.into_os_string().into_string().ok());
    // Editors read the address up to a blank.
    path.filter(|path| !path.contains(' ')).unwrap_or_else(|| SCHEMA_ADDRESS.to_owned())
}

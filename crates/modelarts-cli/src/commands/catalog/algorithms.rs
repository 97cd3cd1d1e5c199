//! Command `modelarts algorithms`, which prints algorithms.

use clap::{Args, Subcommand};
use futures::TryStreamExt;
use modelarts_console::display;
use modelarts_ext::{
    Timestamp,
    types::{Algorithm, AlgorithmEngine},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::jobs::whole_number,
    exit_status::ExitStatus,
    failure::Failure,
    output::{Column, Document, Row, non_empty, or_dash},
    session::Session,
    terminal::{Emphasis, Terminal},
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Algorithms {
    #[command(subcommand)]
    command: Option<AlgorithmCommand>,
    /// Only algorithms whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Maximum number of algorithms. Default: all.
    #[arg(
        short = 'n',
        long,
        value_name = "ALGORITHMS",
        value_parser = whole_number::<usize>
    )]
    limit: Option<usize>,
}

/// Commands on a single algorithm.
#[derive(Debug, Subcommand)]
enum AlgorithmCommand {
    /// Prints an algorithm with its engine, channels and hyper-parameters.
    Show {
        /// Algorithm: its id or its name.
        #[arg(value_name = "ALGORITHM")]
        algorithm: String,
    },
}

/// An algorithm of the project.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AlgorithmRow {
    /// Id of the algorithm.
    id: String,
    /// Name of the algorithm.
    name: Option<String>,
    /// Engine with its version, or the custom image.
    engine: Option<String>,
    /// Time of the creation, RFC 3339.
    created_at: Option<String>,
    /// Name of the user who created the algorithm.
    user: Option<String>,
    /// Description.
    description: Option<String>,
}

/// An algorithm with its settings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AlgorithmDetails {
    /// The facts of the list.
    #[serde(flatten)]
    row: AlgorithmRow,
    /// Directory with the code in OBS.
    code_dir: Option<String>,
    /// Program that is started.
    boot_file: Option<String>,
    /// Command that starts the container of a custom image.
    command: Option<String>,
    /// Names of the inputs.
    inputs: Vec<String>,
    /// Names of the outputs.
    outputs: Vec<String>,
    /// Hyper-parameters.
    parameters: Vec<HyperParameter>,
}

/// A hyper-parameter of an algorithm.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HyperParameter {
    /// Name of the hyper-parameter.
    name: String,
    /// Default value; null if there is none, or if it is a secret.
    value: Option<String>,
    /// Type of the value, such as `Float`.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// `true` if a job must have a value.
    required: Option<bool>,
    /// `true` if a job may have another value.
    editable: Option<bool>,
}

fn engine(engine: &AlgorithmEngine) -> Option<String> {
    let (name, version) = (engine.engine_name.as_deref(), engine.engine_version.as_deref());
    let preset = display::engine(name, version, engine.engine_id.as_deref());
    preset.or_else(|| non_empty(&engine.image_url))
}

impl AlgorithmRow {
    fn new(algorithm: &Algorithm) -> Option<Self> {
        let metadata = algorithm.metadata.as_deref()?;
        let config = algorithm.job_config.as_deref();
        let created = metadata.create_time.filter(|millis| *millis > 0);
        Some(Self {
            id: non_empty(&metadata.id)?,
            name: non_empty(&metadata.name),
            engine: config.and_then(|config| engine(config.engine.as_deref()?)),
            created_at: created.map(|millis| Timestamp::from_epoch_millis(millis).to_string()),
            user: non_empty(&metadata.user_name),
            description: non_empty(&metadata.description),
        })
    }
}

impl AlgorithmDetails {
    fn new(algorithm: &Algorithm) -> Option<Self> {
        let config = algorithm.job_config.as_deref().cloned().unwrap_or_default();
        let parameters = config.parameters.iter().filter_map(|parameter| {
            let constraint = parameter.constraint.as_ref();
            let is_secret = constraint.is_some_and(|rules| rules.sensitive == Some(true));
            Some(HyperParameter {
                name: parameter.name.clone()?,
                value: non_empty(&parameter.value).filter(|_| !is_secret),
                kind: constraint.and_then(|rules| Some(rules.type_.as_ref()?.to_string())),
                required: constraint.and_then(|rules| rules.required),
                editable: constraint.and_then(|rules| rules.editable),
            })
        });
        Some(Self {
            row: AlgorithmRow::new(algorithm)?,
            code_dir: non_empty(&config.code_dir),
            boot_file: non_empty(&config.boot_file),
            command: non_empty(&config.command),
            inputs: config.inputs.iter().filter_map(|input| input.name.clone()).collect(),
            outputs: config.outputs.iter().filter_map(|output| output.name.clone()).collect(),
            parameters: parameters.collect(),
        })
    }
}

impl Row for AlgorithmRow {
    const LIST: &'static str = "algorithms";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("NAME", |row| or_dash(row.name.clone())),
        Column::key("ID", |row| row.id.clone()),
        Column::new("ENGINE", |row| or_dash(row.engine.clone())),
        Column::new("CREATED", |row| or_dash(row.created_at.clone())),
        Column::wide("USER", |row| or_dash(row.user.clone())),
        Column::wide("DESCRIPTION", |row| or_dash(row.description.clone())),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl Document for AlgorithmDetails {
    fn text(&self, _wide: bool, _width: Option<u16>) -> String {
        let mut lines = vec![Terminal::styled(
            self.row.name.as_deref().unwrap_or(&self.row.id),
            Emphasis::Bold,
        )];
        let facts = [
            ("Id", Some(self.row.id.clone())),
            ("Engine", self.row.engine.clone()),
            ("Code", self.code_dir.clone()),
            ("Boot file", self.boot_file.clone()),
            ("Command", self.command.clone()),
            ("Inputs", Some(self.inputs.join(", "))),
            ("Outputs", Some(self.outputs.join(", "))),
            ("Created", self.row.created_at.clone()),
            ("User", self.row.user.clone()),
            ("Description", self.row.description.clone()),
        ];
        for (name, value) in facts {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                lines.push(format!("  {name:<12} {value}"));
            }
        }
        if !self.parameters.is_empty() {
            lines.push("  Hyper-parameters".to_owned());
        }
        for parameter in &self.parameters {
            let value = or_dash(parameter.value.clone());
            let mut notes = Vec::from_iter(parameter.kind.clone());
            notes.extend((parameter.required == Some(true)).then(|| "required".to_owned()));
            notes.extend((parameter.editable == Some(false)).then(|| "fixed".to_owned()));
            let notes = notes.join(", ");
            let line = format!("    {} = {value}  {notes}", parameter.name);
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }

    fn id(&self) -> Option<&str> {
        Some(&self.row.id)
    }
}

impl Algorithms {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        if let Some(AlgorithmCommand::Show { algorithm }) = &self.command {
            return show(session, algorithm).await;
        }
        let client = session.client().await?;
        let mut list = client.algorithms();
        if let Some(name) = &self.name {
            list = list.name_like(name);
        }
        let mut left = self.limit.unwrap_or(usize::MAX);
        let pages = list.pages().try_take_while(move |page| {
            let is_needed = left > 0;
            left = left.saturating_sub(page.items.len());
            std::future::ready(Ok(is_needed))
        });
        let mut left = self.limit.unwrap_or(usize::MAX);
        let pages = pages.map_ok(move |page| {
            let rows = page.items.iter().filter_map(AlgorithmRow::new);
            let rows: Vec<AlgorithmRow> = rows.take(left).collect();
            left -= rows.len();
            rows
        });
        session.output.list_or_note(pages, "no algorithms").await?;
        Ok(ExitStatus::Success)
    }
}

/// Prints an algorithm. `name` is its id if it has the form of an id, otherwise its name.
async fn show(session: &Session, name: &str) -> Result<ExitStatus, Failure> {
    let client = session.client().await?;
    let is_id = name.len() == 36 && name.bytes().all(|c| c == b'-' || c.is_ascii_hexdigit());
    let id = if is_id { name.to_owned() } else { find(session, name).await? };
    let found = client
        .call(|api| {
            let call = api.show_algorithm_by_uuid().project_id(client.project_id());
            call.algorithm_id(id).send()
        })
        .await;
    let found = found.map_err(|error| match error.is_not_found() {
        true => Failure::NotFound(format!(
            "no algorithm has the id {name}; `modelarts algorithms` lists all"
        )),
        false => error.into(),
    })?;
    let details = AlgorithmDetails::new(&found);
    let details =
        details.ok_or_else(|| Failure::local("the algorithm in the response has no id"))?;
    session.output.document(&details)?;
    Ok(ExitStatus::Success)
}

/// Returns the id of the algorithm with this name.
async fn find(session: &Session, name: &str) -> Result<String, Failure> {
    let mut rows = session.client().await?.algorithms().name_like(name).stream();
    let mut similar = Vec::new();
    while let Some(algorithm) = rows.try_next().await? {
        let Some(row) = AlgorithmRow::new(&algorithm) else {
            continue;
        };
        if row.name.as_deref() == Some(name) {
            return Ok(row.id);
        }
        similar.extend(row.name);
    }
    let hint = match similar.as_slice() {
        [] => "`modelarts algorithms` lists all".to_owned(),
        names => format!("did you mean {}?", names.join(", ")),
    };
    Err(Failure::NotFound(format!("no algorithm is called {name:?}; {hint}")))
}

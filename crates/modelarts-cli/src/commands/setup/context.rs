//! Command `modelarts context`, which manages contexts.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use clap::{Args, Subcommand};
use futures::stream;
use modelarts_ext::config::{Environment, is_known_region, regions};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    context::{ConfigEdit, Context, Contexts, fields},
    exit_status::ExitStatus,
    failure::Failure,
    output::{Column, Document, Row, or_dash},
    session::Session,
    terminal::{Emphasis, Terminal},
    wording::near_or,
};

const NOTES: &str = "\
A context has settings of a cloud, a project or an emulator. It holds no secrets: credentials come
from variables and files, which `modelarts doctor` lists. --context and the variable
MODELARTS_CONTEXT select a context for one command or shell.";

/// Prefixes of the variables of the SDK.
const PREFIXES: [&str; 3] = ["MODELARTS_", "HUAWEICLOUD_SDK_", "OS_"];
/// Variables with addresses, which all belong to one context.
const ADDRESSES: [&str; 9] = [
    "MODELARTS_ENDPOINT",
    "MODELARTS_REGION",
    "MODELARTS_CLOUD",
    "MODELARTS_OBS_ENDPOINT",
    "MODELARTS_OBS_BUCKET",
    "MODELARTS_OBS_PREFIX",
    "MODELARTS_MAX_PAUSE_MS",
    "HUAWEICLOUD_SDK_IAM_ENDPOINT",
    "HUAWEICLOUD_SDK_PROJECT_ID",
];

const ENV_NOTES: &str = "\
`eval \"$(modelarts context env dev)\"` sets the variables for the programs of a shell.
Addresses that the context does not set are unset. The variables of an emulator include its keys,
which remain set until other keys replace them. --output json prints them as the object `variables`.
Programs in Rust can use Client::from_context of modelarts-ext instead.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct ContextCommand {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists the contexts (default command).
    #[command(visible_alias = "ls")]
    List,
    /// Prints the settings of a context.
    Show {
        /// Name of the context; by default, the selected context.
        #[arg(value_name = "CONTEXT")]
        name: Option<String>,
    },
    /// Selects the context of commands without --context.
    Use {
        /// Name of the context.
        #[arg(value_name = "CONTEXT", required_unless_present = "none", conflicts_with = "none")]
        name: Option<String>,
        /// Selects no context: environment variables and files of the SDK apply.
        #[arg(long)]
        none: bool,
    },
    /// Changes settings of a context, which is created if it does not exist.
    #[command(after_help = settings_help())]
    Set {
        /// Name of the context.
        #[arg(value_name = "CONTEXT")]
        name: String,
        /// Settings; an empty value removes the setting: region=eu-de pool=.
        #[arg(value_name = "SETTING=VALUE", required = true)]
        settings: Vec<String>,
    },
    /// Deletes a context. Jobs and files are not affected.
    #[command(visible_alias = "rm")]
    Delete {
        /// Name of the context.
        #[arg(value_name = "CONTEXT")]
        name: String,
    },
    /// Prints the environment variables of a context, as commands of a shell.
    #[command(after_help = ENV_NOTES)]
    Env {
        /// Name of the context; by default, the selected context.
        #[arg(value_name = "CONTEXT")]
        name: Option<String>,
    },
    /// Prints the path of the file with the contexts.
    Path,
}

fn settings_help() -> String {
    let mut help = "Settings:".to_owned();
    for (name, description) in fields::FIELDS {
        let _ = write!(help, "\n  {name:<17} {description}");
    }
    help
}

/// A context.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextRow {
    /// Name of the context.
    name: String,
    /// `true` if commands use it.
    current: bool,
    #[serde(flatten)]
    settings: Context,
}

impl ContextRow {
    /// Returns the settings of the context that have a value, by their names.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let values = serde_json::to_value(&self.settings).unwrap_or_default();
        let set = fields::FIELDS.iter();
        set.filter_map(|(name, _)| Some((*name, values.get(name)?.as_str()?.to_owned()))).collect()
    }
}

impl Row for ContextRow {
    const LIST: &'static str = "contexts";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("CURRENT", |row| if row.current { "*" } else { "" }.to_owned()),
        Column::new("NAME", |row| row.name.clone()),
        Column::new("KIND", |row| {
            let is_emulator = row.settings.data_dir.is_some();
            if is_emulator { "emulator" } else { "cloud" }.to_owned()
        }),
        Column::new("REGION", |row| or_dash(row.settings.region.as_ref())),
        Column::new("PROJECT", |row| or_dash(row.settings.project_id.as_ref())),
        Column::new("BUCKET", |row| or_dash(row.settings.bucket.as_ref())),
        Column::wide("ENDPOINT", |row| or_dash(row.settings.endpoint.as_ref())),
        Column::wide("FLAVOR", |row| or_dash(row.settings.flavor.as_ref())),
        Column::wide("POOL", |row| or_dash(row.settings.pool.as_ref())),
        Column::wide("DATA-DIR", |row| {
            let path = row.settings.data_dir.as_ref();
            or_dash(path.map(|path| path.display()))
        }),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl Document for ContextRow {
    fn text(&self, _: bool, _: Option<u16>) -> String {
        let current = if self.current { "yes" } else { "no" };
        let mut text = format!("{:<17} {}\n{:<17} {current}", "name", self.name, "current");
        for (name, value) in self.settings() {
            let _ = write!(text, "\n{name:<17} {value}");
        }
        text
    }

    fn id(&self) -> Option<&str> {
        Some(&self.name)
    }
}

/// The file of the contexts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextPath {
    /// Path of the file, which may not exist.
    path: String,
}

impl Document for ContextPath {
    fn folds(&self) -> bool {
        false
    }

    fn text(&self, _: bool, _: Option<u16>) -> String {
        self.path.clone()
    }
}

/// Environment variables of a context.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextVariables {
    /// Values of the variables, by their names.
    variables: BTreeMap<String, String>,
}

impl Document for ContextVariables {
    fn folds(&self) -> bool {
        false
    }

    fn text(&self, _: bool, _: Option<u16>) -> String {
        let set = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        // Addresses of another context must not apply.
        let others = ADDRESSES.iter().filter(|name| !self.variables.contains_key(**name));
        let others: Vec<&str> = others.copied().collect();
        let unset = (!others.is_empty()).then(|| format!("unset {}", others.join(" ")));
        unset.into_iter().chain([exports(set)]).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the lines with which a shell sets variables.
pub(super) fn exports<'a>(variables: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let lines = variables.map(|(name, value)| {
        // Between single quotes, a shell changes no character.
        format!("export {name}='{}'", value.replace('\'', r"'\''"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl ContextCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        match self.action.unwrap_or(Action::List) {
            Action::List => list(session).await?,
            Action::Show { name } => show(session, name)?,
            Action::Use { name, .. } => select(session, name)?,
            Action::Set { name, settings } => set(session, &name, &settings)?,
            Action::Delete { name } => delete(&name)?,
            Action::Env { name } => env(session, name)?,
            Action::Path => {
                let path = Contexts::path().map_err(Failure::usage)?.display().to_string();
                session.output.document(&ContextPath { path })?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

async fn list(session: &Session) -> Result<(), Failure> {
    let path = Contexts::path().map_err(Failure::usage)?;
    let file = Contexts::read(&path).map_err(Failure::usage)?;
    let selected = session.selection.requested().map(str::to_owned);
    let selected = selected.or(file.current);
    let rows = file.contexts.into_iter().map(|(name, settings)| ContextRow {
        current: Some(&name) == selected.as_ref(),
        name,
        settings,
    });
    let rows: Vec<ContextRow> = rows.collect();
    let has_selected = selected.is_none() || rows.iter().any(|row| row.current);
    let count = session.output.list(stream::iter([Ok(rows)])).await?;
    if !session.output.is_text() {
        return Ok(());
    }
    if count == 0 {
        note!(
            "no contexts in {}; `modelarts context set NAME region=…` creates one",
            path.display()
        );
    }
    if !has_selected {
        note!("no context is named {:?}, which is selected", selected.unwrap_or_default());
    }
    Ok(())
}

fn show(session: &Session, name: Option<String>) -> Result<(), Failure> {
    session.output.document(&named(session, name)?)
}

fn env(session: &Session, name: Option<String>) -> Result<(), Failure> {
    let ContextRow { name, settings, .. } = named(session, name)?;
    let mut variables = settings.emulator_variables(&name).map_err(Failure::usage)?;
    // A shell executes the lines, and the file of an emulator may be the work of another user.
    variables.retain(|name, _| {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        is_plain && PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    session.output.document(&ContextVariables { variables })
}

/// Returns the context of this name, or the selected context.
fn named(session: &Session, name: Option<String>) -> Result<ContextRow, Failure> {
    let path = Contexts::path().map_err(Failure::usage)?;
    let file = Contexts::read(&path).map_err(Failure::usage)?;
    let selected = session.selection.requested().map(str::to_owned);
    let selected = selected.or(file.current.clone());
    let name = name.or(selected.clone()).ok_or_else(|| {
        Failure::usage(
            "no context is selected, so settings are those of variables and files; the command \
             must name a context",
        )
    })?;
    Ok(ContextRow {
        current: selected.as_ref() == Some(&name),
        settings: file.get(&path, &name).map_err(Failure::usage)?.clone(),
        name,
    })
}

fn select(session: &Session, name: Option<String>) -> Result<(), Failure> {
    let path = Contexts::path().map_err(Failure::usage)?;
    if let Some(name) = &name {
        Contexts::read(&path).map_err(Failure::usage)?.get(&path, name).map_err(Failure::usage)?;
    }
    let mut edit = ConfigEdit::open(&path)?;
    edit.set_current(name.as_deref().unwrap_or_default());
    edit.save()?;
    match &name {
        Some(name) => note!("current context: {name}"),
        None => note!(
            "no current context: settings are those of variables and files; see `modelarts doctor`"
        ),
    }
    if let Some(requested) = session.selection.requested()
        && name.as_deref() != Some(requested)
    {
        note!("--context or MODELARTS_CONTEXT selects {requested}, and takes precedence");
    }
    Ok(())
}

pub(super) fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    match !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-') {
        true => Ok(()),
        false => Err(Failure::usage(format_args!(
            "the name {name:?} of a context must have only letters, digits, '-', '_' and '.'"
        ))),
    }
}

fn set(session: &Session, name: &str, settings: &[String]) -> Result<(), Failure> {
    check_name(name)?;
    let path = Contexts::path().map_err(Failure::usage)?;
    let file = Contexts::read(&path).map_err(Failure::usage)?;
    let mut edit = ConfigEdit::open(&path)?;
    for setting in settings {
        // The message does not contain the text, because it may be a key.
        let (field, value) = setting.split_once('=').ok_or_else(|| {
            Failure::usage(
                "a setting without '=': it must have the form SETTING=VALUE, such as region=eu-de",
            )
        })?;
        fields::check_name(field)?;
        match value {
            "" => edit.unset(name, field)?,
            value => edit.set(name, field, &fields::value(field, value)?)?,
        }
    }
    edit.save()?;
    let is_new = !file.contexts.contains_key(name);
    note!("{} context {name}", if is_new { "created" } else { "changed" });
    if settings.iter().any(|setting| setting.starts_with("region=")) {
        warn_of_region(&path, name)?;
    }
    let selected = session.selection.requested();
    if is_new && selected.or(file.current.as_deref()) != Some(name) {
        note!("`modelarts context use {name}` selects it for all commands");
    }
    Ok(())
}

/// Prints a warning on stderr if no endpoint is known for the region. The region is stored
/// nevertheless: the clouds open new regions, and a later file can define others.
fn warn_of_region(path: &Path, name: &str) -> Result<(), Failure> {
    let file = Contexts::read(path).map_err(Failure::usage)?;
    let context = file.get(path, name).map_err(Failure::usage)?;
    let (Some(region), None) = (&context.region, &context.endpoint) else {
        return Ok(());
    };
    // The client reports an error of the regions file later.
    if is_known_region(region, &Environment::of_process()).unwrap_or(true) {
        return Ok(());
    }
    let all = || format!("known are {}", regions().collect::<Vec<_>>().join(", "));
    let hint = near_or(region, regions(), all);
    note!(
        "{} the region {region:?} is not known; {hint} Commands need `endpoint` for another region",
        Terminal::styled("warning:", Emphasis::Waiting)
    );
    Ok(())
}

fn delete(name: &str) -> Result<(), Failure> {
    let path = Contexts::path().map_err(Failure::usage)?;
    let file = Contexts::read(&path).map_err(Failure::usage)?;
    let context = file.get(&path, name).map_err(Failure::usage)?;
    let mut edit = ConfigEdit::open(&path)?;
    edit.remove(name);
    let was_current = file.current.as_deref() == Some(name);
    if was_current {
        edit.set_current("");
    }
    edit.save()?;
    note!("deleted context {name}");
    if was_current {
        note!("it was the current one: no context is selected now");
    }
    if let Some(directory) = &context.data_dir {
        note!("the data of its emulator remains in {}", directory.display());
    }
    Ok(())
}

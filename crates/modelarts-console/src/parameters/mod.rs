//! Parameters of a job: the controls of the form, the flags of `modelarts submit` and the calls of
//! the SDK are generated from one table, `parameters.json`.
//!
//! The table contains the groups of the form in the order of the service's form. The last group has
//! no title, and contains the flags without a control.

use std::{sync::LazyLock, time::Duration};

use modelarts_ext::CreateJob;
use serde::Deserialize;
use serde_json::Value;

/// Path of the field with the number of hours until the automatic stop.
pub(crate) const AUTO_STOP: &str = "spec.auto_stop.duration";
/// Path of the field with the time unit of the automatic stop.
pub(crate) const AUTO_STOP_UNIT: &str = "spec.auto_stop.time_unit";

const TABLE: &str = include_str!("parameters.json");

/// Groups of the table. A test parses the table, so the groups are never empty.
static GROUPS: LazyLock<Vec<Group>> =
    LazyLock::new(|| serde_json::from_str(TABLE).unwrap_or_default());

/// Source of the code of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// A script that an engine of the platform starts.
    #[default]
    Preset,
    /// A custom image with a command.
    Custom,
    /// An algorithm that the service stores.
    Stored,
}

impl Mode {
    pub(crate) const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Preset, "preset", "Preset image"),
        (Self::Custom, "custom", "Custom image"),
        (Self::Stored, "stored", "My algorithm"),
    ];

    /// Returns the mode with this name, or the mode of a preset image if the name is unknown.
    pub(crate) fn named(name: &str) -> Self {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == name);
        found.map(|(mode, ..)| *mode).unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(mode, ..)| *mode == self);
        found.map_or("preset", |(_, name, _)| name)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", bound(deserialize = "'de: 'static"))]
pub(crate) enum Kind {
    #[default]
    Text,
    /// Text of several lines.
    Lines,
    Number,
    /// Fixed values with their labels.
    Choice(Vec<(&'static str, &'static str)>),
    /// The preset images of the service.
    Engine,
    /// The algorithms of the project.
    Algorithm,
    /// The flavors of the service.
    Flavor,
    /// Code: an address in OBS, or dropped files.
    Code,
    /// Data: an address in OBS, or dropped files.
    Data,
}

/// Parameter with one value: a control of the form, or a column of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Number of the parameter in the form of the service; 0 if the form does not have it.
    #[serde(default)]
    pub number: u8,
    /// Name of the control or the column in the form.
    pub name: &'static str,
    /// Path of the field in the body; for a column, relative to the element. Empty if the parameter
    /// is not a field of the body.
    #[serde(default)]
    pub path: &'static str,
    /// Flag of `modelarts submit` that sets the parameter.
    pub flag: Option<Flag>,
    /// Name of the method of [`CreateJob`]. Every parameter with a flag has a method.
    pub call: Option<&'static str>,
    #[serde(default)]
    pub(crate) label: &'static str,
    #[serde(default)]
    pub(crate) kind: Kind,
    /// `true` if the form shows the control only on request: few jobs need it.
    #[serde(default)]
    pub(crate) more: bool,
    /// Modes in which the control is used; empty for all modes.
    #[serde(default)]
    pub(crate) modes: Vec<Mode>,
    /// Limits and default of a control, or an example of a column.
    #[serde(default)]
    pub(crate) help: &'static str,
}

/// Flag of `modelarts submit`, `run` and `check`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// Name of the flag, such as `--log-url`.
    pub name: &'static str,
    /// Name of the value in the help text.
    pub value: &'static str,
    /// Heading of the flag in the help text; empty if there is none.
    #[serde(default)]
    pub heading: &'static str,
    /// Help text of the flag.
    pub help: &'static str,
}

/// Method of [`CreateJob`], by the type of its argument.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// Method that takes a text.
    Text(fn(CreateJob, String) -> CreateJob),
    /// Method that takes a number.
    Number(fn(CreateJob, u32) -> CreateJob),
    /// Method that takes a number of up to 255.
    SmallNumber(fn(CreateJob, u8) -> CreateJob),
    /// Method that takes a duration.
    Time(fn(CreateJob, Duration) -> CreateJob),
}

/// Setters of [`CreateJob`], by the name in [`Parameter::call`].
static METHODS: [(&str, Method); 18] = [
    ("name", Method::Text(CreateJob::name)),
    ("description", Method::Text(CreateJob::description)),
    ("preset_engine", Method::Text(set_engine)),
    ("custom_image", Method::Text(CreateJob::custom_image)),
    ("run_user", Method::Number(CreateJob::run_user)),
    ("command", Method::Text(CreateJob::command)),
    ("local_code_dir", Method::Text(CreateJob::local_code_dir)),
    ("working_dir", Method::Text(CreateJob::working_dir)),
    ("algorithm", Method::Text(CreateJob::algorithm)),
    ("auto_restart", Method::Number(CreateJob::auto_restart)),
    ("pool", Method::Text(CreateJob::pool)),
    ("flavor", Method::Text(CreateJob::flavor)),
    ("nodes", Method::Number(CreateJob::nodes)),
    ("priority", Method::SmallNumber(CreateJob::priority)),
    ("log_path", Method::Text(CreateJob::log_path)),
    ("auto_stop", Method::Time(CreateJob::auto_stop)),
    ("experiment", Method::Text(CreateJob::experiment)),
    ("workspace", Method::Text(CreateJob::workspace)),
];

/// Sets a preset image by its name and version, or by the id of the engine.
fn set_engine(job: CreateJob, engine: String) -> CreateJob {
    match engine.split_once(':') {
        Some((name, version)) => job.preset_image(name, version),
        None => job.preset_engine(engine),
    }
}

/// List of rows, each of which becomes an element of a list or of a map in the body.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    pub(crate) name: &'static str,
    /// `true` if the form shows the list only on request.
    #[serde(default)]
    pub(crate) more: bool,
    pub(crate) title: &'static str,
    /// Noun in the label of the button that adds a row.
    pub(crate) item: &'static str,
    pub(crate) path: &'static str,
    pub(crate) help: &'static str,
    pub(crate) columns: Vec<Parameter>,
}

/// Entry of a group.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", bound(deserialize = "'de: 'static"))]
pub(crate) enum Item {
    /// Choice of the mode.
    Mode,
    Control(Parameter),
    List(List),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) items: Vec<Item>,
}

impl Parameter {
    /// Returns the setter that [`call`](Self::call) names; `None` if there is no such setter.
    pub fn method(&self) -> Option<Method> {
        let name = self.call?;
        let found = METHODS.iter().find(|(known, _)| *known == name)?;
        Some(found.1)
    }

    /// Returns `true` if the control is used in this mode.
    pub(crate) fn is_of(&self, mode: Mode) -> bool {
        self.modes.is_empty() || self.modes.contains(&mode)
    }

    /// Returns `true` if the value is an address in OBS, which can be chosen.
    pub(crate) fn is_address(&self) -> bool {
        matches!(self.kind, Kind::Code | Kind::Data) || self.path.ends_with("obs_url")
    }

    /// Returns the style class, which hides the control in other modes.
    pub(crate) fn class(&self) -> &'static str {
        match self.modes.as_slice() {
            [] => "",
            [Mode::Preset] => "of-preset",
            [Mode::Custom] => "of-custom",
            [Mode::Stored] => "of-stored",
            _ => "of-own",
        }
    }
}

pub(crate) fn groups() -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().filter(|group| !group.title.is_empty())
}

/// Returns all parameters outside of lists, including parameters without a control.
pub fn parameters() -> impl Iterator<Item = &'static Parameter> {
    let items = GROUPS.iter().flat_map(|group| &group.items);
    items.filter_map(|item| match item {
        Item::Control(control) => Some(control),
        _ => None,
    })
}

/// Returns all controls outside of lists.
pub(crate) fn controls() -> impl Iterator<Item = &'static Parameter> {
    parameters().filter(|parameter| parameter.number > 0)
}

pub(crate) fn lists() -> impl Iterator<Item = &'static List> {
    let items = GROUPS.iter().flat_map(|group| &group.items);
    items.filter_map(|item| match item {
        Item::List(list) => Some(list),
        _ => None,
    })
}

/// Converts a path such as `spec.resource.node_count` to a JSON Pointer. The key of an annotation
/// may contain dots and slashes.
pub(crate) fn pointer(path: &str) -> String {
    const ANNOTATIONS: &str = "metadata.annotations.";
    match path.strip_prefix(ANNOTATIONS) {
        Some(key) => format!("/metadata/annotations/{}", step(key)),
        None => format!("/{}", path.replace('.', "/")),
    }
}

/// Escapes a key as a reference token of a JSON Pointer (RFC 6901).
pub(crate) fn step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Removes and returns the object member at a JSON Pointer.
pub(crate) fn take(value: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, key) = pointer.rsplit_once('/')?;
    let parent = value.pointer_mut(parent)?.as_object_mut()?;
    parent.remove(&key.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_has_all_parameters_in_order() {
        let groups: Vec<Group> = serde_json::from_str(TABLE).unwrap();
        let items = groups.iter().flat_map(|group| &group.items);
        let mut numbers: Vec<u8> = items
            .flat_map(|item| match item {
                Item::Mode => Vec::new(),
                Item::Control(control) => vec![control.number],
                Item::List(list) => list.columns.iter().map(|column| column.number).collect(),
            })
            .filter(|number| *number > 0)
            .collect();
        numbers.dedup();
        assert_eq!(numbers, (1..=32).collect::<Vec<_>>());
    }

    #[test]
    fn each_call_is_a_method_and_each_flag_has_a_call() {
        for parameter in parameters() {
            let has_flag = parameter.flag.is_some();
            assert_eq!(parameter.call.is_some(), parameter.method().is_some());
            assert_eq!(has_flag, parameter.call.is_some(), "{parameter:?}");
        }
        assert_eq!(parameters().filter(|it| it.call.is_some()).count(), METHODS.len());
    }
}

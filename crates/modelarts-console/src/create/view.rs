//! HTML view of the form.

use askama::Template;
use modelarts_ext::types::TrainingEngine;

use crate::{
    access::visitor::Visitor,
    choices::Lists,
    create::{
        check::Checked,
        finding::Finding,
        form::{DRAFT, EXTRA, FROM, Form, OTHER, Row, cell_name, text},
    },
    display,
    drafts::{CODE, INPUTS},
    page::{Layout, Section},
    parameters::{Group, Item, Kind, List, Mode, Parameter, groups},
    problem::Problem,
    site::State,
};

/// Flavors of dedicated pools, which the service does not list.
const POOL_FLAVORS: [&str; 4] = [
    "modelarts.pool.visual.xlarge",
    "modelarts.pool.visual.2xlarge",
    "modelarts.pool.visual.4xlarge",
    "modelarts.pool.visual.8xlarge",
];
/// Placeholder for the row number in the template of new rows. The script replaces it.
const NEW_ROW: &str = "INDEX";

/// Note on a form for which no bucket is set.
const NO_BUCKET: &str = "No bucket is set for files and new outputs, so this form takes addresses \
                         in OBS only. The variable MODELARTS_OBS_BUCKET, or the bucket of the \
                         context, sets one.";

/// Sentence about the check of a form in which nothing was entered.
const BLANK: &str = "The form is checked while you fill it in.";

#[derive(Template)]
#[template(path = "create/form.html")]
pub(super) struct FormPage {
    layout: Layout,
    groups: Vec<GroupView>,
    modes: Vec<Choice>,
    draft: String,
    /// Id of the job whose secrets are masked; empty if there are no masks.
    from: String,
    other: String,
    other_errors: Vec<String>,
    /// Root address of staged files; `None` if no bucket is set.
    root: Option<String>,
    /// Suggestions with their reasons, by the id of the list.
    suggestions: Vec<(&'static str, Vec<(String, String)>)>,
    notes: Vec<String>,
    checked: Checked,
    /// `true` if the findings are shown at their controls.
    shows_errors: bool,
    /// `true` if the user has not entered anything yet, so that empty controls are no mistakes.
    is_blank: bool,
    /// Sentence about the check.
    state: String,
    problem: Option<Problem>,
}

struct GroupView {
    title: &'static str,
    items: Vec<ItemView>,
    /// Controls that are shown on request, and their labels.
    more: Vec<ControlView>,
    labels: String,
    is_open: bool,
}

enum ItemView {
    Mode,
    Control(ControlView),
    List(ListView),
}

/// View of a control, or of a cell of a row.
struct ControlView {
    control: &'static Parameter,
    /// `true` if this is a cell, whose help is an example.
    is_cell: bool,
    name: String,
    id: String,
    value: String,
    /// Kind of the element: `text`, `number`, `lines` or `select`.
    kind: &'static str,
    options: Vec<Options>,
    errors: Vec<String>,
    /// Name of the slot for dropped files; `None` if the control takes no files.
    slot: Option<String>,
}

impl ControlView {
    /// Returns the id of the list of suggestions.
    fn suggestions(&self) -> Option<&'static str> {
        match self.control.name {
            "boot_file" => Some("scripts"),
            "auto_stop" => Some("hours"),
            "pool" => Some("pools"),
            "dataset" => Some("datasets"),
            "version" => Some("versions"),
            _ => None,
        }
    }
}

/// Group of choices with a title, which may be empty.
struct Options {
    title: String,
    choices: Vec<Choice>,
}

struct Choice {
    value: String,
    label: String,
    is_chosen: bool,
}

struct ListView {
    list: &'static List,
    /// Rows, of which the last is empty.
    rows: Vec<RowView>,
    template: RowView,
}

impl ListView {
    /// Returns `true` if the list is shown without a request.
    fn is_open(&self) -> bool {
        let has_errors = |row: &RowView| row.cells.iter().any(|cell| !cell.errors.is_empty());
        !self.list.more || self.rows.len() > 1 || self.rows.iter().any(has_errors)
    }
}

struct RowView {
    /// Name of the field with the members that have no column.
    extra_name: String,
    extra: String,
    label: &'static str,
    cells: Vec<ControlView>,
}

pub(super) struct Content {
    pub(super) form: Form,
    pub(super) checked: Checked,
    pub(super) notes: Vec<String>,
    pub(super) shows_errors: bool,
    /// `true` if the user has not entered anything yet.
    pub(super) is_blank: bool,
    pub(super) problem: Option<Problem>,
}

impl FormPage {
    pub(super) fn new(state: &State, visitor: &Visitor, content: Content, lists: &Lists) -> Self {
        let Content { form, checked, mut notes, shows_errors, is_blank, problem } = content;
        let errors: &[Finding] = if shows_errors { &checked.errors } else { &[] };
        let builder = Views { form: &form, lists, errors };
        let groups = groups().map(|group| builder.group(group)).collect();
        let modes = Mode::ALL.iter().map(|(mode, name, label)| Choice {
            value: (*name).to_owned(),
            label: (*label).to_owned(),
            is_chosen: *mode == form.mode(),
        });
        notes.extend(lists.problems());
        let root = state.staging.root().ok().map(|root| root.to_string());
        if root.is_none() {
            notes.push(NO_BUCKET.to_owned());
        }
        let used = &lists.used;
        let suggestions =
            [("pools", &used.pools), ("datasets", &used.datasets), ("versions", &used.versions)];
        let suggestions = suggestions.map(|(id, ids)| (id, ids.clone().into_iter().collect()));
        Self {
            layout: Layout::new(state, visitor, Section::Create, "Create a job"),
            suggestions: suggestions.into(),
            groups,
            modes: modes.collect(),
            draft: form.get(DRAFT).to_owned(),
            from: form.get(FROM).to_owned(),
            other: form.get(OTHER).to_owned(),
            other_errors: builder.errors_of(OTHER),
            root,
            notes,
            shows_errors,
            state: match is_blank {
                true => BLANK.to_owned(),
                false => checked.state(),
            },
            is_blank,
            problem,
            checked,
        }
    }

    fn errors(&self) -> &[Finding] {
        if self.is_blank { &[] } else { &self.checked.errors }
    }

    /// Returns the HTML id of the element of a control.
    fn id_of(name: &str) -> String {
        let plain = name.replace(['[', '.'], "-").replace(']', "");
        format!("f-{plain}")
    }
}

/// Builds the views of the controls and lists of a form.
struct Views<'a> {
    form: &'a Form,
    lists: &'a Lists,
    errors: &'a [Finding],
}

impl Views<'_> {
    fn group(&self, group: &'static Group) -> GroupView {
        let (mut items, mut more) = (Vec::new(), Vec::new());
        for item in &group.items {
            match self.item(item) {
                ItemView::Control(view) if view.control.more => more.push(view),
                view => items.push(view),
            }
        }
        let labels: Vec<_> = more.iter().map(|view| view.control.label).collect();
        GroupView {
            title: group.title,
            items,
            labels: labels.join(", "),
            is_open: more.iter().any(|view| !view.value.is_empty() || !view.errors.is_empty()),
            more,
        }
    }

    fn item(&self, item: &'static Item) -> ItemView {
        match item {
            Item::Mode => ItemView::Mode,
            Item::Control(control) => {
                let value = self.form.get(control.name);
                let slot = (control.kind == Kind::Code).then(|| CODE.to_owned());
                let view = self.control(control, control.name.to_owned(), value, slot);
                ItemView::Control(view)
            }
            Item::List(list) => ItemView::List(self.list(list)),
        }
    }

    fn control(
        &self,
        control: &'static Parameter,
        name: String,
        value: &str,
        slot: Option<String>,
    ) -> ControlView {
        let (kind, options) = self.options(&control.kind, value);
        ControlView {
            control,
            is_cell: false,
            id: FormPage::id_of(&name),
            value: value.to_owned(),
            kind,
            options,
            errors: self.errors_of(&name),
            slot,
            name,
        }
    }

    fn errors_of(&self, name: &str) -> Vec<String> {
        let own = self.errors.iter().filter(|finding| finding.field == name);
        own.map(Finding::text).collect()
    }

    fn list(&self, list: &'static List) -> ListView {
        let mut rows: Vec<RowView> = self
            .form
            .rows(list.name)
            .map(|(number, row)| self.row(list, &number.to_string(), row))
            .collect();
        // An empty row, so that a row can be added if JavaScript is disabled.
        let next = self.form.next_row(list.name).to_string();
        rows.push(self.row(list, &next, &Row::new()));
        ListView { list, rows, template: self.row(list, NEW_ROW, &Row::new()) }
    }

    fn row(&self, list: &'static List, number: &str, row: &Row) -> RowView {
        let cells = list.columns.iter().map(|column| {
            let name = cell_name(list, number, column.name);
            let slot = (column.kind == Kind::Data).then(|| format!("{INPUTS}{number}"));
            let view = self.control(column, name, text(row, column.name), slot);
            ControlView { is_cell: true, ..view }
        });
        RowView {
            extra_name: cell_name(list, number, EXTRA),
            extra: text(row, EXTRA).to_owned(),
            label: list.item,
            cells: cells.collect(),
        }
    }

    /// Returns the kind of the element of a control, and the choices.
    fn options(&self, kind: &Kind, value: &str) -> (&'static str, Vec<Options>) {
        let mut groups = match kind {
            Kind::Text | Kind::Code | Kind::Data => return ("text", Vec::new()),
            Kind::Number => return ("number", Vec::new()),
            Kind::Lines => return ("lines", Vec::new()),
            Kind::Choice(choices) => {
                let choices = choices.iter().map(|(value, label)| choice(value, label));
                vec![Options { title: String::new(), choices: choices.collect() }]
            }
            // If a list cannot be read, the user enters a text instead.
            Kind::Engine if self.lists.engines.is_err() => return ("text", Vec::new()),
            Kind::Algorithm if self.lists.algorithms.is_err() => return ("text", Vec::new()),
            Kind::Flavor if self.lists.flavors.is_err() => return ("text", Vec::new()),
            Kind::Engine => self.engines(),
            Kind::Algorithm => self.algorithms(),
            Kind::Flavor => self.flavors(),
        };
        if !matches!(kind, Kind::Choice(_)) {
            let blank = choice("", "Choose…");
            groups.insert(0, Options { title: String::new(), choices: vec![blank] });
        }
        let mut choices = groups.iter_mut().flat_map(|group| &mut group.choices);
        match choices.find(|choice| choice.value == value) {
            Some(choice) => choice.is_chosen = true,
            // The current value is added if the service does not list it.
            None => groups.push(Options {
                title: String::new(),
                choices: vec![Choice { is_chosen: true, ..choice(value, value) }],
            }),
        }
        ("select", groups)
    }

    fn engines(&self) -> Vec<Options> {
        let mut groups = Vec::new();
        for engine in self.lists.engines.iter().flatten() {
            let name = engine.engine_name.as_deref().unwrap_or_default();
            let version = engine.engine_version.as_deref().unwrap_or_default();
            let value = engine_value(engine);
            let label = if version.is_empty() { value.as_str() } else { version };
            add(&mut groups, name, choice(&value, label));
        }
        groups
    }

    fn algorithms(&self) -> Vec<Options> {
        let mut groups = Vec::new();
        for algorithm in self.lists.algorithms.iter().flatten() {
            let metadata = algorithm.metadata.as_deref();
            let Some(id) = metadata.and_then(|metadata| metadata.id.as_deref()) else {
                continue;
            };
            let name = metadata.and_then(|metadata| metadata.name.as_deref());
            add(&mut groups, "", choice(id, name.unwrap_or(id)));
        }
        groups
    }

    fn flavors(&self) -> Vec<Options> {
        let mut groups = Vec::new();
        for flavor in self.lists.flavors.iter().flatten() {
            let kind = flavor.flavor_type.as_ref().map(ToString::to_string).unwrap_or_default();
            if let Some(id) = flavor.flavor_id.as_deref() {
                let info = flavor.flavor_info.as_deref();
                let hardware = info.map(display::hardware).filter(|text| !text.is_empty());
                let facts = hardware.into_iter().chain(info.and_then(display::disk));
                let facts: Vec<String> = facts.collect();
                let label = match facts.as_slice() {
                    [] => id.to_owned(),
                    facts => format!("{id}: {}", facts.join(", ")),
                };
                add(&mut groups, &kind, choice(id, &label));
            }
        }
        for id in POOL_FLAVORS {
            if self.lists.flavor(id).is_none() {
                add(&mut groups, "Dedicated pool", choice(id, id));
            }
        }
        groups
    }
}

/// Returns the id of an engine or, without one, its name and version.
pub(super) fn engine_value(engine: &TrainingEngine) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    match text(&engine.engine_id) {
        id if id.is_empty() => {
            format!("{}:{}", text(&engine.engine_name), text(&engine.engine_version))
        }
        id => id,
    }
}

fn choice(value: &str, label: &str) -> Choice {
    Choice { value: value.to_owned(), label: label.to_owned(), is_chosen: false }
}

fn add(groups: &mut Vec<Options>, title: &str, choice: Choice) {
    match groups.iter_mut().find(|group| group.title == title) {
        Some(group) => group.choices.push(choice),
        None => groups.push(Options { title: title.to_owned(), choices: vec![choice] }),
    }
}

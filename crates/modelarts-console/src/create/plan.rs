//! `Plan`: the job of a form, with the files that must be staged for it.

use modelarts_ext::{
    Client, CreateJob, Error, error::Violation, jobs::create::CodeDir, masking::MASK,
};
use modelarts_obs::Staging;
use serde_json::Value;

use crate::{
    create::{
        finding::{Control, Controls, Finding},
        form::{EXTRA, FROM, Form, OTHER, Row, cell_name, text},
    },
    drafts::{CODE, Draft, Dropped, INPUTS},
    parameters::{AUTO_STOP, AUTO_STOP_UNIT, Kind, List, Mode, Parameter, controls, lists},
};

/// Paths of the name and the version of an engine, which replace its id.
const ENGINE_NAME: &str = "algorithm.engine.engine_name";
const ENGINE_VERSION: &str = "algorithm.engine.engine_version";
/// Path of the service type of a data set, relative to the input.
const DATASET_SERVICE: &str = "remote.dataset.service_type";

pub(super) struct Plan {
    /// The job. Placeholders stand for addresses of files that are not staged yet.
    pub(super) job: CreateJob,
    /// Findings about values of the form that cannot be sent.
    pub(super) findings: Vec<Finding>,
    pub(super) controls: Controls,
    /// Dropped code, and the script in it that the job starts.
    pub(super) code: Option<(Dropped, Option<String>)>,
    /// Names of inputs with dropped files.
    pub(super) data: Vec<(String, Dropped)>,
    /// Names of the outputs that get a new address.
    pub(super) outputs: Vec<String>,
    /// Root address of the placeholders, with a slash at the end.
    root: String,
}

impl Plan {
    /// Creates the job of a form. Sends no request.
    pub(super) fn new(
        form: &Form,
        client: &Client,
        staging: &Staging,
        draft: Option<&Draft>,
    ) -> Self {
        let jobs = client.training_jobs();
        let mut findings = Vec::new();
        let mut job = jobs.create("");
        if !form.get(OTHER).is_empty() {
            match jobs.from_json(form.get(OTHER)) {
                Ok(other) => job = other,
                Err(error) => findings.extend(of_error(OTHER, "Other settings", "", &error)),
            }
        }
        let mut plan = Self {
            job,
            findings,
            controls: Controls::default(),
            code: None,
            data: Vec::new(),
            outputs: Vec::new(),
            root: root(staging),
        };
        let mode = form.mode();
        for control in controls().filter(|control| control.is_of(mode)) {
            plan.set_control(control, form);
        }
        plan.add_controls(mode);
        if mode != Mode::Stored {
            plan.set_code(form, staging, draft);
        }
        for list in lists() {
            plan.set_list(list, form, staging, draft);
        }
        // Masks in the copy of a job are replaced by secrets when the job is created.
        if form.get(FROM).is_empty() {
            let rule = format!("must be entered: {MASK} is shown in place of a value");
            let own = |place| Finding::own(&place, &rule, "enter the value itself");
            plan.findings.extend(form.masks().into_iter().map(own));
        }
        plan
    }

    /// Returns `true` if files must be sent, or outputs need addresses.
    pub(super) fn needs_staging(&self) -> bool {
        self.code.is_some() || !self.data.is_empty() || !self.outputs.is_empty()
    }

    pub(super) fn check_code(&self) -> Vec<Violation> {
        let Some((dropped, boot_file)) = &self.code else {
            return Vec::new();
        };
        let code = CodeDir::from_files(dropped.files.iter().cloned());
        code.check(boot_file.as_deref()).violations
    }

    /// Returns the command with local directories in place of placeholders, and without addresses
    /// of new outputs. A command that contains the request body is returned unchanged.
    pub(super) fn local_command(&self, command: String) -> String {
        if !self.needs_staging() || command.contains(" -f -") {
            return command;
        }
        let mut command = command;
        for kind in ["code", "data"] {
            command = command.replace(&format!("{}{kind}/new/", self.root), "./");
        }
        for name in &self.outputs {
            let address = format!("={}", placeholder(&self.root, "out", name));
            command = command.replace(&address, "");
        }
        command
    }

    fn set_control(&mut self, control: &Parameter, form: &Form) {
        if control.path.is_empty() {
            return;
        }
        let place = Control::new(control.name, control.label);
        self.controls.add(control.path, place.clone());
        let value = form.get(control.name);
        if value.is_empty() {
            return;
        }
        match (&control.kind, value.split_once(':')) {
            (Kind::Engine, Some((name, version))) => {
                self.set(ENGINE_NAME, name, &place);
                self.set(ENGINE_VERSION, version, &place);
            }
            _ => self.set(control.path, value, &place),
        }
        if control.path == AUTO_STOP {
            self.set(AUTO_STOP_UNIT, "HOURS", &place);
        }
    }

    /// Adds the controls for findings on objects, and on fields without a control in this mode.
    fn add_controls(&mut self, mode: Mode) {
        let of_mode: &[_] = match mode {
            Mode::Preset => &[("algorithm", "engine"), ("algorithm.engine", "engine")],
            Mode::Custom => &[
                ("algorithm", "image"),
                ("algorithm.engine", "image"),
                ("algorithm.boot_file", "command"),
            ],
            Mode::Stored => &[("algorithm", "algorithm")],
        };
        let resources = [("spec", "flavor"), ("spec.resource", "flavor")];
        for (path, name) in of_mode.iter().copied().chain(resources) {
            let control = controls().find(|control| control.name == name);
            let label = control.map_or(name, |control| control.label);
            self.controls.add_exact(path, Control::new(name, label));
        }
    }

    /// Sets the addresses of the code directory and of the boot file.
    fn set_code(&mut self, form: &Form, staging: &Staging, draft: Option<&Draft>) {
        let mode = form.mode();
        let (directory, label) = match mode {
            Mode::Custom => ("custom_code_dir", "Code directory of the image"),
            _ => ("code_dir", "Code directory"),
        };
        let script = match mode {
            Mode::Preset => form.get("boot_file"),
            _ => "",
        };
        let place = Control::new(directory, label);
        let dropped = draft.and_then(|draft| draft.dropped(CODE));
        let Some(dropped) = dropped else {
            self.set_script(form.get(directory), script);
            return;
        };
        if !form.get(directory).is_empty() {
            self.findings.push(Finding::own(
                &place,
                "must be an address or dropped files, not both",
                "remove the files, or the address",
            ));
        }
        let address = self.placeholder(staging, "code", &dropped.name, &place);
        // The path of the script may begin with the name of the dropped directory.
        let inside = script.strip_prefix("./").unwrap_or(script);
        let has = |path: &str| dropped.files.iter().any(|(known, _)| known == path);
        let below = inside.strip_prefix(&format!("{}/", dropped.name));
        let script = below.filter(|path| has(path)).unwrap_or(inside).to_owned();
        self.set("algorithm.code_dir", &address, &place);
        self.set_script(&address, &script);
        let script = Some(script).filter(|script| !script.is_empty());
        self.code = Some((dropped, script));
    }

    /// Sets the address of the script, whose path may be relative to the code directory.
    fn set_script(&mut self, directory: &str, script: &str) {
        let is_address = ["obs://", "/", "file://"].iter().any(|start| script.starts_with(start));
        if !script.is_empty() && !is_address && !directory.is_empty() {
            let script = script.strip_prefix("./").unwrap_or(script);
            let address = format!("{}/{script}", directory.trim_end_matches('/'));
            let place = Control::new("boot_file", "Boot file");
            self.set("algorithm.boot_file", &address, &place);
        }
    }

    /// Adds the rows of a list to the body, after the existing elements.
    fn set_list(&mut self, list: &List, form: &Form, staging: &Staging, draft: Option<&Draft>) {
        let mut index = self.count(list.path);
        let mut names = Vec::new();
        for (number, row) in form.rows(list.name) {
            let slot = format!("{INPUTS}{number}");
            let dropped = match list.name {
                "inputs" => draft.and_then(|draft| draft.dropped(&slot)),
                _ => None,
            };
            if dropped.is_none() && row.values().all(|value| value.trim().is_empty()) {
                continue;
            }
            let place = |column: &Parameter| {
                let label = format!("{}, {}", list.title, column.label.to_lowercase());
                Control::new(cell_name(list, number, column.name), label)
            };
            if list.name == "environments" {
                self.set_variable(list, row, &mut names, &place);
                continue;
            }
            let element = format!("{}[{index}]", list.path);
            index += 1;
            if let Some(first) = list.columns.first() {
                self.controls.add(&element, place(first));
            }
            for column in &list.columns {
                let path = format!("{element}.{}", column.path);
                self.controls.add(&path, place(column));
                let value = text(row, column.name);
                let may_be_empty = column.name == "value";
                if !value.is_empty() || may_be_empty {
                    self.set(&path, value, &place(column));
                }
            }
            if let Some(first) = list.columns.first() {
                // Members of the element for which the form has no column.
                let extra = serde_json::from_str(text(row, EXTRA)).unwrap_or_default();
                self.set_members(&element, &extra, &place(first));
            }
            let name = text(row, "name").to_owned();
            match list.name {
                "inputs" => {
                    // A data set without a version belongs to the asset service.
                    if !text(row, "dataset").is_empty() && text(row, "version").is_empty() {
                        let path = format!("{element}.{DATASET_SERVICE}");
                        self.set(&path, "V3", &place(&list.columns[1]));
                    }
                    if let Some(dropped) = dropped {
                        let name = cell_name(list, number, "path");
                        let place = Control::new(name, "Inputs, data path");
                        self.set_data(&element, row, dropped, place, staging);
                    }
                }
                "outputs" if text(row, "path").is_empty() && !name.is_empty() => {
                    let place = place(&list.columns[1]);
                    let address = self.placeholder(staging, "out", &name, &place);
                    self.set(&format!("{element}.remote.obs.obs_url"), &address, &place);
                    self.outputs.push(name);
                }
                _ => {}
            }
        }
    }

    /// Sets the placeholder address of the dropped files of an input.
    fn set_data(
        &mut self,
        element: &str,
        row: &Row,
        dropped: Dropped,
        place: Control,
        staging: &Staging,
    ) {
        if !text(row, "path").is_empty() || !text(row, "dataset").is_empty() {
            self.findings.push(Finding::own(
                &place,
                "must be an address, a data set or dropped files, and only one of them",
                "remove the files, or the others",
            ));
            return;
        }
        let address = self.placeholder(staging, "data", &dropped.name, &place);
        self.set(&format!("{element}.remote.obs.obs_url"), &address, &place);
        self.data.push((text(row, "name").to_owned(), dropped));
    }

    /// Sets an environment variable. Adds a finding if its name is missing or repeated.
    fn set_variable(
        &mut self,
        list: &List,
        row: &Row,
        names: &mut Vec<String>,
        place: &dyn Fn(&Parameter) -> Control,
    ) {
        let [name_column, value_column] = list.columns.as_slice() else {
            return;
        };
        let name = text(row, "name");
        let own = |rule, advice| Finding::own(&place(name_column), rule, advice);
        if name.is_empty() {
            let rule = "must be given with a value";
            self.findings.push(own(rule, "name the variable"));
            return;
        }
        if names.iter().any(|known| known == name) {
            let rule = "must differ from the names of other variables";
            self.findings.push(own(rule, "rename one, or leave it out"));
            return;
        }
        names.push(name.to_owned());
        let path = format!("{}[{name:?}]", list.path);
        self.controls.add(&path, place(value_column));
        self.job = self.job.clone().env(name, text(row, "value"));
    }

    fn set_members(&mut self, path: &str, members: &Value, place: &Control) {
        for (name, value) in members.as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            match value {
                // Members of an object are set one by one, because the form may set other members.
                Value::Object(_) => self.set_members(&path, value, place),
                Value::String(text) => self.set(&path, text, place),
                value => self.set(&path, &value.to_string(), place),
            }
        }
    }

    /// Returns a placeholder for an address in OBS. Adds a finding if no bucket is set.
    fn placeholder(
        &mut self,
        staging: &Staging,
        kind: &str,
        name: &str,
        place: &Control,
    ) -> String {
        if staging.root().is_err() {
            self.findings.push(Finding::own(
                place,
                "must be an address in OBS, because no bucket is set for files and new outputs",
                "enter an address, such as obs://bucket/directory/",
            ));
        }
        placeholder(&self.root, kind, name)
    }

    fn set(&mut self, path: &str, value: &str, place: &Control) {
        match self.job.clone().set_field(path, value) {
            Ok(job) => self.job = job,
            Err(error) => {
                let found = of_error(&place.name, &place.label, path, &error);
                self.findings.extend(found);
            }
        }
    }

    /// Returns the number of elements of a list in the body.
    fn count(&self, path: &str) -> usize {
        let body = self.job.body();
        let value = path.split('.').try_fold(&body, |value, name| value.get(name));
        value.and_then(Value::as_array).map_or(0, Vec::len)
    }
}

/// Returns the root address of placeholders; an example address if no bucket is set.
fn root(staging: &Staging) -> String {
    match staging.root() {
        Ok(root) => format!("{root}/"),
        Err(_) => "obs://bucket/".to_owned(),
    }
}

/// Returns the placeholder for an address of files that are not staged yet.
fn placeholder(root: &str, kind: &str, name: &str) -> String {
    format!("{root}{kind}/new/{name}/")
}

/// Returns the findings about a value that the SDK rejects.
fn of_error(name: &str, label: &str, path: &str, error: &Error) -> Vec<Finding> {
    let place = Control::new(name, label);
    match error.violations() {
        [] => vec![Finding::of_text(&place, path, error)],
        violations => violations
            .iter()
            .map(|violation| Finding::of_violation(violation, Some(&place)))
            .collect(),
    }
}

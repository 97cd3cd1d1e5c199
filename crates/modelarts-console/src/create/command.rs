//! The `modelarts` command that creates the job of a form.

use crate::create::{
    form::{Form, Row, text},
    parameters::Mode,
    plan::Plan,
};

/// Flags of controls.
const FLAGS: &[(&str, &str)] = &[
    ("name", "--name"),
    ("description", "--description"),
    ("engine", "--engine"),
    ("image", "--image"),
    ("run_user", "--run-user"),
    ("command", "--command"),
    ("local_code_dir", "--local-code-dir"),
    ("working_dir", "--working-dir"),
    ("algorithm", "--algorithm"),
    ("restarts", "--restarts"),
    ("pool", "--pool"),
    ("flavor", "--flavor"),
    ("nodes", "--nodes"),
    ("priority", "--priority"),
    ("log_url", "--log-url"),
];
/// Setting of the restart of a hanging job, which has no flag.
const HANG_RESTART: &str = "metadata.annotations.fault-tolerance/hang-retry";

/// Returns the command. Fields that have no flag are in the file `job.json`, which must contain the
/// body.
pub(super) fn command(form: &Form, plan: &Plan, context: Option<&str>) -> String {
    let mut words = vec!["modelarts submit".to_owned()];
    let mut add = |flag: &str, value: &str| words.push(format!("{flag} {}", quoted(value)));
    if let Some(context) = context {
        add("--context", context);
    }
    if plan.has_other {
        add("-f", "job.json");
    }
    let mode = form.mode();
    let directory = match mode {
        Mode::Preset => form.get("code_dir"),
        Mode::Custom => form.get("custom_code_dir"),
        Mode::Stored => "",
    };
    match &plan.code {
        Some((dropped, script)) => {
            add("--code-dir", &format!("./{}", dropped.name));
            if let Some(script) = script {
                add("--boot-file", script);
            }
        }
        None if !plan.has_other => {
            if !directory.is_empty() {
                add("--code-dir", directory);
            }
            if mode == Mode::Preset && !form.get("boot_file").is_empty() {
                add("--boot-file", form.get("boot_file"));
            }
        }
        None => {}
    }
    if !plan.has_other {
        let of_mode = |name: &str| {
            let mut controls = crate::create::parameters::controls();
            controls.any(|control| control.name == name && control.modes.has(mode))
        };
        for (name, flag) in FLAGS.iter().filter(|(name, _)| of_mode(name)) {
            let value = form.get(name);
            if !value.is_empty() {
                add(flag, value);
            }
        }
        if !form.get("auto_stop").is_empty() {
            add("--auto-stop", &format!("{}h", form.get("auto_stop")));
        }
        if !form.get("hang_restart").is_empty() {
            add("--set", &format!("{HANG_RESTART}=true"));
        }
        for (flag, value) in rows(form) {
            add(flag, &value);
        }
    }
    for (name, dropped) in &plan.data {
        add("--data", &format!("{name}=./{}", dropped.name));
    }
    for name in &plan.outputs {
        add("--out", name);
    }
    words.join(" \\\n  ")
}

/// Returns the flags of the rows, without those of dropped files and of new outputs.
fn rows(form: &Form) -> Vec<(&'static str, String)> {
    let mut flags = Vec::new();
    let rows = |list: &'static str| form.rows(list).map(|(_, row)| row);
    let mut by_env = Vec::new();
    let mut predownload = Vec::new();
    for row in rows("inputs") {
        let (name, path, dataset) = (text(row, "name"), text(row, "path"), text(row, "dataset"));
        if !path.is_empty() {
            flags.push(("--data", format!("{name}={path}")));
        }
        if !dataset.is_empty() {
            let version = match text(row, "version") {
                "" => String::new(),
                version => format!(":{version}"),
            };
            flags.push(("--dataset", format!("{name}={dataset}{version}")));
        }
        by_env.extend(named(row, "access"));
    }
    for row in rows("outputs") {
        if !text(row, "path").is_empty() {
            flags.push(("--out", pair(row, "name", "path")));
        }
        by_env.extend(named(row, "access"));
        predownload.extend(named(row, "predownload"));
    }
    for (flag, names) in [("--pass-by-env", by_env), ("--predownload", predownload)] {
        if !names.is_empty() {
            flags.push((flag, names.join(",")));
        }
    }
    for (list, flag) in [("parameters", "-p"), ("environments", "--env")] {
        let rows = rows(list).filter(|row| !text(row, "name").is_empty());
        flags.extend(rows.map(|row| (flag, pair(row, "name", "value"))));
    }
    for row in rows("nfs").filter(|row| !text(row, "source").is_empty()) {
        let end = if text(row, "read_only").is_empty() {
            ""
        } else {
            ":ro"
        };
        let mount = format!("{}:{}{end}", text(row, "source"), text(row, "local"));
        flags.push(("--volume", mount));
    }
    for row in rows("pfs").filter(|row| !text(row, "source").is_empty()) {
        let source = text(row, "source").trim_start_matches('/');
        let mount = format!("pfs://{source}:{}", text(row, "local"));
        flags.push(("--volume", mount));
    }
    flags
}

/// Returns the name of a row whose switch is set.
fn named(row: &Row, switch: &str) -> Option<String> {
    let is_set = !text(row, switch).is_empty() && !text(row, "name").is_empty();
    is_set.then(|| text(row, "name").to_owned())
}

fn pair(row: &Row, name: &str, value: &str) -> String {
    format!("{}={}", text(row, name), text(row, value))
}

/// Returns a word of a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_of_a_shell_are_quoted() {
        assert_eq!(quoted("obs://b/code/"), "obs://b/code/");
        assert_eq!(quoted("python a.py; rm $X"), "'python a.py; rm $X'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}

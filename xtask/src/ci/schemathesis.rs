//! schemathesis asks the emulator what the description allows, and what it does not, and holds
//! the answers against the description.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    Outcome,
    checks::{cargo, passes},
};
use crate::{spec, venv, workspace};

const TOKEN: &str = "schemathesis";

/// The emulator, as long as it is needed.
struct Emulator {
    process: Child,
    url: String,
    project: String,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Errors: it has gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn run() -> Result<Outcome> {
    let files = workspace::root().join("xtask/schemathesis");
    let python = venv::python("schemathesis", &files.join("requirements.txt"))?;
    let built = passes(&mut cargo(["build", "--package", "modelarts-emulator"]))?;
    if built != Outcome::Passed {
        return Ok(built);
    }
    let emulator = start()?;
    let with_emulator = |command: &mut Command| {
        command
            .env("EMULATOR_URL", &emulator.url)
            .env("EMULATOR_PROJECT", &emulator.project)
            .env("EMULATOR_TOKEN", TOKEN);
    };

    let mut prepare = Command::new(&python);
    prepare.arg(files.join("prepare.py")).stderr(Stdio::inherit());
    with_emulator(&mut prepare);
    let prepared = prepare.output().context("prepare.py could not be started")?;
    ensure!(prepared.status.success(), "prepare.py: {}", prepared.status);
    let prepared: Value = serde_json::from_slice(&prepared.stdout)?;
    let job = prepared["job"].as_str().context("there is no job")?;

    let list = fs::read_to_string(files.join("unmodelled.txt"))?;
    let unmodelled = names(&list);
    let operations = spec::operation_ids(&workspace::description())?;
    let modelled: BTreeSet<&str> = prepared["modelled"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if let Some(wrong) = difference(&operations, &modelled, &unmodelled) {
        return Ok(Outcome::Failed(wrong));
    }

    let program = python.with_file_name("schemathesis");
    let mut command = Command::new(program);
    command
        .arg("--config-file")
        .arg(files.join("schemathesis.toml"))
        .arg("run")
        .arg(workspace::description())
        .env("EMULATOR_JOB", job)
        // Where it keeps what it has found.
        .current_dir(workspace::root().join("target"));
    for operation in &unmodelled {
        command.args(["--exclude-operation-id", operation]);
    }
    with_emulator(&mut command);
    passes(&mut command)
}

/// Jobs are simulated: what is asked for at random is better not run.
fn start() -> Result<Emulator> {
    let place = workspace::root().join("target/schemathesis");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let code = place.join("obs/bucket/code");
    fs::create_dir_all(&code)?;
    fs::write(code.join("train.py"), "")?;
    let script = place.join("script.json");
    fs::write(&script, r#"{"default": [{"log": ["started"]}]}"#)?;
    let mut process = Command::new(program(&workspace::root().join("target")))
        .args(["serve", "--timing", "instant", "--token", TOKEN])
        .args(["--runner", "simulated", "--script"])
        .arg(&script)
        .arg("--data-dir")
        .arg(place.join("data"))
        .arg("--obs-root")
        .arg(place.join("obs"))
        .env("RUST_LOG", "warn")
        .stdout(Stdio::piped())
        .spawn()
        .context("modelarts-emulator could not be started")?;
    let mut ready = String::new();
    if let Some(stdout) = process.stdout.take() {
        BufReader::new(stdout).read_line(&mut ready)?;
    }
    let mut emulator = Emulator {
        process,
        url: String::new(),
        project: String::new(),
    };
    let ready: Value = serde_json::from_str(&ready).context("modelarts-emulator is not ready")?;
    let text = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
    emulator.url = text("url");
    emulator.project = text("project_id");
    Ok(emulator)
}

fn program(target: &Path) -> std::path::PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| target.to_owned(), Into::into);
    target.join("debug/modelarts-emulator")
}

/// One a line; comments begin with `#`.
fn names(list: &str) -> BTreeSet<&str> {
    let lines = list.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// What is wrong with the list, if anything is.
fn difference(
    operations: &BTreeSet<String>,
    modelled: &BTreeSet<&str>,
    unmodelled: &BTreeSet<&str>,
) -> Option<String> {
    for operation in operations {
        let name = operation.as_str();
        let listed = unmodelled.contains(name);
        if listed == modelled.contains(name) {
            return Some(if listed {
                format!("{name} is modelled; take it out of unmodelled.txt")
            } else {
                format!("{name} is not modelled; add it to unmodelled.txt")
            });
        }
    }
    let unknown = unmodelled.iter().find(|name| !operations.contains(**name));
    unknown.map(|name| format!("{name} of unmodelled.txt is in no path of the description"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_compared_both_ways() {
        let operations = BTreeSet::from(["Create".to_owned(), "Publish".to_owned()]);
        let check = |modelled: &[&'static str], list: &'static str| {
            difference(&operations, &modelled.iter().copied().collect(), &names(list))
        };
        assert_eq!(check(&["Create"], "# why\n\nPublish\n"), None);
        assert_eq!(
            check(&["Create"], "").unwrap(),
            "Publish is not modelled; add it to unmodelled.txt"
        );
        assert_eq!(
            check(&["Create", "Publish"], "Publish").unwrap(),
            "Publish is modelled; take it out of unmodelled.txt"
        );
        assert_eq!(
            check(&["Create"], "Publish\nGone").unwrap(),
            "Gone of unmodelled.txt is in no path of the description"
        );
    }
}

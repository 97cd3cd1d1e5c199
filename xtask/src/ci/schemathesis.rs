//! Runs schemathesis, which sends valid and invalid requests to the emulator and compares the
//! responses with the description.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::outcome::{Outcome, passes};
use crate::{
    clients::emulator::{self, Emulator},
    regenerate,
    tools::venv,
    workspace,
};

pub fn run() -> Result<Outcome> {
    let files = workspace::root().join("xtask/schemathesis");
    let python = venv::python("schemathesis", &files.join("requirements.txt"))?;
    emulator::build()?;
    // A script simulates the jobs, because the random commands must not be executed.
    let script = files.join("script.json").display().to_string();
    let flags = [
        "--runner",
        "simulated",
        "--script",
        &script,
        "--timing",
        "instant",
    ];
    let emulator = Emulator::start_with("schemathesis", &flags)?;
    let job = emulator.post("training-jobs", &job())?;
    let job = job["metadata"]["id"]
        .as_str()
        .context("the job has no id")?;

    let description = regenerate::read(&workspace::description())?;
    let excluded = unmodelled(&description, &emulator.control("requests")?);
    println!("not modelled: {}", excluded.join(", "));
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command
        .arg("--config-file")
        .arg(files.join("schemathesis.toml"))
        .arg("run")
        .arg(workspace::description())
        .envs(emulator.settings())
        .env("JOB", job)
        // The working directory is in `target`, because schemathesis stores its results there.
        .current_dir(workspace::root().join("target"));
    for operation in excluded {
        command.args(["--exclude-operation-id", operation]);
    }
    passes(&mut command)
}

/// Returns the request body of the job that the read operations need.
fn job() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "first"},
        "algorithm": {
            "code_dir": "obs://example/code/",
            "boot_file": "obs://example/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u"}},
    })
}

/// Returns the operations that the emulator does not implement: it does not count them, and
/// responds with 501.
fn unmodelled<'a>(description: &'a Value, counted: &Value) -> Vec<&'a str> {
    let paths = description["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(_, item)| item.as_object().into_iter().flatten());
    operations
        .filter_map(|(_, operation)| operation.get("operationId")?.as_str())
        .filter(|id| counted.get(id).is_none())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_are_not_counted_are_excluded() {
        let description = json!({"paths": {"/jobs": {
            "parameters": [],
            "get": {"operationId": "List"},
            "post": {"operationId": "Create"},
        }}});
        let counted = json!({"List": {"received": 0}});
        assert_eq!(unmodelled(&description, &counted), ["Create"]);
    }
}

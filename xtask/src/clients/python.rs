//! Python: openapi-python-client, mypy.

use std::{fs, path::Path, process::Command};

use anyhow::Result;

use super::{
    signing,
    steps::{self, Programs},
};
use crate::{tools::venv, workspace};

const PACKAGE: &str = "modelarts_training";

pub fn prepare(directory: &Path) -> Result<Programs> {
    let python = venv::python("python", &directory.join("requirements.txt"))?;
    let package = directory.join(PACKAGE);
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    steps::quiet(
        Command::new(&python)
            .args(["-m", "openapi_python_client", "generate", "--meta", "none"])
            .args(["--config", "generator.yaml", "--output-path", PACKAGE])
            .arg("--path")
            .arg(workspace::description())
            // A warning means that a piece of the description was left out.
            .arg("--fail-on-warning")
            .current_dir(directory),
    )?;
    steps::quiet(
        Command::new(&python)
            .args(["-m", "mypy", "--strict", "."])
            .current_dir(directory),
    )?;
    let program = |file: &str| {
        let mut command = Command::new(&python);
        command.arg(file).current_dir(directory);
        command
    };
    let header = steps::lines(&mut program("sign_example.py"))?;
    signing::is_the_example(&header.join("\n"))?;
    Ok(Programs {
        first_job: program("first_job.py"),
        awkward: program("awkward.py"),
    })
}

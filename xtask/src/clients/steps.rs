//! Steps that several languages take.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{tools::venv, workspace};

/// Two programs over a generated client, ready to run.
pub struct Programs {
    pub first_job: Command,
    pub awkward: Command,
}

/// Where the sources of a client are.
pub fn sources(name: &str) -> PathBuf {
    workspace::root().join("openapi/clients").join(name)
}

/// A directory below `target` with the sources of a client, where the generated code and
/// what is installed join them.
pub fn copy_sources(name: &str) -> Result<PathBuf> {
    let directory = workspace::root().join("target/clients").join(name);
    copy(&sources(name), &directory)?;
    Ok(directory)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Whether a program is on the PATH.
pub fn is_there(program: &str) -> bool {
    // go has no --version.
    let flag = if program == "go" {
        "version"
    } else {
        "--version"
    };
    Command::new(program)
        .arg(flag)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program that has nothing to say unless it fails.
pub fn quiet(command: &mut Command) -> Result<()> {
    let name = command.get_program().display().to_string();
    let output = command
        .output()
        .with_context(|| format!("{name} could not be started"))?;
    ensure!(
        output.status.success(),
        "{name} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    Ok(())
}

/// The lines that a program prints; an error if it fails.
pub fn lines(command: &mut Command) -> Result<Vec<String>> {
    let name = command.get_program().display().to_string();
    let output = command
        // Nothing of it may leave this machine.
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .with_context(|| format!("{name} could not be started"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "{name} ended with {}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
    );
    Ok(text.lines().map(str::to_owned).collect())
}

/// Makes a client with openapi-generator in `directory`, which is made anew.
pub fn openapi_generator(generator: &str, directory: &Path, options: &[&str]) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    let python = venv::python("generator", &sources("requirements.txt"))?;
    quiet(
        // A script beside the interpreter; it starts the Java of the machine.
        Command::new(python.with_file_name("openapi-generator-cli"))
            .args(["generate", "-g", generator, "-i"])
            .arg(workspace::description())
            .arg("-o")
            .arg(directory)
            .args([
                "--global-property",
                "apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false",
            ])
            .args(options),
    )
}

/// The jar of openapi-generator, which has Jackson inside.
pub fn openapi_generator_jar() -> Result<PathBuf> {
    let python = venv::python("generator", &sources("requirements.txt"))?;
    let print = "import openapi_generator_cli; print(openapi_generator_cli.__path__[0])";
    let printed = lines(Command::new(python).args(["-c", print]))?;
    let package = printed.first().context("python3 printed nothing")?;
    Ok(Path::new(package).join("openapi-generator.jar"))
}

//! Python virtual environments for checks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Name of the file in which an environment stores its installed requirements, so that the next run
/// needs no network access.
const INSTALLED: &str = "installed.txt";

/// Returns the path of python3 in an environment that contains exactly the packages that
/// `requirements` pins. Creates the environment in the target directory if it is missing or the
/// pins have changed.
pub fn python(name: &str, requirements: &Path) -> Result<PathBuf> {
    let pins =
        fs::read_to_string(requirements).with_context(|| requirements.display().to_string())?;
    all_pinned(&pins).with_context(|| requirements.display().to_string())?;
    let directory = workspace::root().join("target/venv").join(name);
    let python = directory.join("bin/python3");
    if fs::read_to_string(directory.join(INSTALLED)).is_ok_and(|before| before == pins) {
        return Ok(python);
    }
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(&directory))?;
    succeeds(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(requirements),
    )?;
    fs::write(directory.join(INSTALLED), pins)?;
    Ok(python)
}

/// Fails if a requirement is not pinned, because its version would vary.
fn all_pinned(requirements: &str) -> Result<()> {
    for line in requirements.lines().map(str::trim) {
        ensure!(
            line.is_empty() || line.starts_with('#') || line.contains("=="),
            "{line} is not pinned; write name==version"
        );
    }
    Ok(())
}

fn succeeds(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{} could not be started", command.get_program().display()))?;
    ensure!(
        status.success(),
        "{} ended with {status}",
        command.get_program().display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned() {
        all_pinned("# why\n\nattrs==25.1.0\nhttpx[http2]==0.28.1 ; python_version >= '3.9'\n")
            .unwrap();
        let error = all_pinned("attrs==25.1.0\nhttpx>=0.28\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "httpx>=0.28 is not pinned; write name==version"
        );
    }
}

//! Checks the packages that would be published.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

use crate::outcome::{Outcome, passes};
use crate::{
    metadata::Metadata,
    workspace::{self, cargo},
};

/// Checks the files of the packages that would be published, and builds them.
pub fn run() -> Result<Outcome> {
    let metadata = Metadata::read(&workspace::root())?;
    for (name, folder) in metadata.published() {
        let offences = offences(&folder, &listed(name)?)?;
        if !offences.is_empty() {
            return Ok(Outcome::Failed(format!("{name}: {}", offences.join("; "))));
        }
    }
    builds(&metadata)
}

/// Returns the paths of the files that cargo would publish with a package.
fn listed(name: &str) -> Result<Vec<String>> {
    let output = cargo(["package", "--list", "--allow-dirty", "--package", name]).output()?;
    ensure!(
        output.status.success(),
        "cargo package --list failed for {name}"
    );
    let files = String::from_utf8(output.stdout)?;
    Ok(files.lines().map(str::to_owned).collect())
}

/// Files that every package must have.
const REQUIRED: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Returns the violations in the list of files of a package.
fn offences(folder: &Path, files: &[String]) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for required in REQUIRED {
        if !files.iter().any(|file| file == required) {
            offences.push(format!("must contain {required}"));
        }
    }
    // Packages must not contain tests, because these need other crates of the repository.
    if let Some(test) = files.iter().find(|file| file.starts_with("tests/")) {
        offences.push(format!("must not contain {test}"));
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let [ours, packaged] =
            [workspace::root(), folder.to_owned()].map(|folder| fs::read(folder.join(licence)));
        if ours? != packaged.unwrap_or_default() {
            offences.push(format!("{licence} must be that of the repository"));
        }
    }
    Ok(offences)
}

/// Builds the packages from the files that would be published.
fn builds(metadata: &Metadata) -> Result<Outcome> {
    forget_unpacked()?;
    // Runs the steps of `cargo publish --dry-run --workspace`, except for the check that the
    // registry does not contain these versions, which would fail after a release. Uncommitted
    // changes are allowed, because only a release requires that everything is committed. The target
    // directory is separate and new, because cargo would reuse artefacts of an earlier package with
    // the same version.
    let target = workspace::root().join("target/package-check");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let mut command = cargo(["package", "--workspace", "--allow-dirty"]);
    command.arg("--target-dir").arg(&target);
    // Packages are built with the default profile, not with that of the workspace. Nothing runs
    // these builds, so debug information would only use disk space.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("CARGO_INCREMENTAL", "0");
    for unpublished in metadata.unpublished() {
        command.args(["--exclude", &unpublished]);
    }
    let outcome = passes(&mut command)?;
    fs::remove_dir_all(&target)?;
    Ok(outcome)
}

/// Removes the packages of this workspace from cargo's directory of unpacked sources.
///
/// To verify packages that depend on one another, cargo creates a registry in the target directory
/// and unpacks packages from it. It identifies unpacked sources by the path of that registry and
/// the version, and does not unpack a changed package again. A second run in the same directory
/// would therefore build against the packages of the first run.
fn forget_unpacked() -> Result<()> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let Some(sources) = home.map(|home| home.join("registry/src")) else {
        return Ok(());
    };
    let Ok(registries) = fs::read_dir(sources) else {
        return Ok(());
    };
    for registry in registries {
        let registry = registry?;
        // cargo names the folder of a registry `HOST-HASH`. For a registry in a local directory,
        // the host is empty.
        if !registry.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for package in fs::read_dir(registry.path())? {
            let package = package?;
            let name = package.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("modelarts-") && name.ends_with(env!("CARGO_PKG_VERSION")) {
                fs::remove_dir_all(package.path())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            fs::copy(workspace::root().join(licence), folder.path().join(licence)).unwrap();
        }
        folder
    }

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_complete_package_has_no_offence() {
        let folder = package();
        let files = files(&["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"]);
        assert_eq!(offences(folder.path(), &files).unwrap(), [""; 0]);
    }

    #[test]
    fn missing_and_superfluous_files_are_named() {
        let folder = package();
        fs::write(folder.path().join("LICENSE-MIT"), "another").unwrap();
        let files = files(&["LICENSE-APACHE", "LICENSE-MIT", "tests/it/main.rs"]);
        assert_eq!(
            offences(folder.path(), &files).unwrap(),
            [
                "must contain README.md",
                "must not contain tests/it/main.rs",
                "LICENSE-MIT must be that of the repository",
            ]
        );
    }
}

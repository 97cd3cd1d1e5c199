//! Installation of npm packages from lock files, which do not contain addresses of a registry.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Minimum version of Node, major and minor, that the locked packages support.
const OLDEST: (u32, u32) = (20, 19);

/// The treatment of optional dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optional {
    Installed,
    LeftOut,
}

/// Installs the packages of `package-lock.json` into `directory`, unless `package` is installed
/// already.
pub fn install(directory: &Path, package: &str, optional: Optional) -> Result<()> {
    let lock = read(&directory.join("package-lock.json"))?;
    names_no_address(&lock)?;
    if is_installed(&lock, directory, package) {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit"]);
    if optional == Optional::LeftOut {
        command.arg("--omit=optional");
    }
    let status = command
        .current_dir(directory)
        .status()
        .context("npm could not be started")?;
    ensure!(status.success(), "npm ci: {status}");
    Ok(())
}

fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}

/// Fails if a lock file contains addresses of a registry, because it could be used only where these
/// are reachable.
fn names_no_address(lock: &Value) -> Result<()> {
    let packages = lock.get("packages").and_then(Value::as_object);
    let packages = packages.context("package-lock.json lists no packages")?;
    for (name, package) in packages {
        if package.get("resolved").is_some() {
            bail!(
                "package-lock.json says where {name} was downloaded from; make it again where \
                 .npmrc has omit-lockfile-registry-resolved=true"
            );
        }
        // A checksum is necessary, because without an address only the checksum identifies the
        // package.
        ensure!(
            name.is_empty() || package.get("integrity").is_some(),
            "package-lock.json has no integrity for {name}"
        );
    }
    Ok(())
}

/// Returns true if the locked version is installed already, so that no network access is necessary.
fn is_installed(lock: &Value, directory: &Path, package: &str) -> bool {
    let installed = read(&directory.join(package).join("package.json")).ok();
    let installed = installed.as_ref().and_then(|it| it.get("version"));
    installed.is_some() && installed == lock["packages"][package].get("version")
}

/// Returns the reason if Node cannot be used. `.ci/run` installs Node if it has permission to do
/// so, and fails if the version is too old.
pub fn unavailable() -> Option<String> {
    let (major, minor) = OLDEST;
    match version() {
        None => Some("npm is not installed".to_owned()),
        Some(version) if version < OLDEST => {
            let (has_major, has_minor) = version;
            Some(format!(
                "node {has_major}.{has_minor} is older than {major}.{minor}"
            ))
        }
        Some(_) => None,
    }
}

/// Returns the version of Node; `None` if Node or npm is missing.
fn version() -> Option<(u32, u32)> {
    let says = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then_some(text)
    };
    says("npm")?;
    parse_version(&says("node")?)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix('v')?.split('.');
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workspace;

    const PACKAGE: &str = "node_modules/a";

    #[test]
    fn lock_files_name_no_address_and_have_the_programs_that_checks_run() {
        for (directory, package) in [
            (workspace::lint(), "node_modules/@redocly/cli"),
            (
                workspace::root().join("openapi/clients/typescript"),
                "node_modules/openapi-typescript",
            ),
            (
                workspace::root().join("crates/modelarts-emulator/examples/vitest"),
                "node_modules/vitest",
            ),
            (
                workspace::root().join("xtask/console/browser"),
                "node_modules/playwright-core",
            ),
        ] {
            let lock = read(&directory.join("package-lock.json")).unwrap();
            names_no_address(&lock).unwrap();
            assert!(lock["packages"][package]["version"].is_string());
        }
    }

    #[test]
    fn a_lock_file_with_an_address_is_refused() {
        let package = json!({ "version": "1.0.0", "resolved": "somewhere", "integrity": "sha512" });
        let error = names_no_address(&json!({ "packages": { "": {}, "a": package } }));
        assert_eq!(
            error.unwrap_err().to_string(),
            "package-lock.json says where a was downloaded from; make it again where .npmrc has \
             omit-lockfile-registry-resolved=true"
        );
        let error = names_no_address(&json!({ "packages": { "a": { "version": "1.0.0" } } }));
        assert_eq!(
            error.unwrap_err().to_string(),
            "package-lock.json has no integrity for a"
        );
        assert!(names_no_address(&json!({})).is_err());
    }

    #[test]
    fn another_release_than_the_locked_one_counts_as_missing() {
        let lock = json!({ "packages": { PACKAGE: { "version": "2.0.0" } } });
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_installed(&lock, directory.path(), PACKAGE));
        let package = directory.path().join(PACKAGE);
        fs::create_dir_all(&package).unwrap();
        for (version, installed) in [("1.9.9", false), ("2.0.0", true)] {
            let text = json!({ "version": version }).to_string();
            fs::write(package.join("package.json"), text).unwrap();
            assert_eq!(is_installed(&lock, directory.path(), PACKAGE), installed);
        }
        assert!(!is_installed(
            &json!({ "packages": {} }),
            directory.path(),
            PACKAGE
        ));
    }

    #[test]
    fn versions_of_node_compare_by_number() {
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_version("unknown"), None);
        assert!(parse_version("v9.0.0") < Some(OLDEST));
        assert!(parse_version("v22.1.0") >= Some(OLDEST));
    }
}

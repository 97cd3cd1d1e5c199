//! Redocly's linter on the description: rules of the standard itself, beside our
//! own in `xtask spec`. It comes from npm, by a lock file.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Outcome, checks::passes};
use crate::workspace;

/// The oldest Node that the locked release runs on.
const NODE: (u32, u32) = (20, 19);
const PACKAGE: &str = "node_modules/@redocly/cli";

pub fn run() -> Result<Outcome> {
    let directory = workspace::lint();
    let lock = read(&directory.join("package-lock.json"))?;
    names_no_address(&lock)?;
    // `.ci/run` installs Node where it may. Without it our own rules still run.
    let Some(version) = node_version() else {
        return Ok(Outcome::Skipped {
            why: "npm is not installed".into(),
            also_in_ci: false,
        });
    };
    if version < NODE {
        return Ok(Outcome::Skipped {
            why: format!(
                "node {}.{} is older than {}.{}, and the distribution may have no newer one",
                version.0, version.1, NODE.0, NODE.1
            ),
            also_in_ci: true,
        });
    }
    if !is_installed(&lock, &directory) {
        let mut install = Command::new("npm");
        install
            .args(["ci", "--omit=optional", "--ignore-scripts", "--no-audit"])
            .current_dir(&directory);
        if let Outcome::Failed(why) = passes(&mut install)? {
            return Ok(Outcome::Failed(format!("npm ci: {why}")));
        }
    }
    passes(
        Command::new("node")
            .arg(format!("{PACKAGE}/bin/cli.js"))
            .args(["lint", "--config", "redocly.yaml", "../modelarts.yaml"])
            .env("REDOCLY_TELEMETRY", "off")
            .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
            .current_dir(&directory),
    )
}

fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}

/// A lock file with addresses only works where these can be reached.
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
        // Without an address the sum is all that says what is installed.
        ensure!(
            name.is_empty() || package.get("integrity").is_some(),
            "package-lock.json has no integrity for {name}"
        );
    }
    Ok(())
}

/// Whether the locked release is there, so that the network is not needed.
fn is_installed(lock: &Value, directory: &Path) -> bool {
    let installed = read(&directory.join(PACKAGE).join("package.json")).ok();
    let installed = installed.as_ref().and_then(|it| it.get("version"));
    installed.is_some() && installed == lock["packages"][PACKAGE].get("version")
}

/// The version of Node; none unless npm is there too.
fn node_version() -> Option<(u32, u32)> {
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

    #[test]
    fn our_lock_file_names_no_address_and_has_the_linter() {
        let lock = read(&workspace::lint().join("package-lock.json")).unwrap();
        names_no_address(&lock).unwrap();
        assert!(lock["packages"][PACKAGE]["version"].is_string());
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
    fn what_is_not_the_locked_release_is_not_installed() {
        let lock = json!({ "packages": { PACKAGE: { "version": "2.0.0" } } });
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_installed(&lock, directory.path()));
        let package = directory.path().join(PACKAGE);
        fs::create_dir_all(&package).unwrap();
        for (version, installed) in [("1.9.9", false), ("2.0.0", true)] {
            let text = json!({ "version": version }).to_string();
            fs::write(package.join("package.json"), text).unwrap();
            assert_eq!(is_installed(&lock, directory.path()), installed);
        }
        assert!(!is_installed(&json!({ "packages": {} }), directory.path()));
    }

    #[test]
    fn versions_of_node_compare_by_number() {
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_version("unknown"), None);
        assert!(parse_version("v9.0.0") < Some(NODE));
        assert!(parse_version("v22.1.0") >= Some(NODE));
    }
}

//! `cargo xtask new-operation`: checks that a new operation of the description requires no new Rust
//! code.
//!
//! The command adds two operations to a copy of the description, and compiles copies of
//! modelarts-api and modelarts-ext with this description. A test program then calls the operations
//! through generated code and by name. The command writes only to `target`, and downloads nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    codegen, regenerate,
    workspace::{self, cargo},
};

/// The additional operations, as a partial description.
const ADDITION: &str = include_str!("../new_operation/addition.yaml");
/// The tests that call them.
const PROGRAM: &str = include_str!("../new_operation/program.rs");
/// Folder of the copied crates. It must not be `crates`: cargo derives the names of build artefacts
/// from the path of a crate in its workspace, and both workspaces share a target directory.
const FOLDER: &str = "copies";
/// The copied crates.
const CRATES: [&str; 2] = ["modelarts-api", "modelarts-ext"];
/// The dependencies of the program, which replace those of the tests of modelarts-ext.
const DEV_DEPENDENCIES: &str = "[dev-dependencies]\n\
    tokio = { workspace = true, features = [\"macros\", \"net\", \"io-util\", \"rt\"] }\n\n";

pub fn run() -> Result<ExitCode> {
    let root = workspace::root();
    // The copy is kept, so that the next run compiles only the changes.
    let copy = root.join("target/new-operation");
    prepare(&root, &copy)?;
    let status = command(&root, &copy).status().context("cargo")?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Returns the command that tests the copy. It uses the target directory of the repository, which
/// already contains the built dependencies.
fn command(root: &Path, copy: &Path) -> Command {
    let mut cargo = cargo(["test", "--offline", "--quiet", "--manifest-path"]);
    cargo
        .arg(copy.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target"))
        .args(["--package", "modelarts-ext", "--test", "new_operation"]);
    cargo
}

fn prepare(root: &Path, copy: &Path) -> Result<()> {
    for name in CRATES {
        let (from, to) = (root.join("crates").join(name), copy.join(FOLDER).join(name));
        for part in ["src", "build.rs", "codegen"] {
            copy_all(&from.join(part), &to.join(part))?;
        }
        let manifest = fs::read_to_string(from.join("Cargo.toml"))?;
        write(&to.join("Cargo.toml"), &without_tests(&manifest)?)?;
    }
    // The documentation of modelarts-ext includes the page.
    let page = Path::new("modelarts-ext/CREATING.md");
    let text = fs::read_to_string(root.join("crates").join(page))?;
    write(&copy.join(FOLDER).join(page), &text)?;
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    write(&copy.join("Cargo.toml"), &with_members(&manifest)?)?;
    // The copy uses the lock file of the repository; cargo removes packages that the copy does not
    // need.
    write(
        &copy.join("Cargo.lock"),
        &fs::read_to_string(root.join("Cargo.lock"))?,
    )?;
    write(
        &copy
            .join(FOLDER)
            .join("modelarts-ext/tests/new_operation.rs"),
        PROGRAM,
    )?;

    let mut description = regenerate::read(&workspace::description())?;
    merge(
        &mut description,
        codegen::parse(ADDITION).context("addition.yaml")?,
    );
    let api = copy.join(FOLDER).join("modelarts-api");
    // JSON is a subset of YAML.
    write(&api.join("modelarts.yaml"), &description.to_string())?;
    write_snapshots(&api, &codegen::generate(&description)?)
}

/// Writes the snapshots, from which a build without the generator assembles the code, and removes
/// all other snapshots.
fn write_snapshots(api: &Path, snapshots: &BTreeMap<String, String>) -> Result<()> {
    let directory = api.join("snapshots");
    for (name, text) in snapshots {
        write(&directory.join(format!("{name}.snap")), text)?;
    }
    remove_others(&directory, |name| {
        let name = name.to_string_lossy();
        let name = name.strip_suffix(".snap");
        name.is_some_and(|name| snapshots.contains_key(name))
    })
}

/// Merges a partial description into a description.
fn merge(description: &mut Value, addition: Value) {
    match (description, addition) {
        (Value::Object(members), Value::Object(additions)) => {
            for (name, value) in additions {
                match members.get_mut(&name) {
                    Some(member) => merge(member, value),
                    None => {
                        members.insert(name, value);
                    }
                }
            }
        }
        (description, addition) => *description = addition,
    }
}

/// Returns the manifest of a crate without the dependencies of its own tests.
fn without_tests(manifest: &str) -> Result<String> {
    let parts = manifest.split_once("[dev-dependencies]\n");
    let parts = parts.and_then(|(before, after)| Some((before, after.split_once("\n[")?)));
    let Some((before, (_, after))) = parts else {
        bail!("a crate must have dev-dependencies, and a table after them");
    };
    Ok(format!("{before}{DEV_DEPENDENCIES}[{after}"))
}

/// Returns the manifest of the workspace with the copied crates as its members.
fn with_members(manifest: &str) -> Result<String> {
    let rest = manifest.split_once("\n[workspace.package]");
    let (_, rest) = rest.context("the manifest must have [workspace.package]")?;
    let rest = rest.replace("path = \"crates/", &format!("path = \"{FOLDER}/"));
    Ok(format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"{FOLDER}/*\"]\n\n[workspace.package]{rest}"
    ))
}

/// Copies a file or directory, if the source exists, and removes files that the source does not
/// contain.
fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        return write(to, &fs::read_to_string(from)?);
    }
    let Ok(entries) = fs::read_dir(from) else {
        return Ok(());
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry?.file_name();
        copy_all(&from.join(&name), &to.join(&name))?;
        names.insert(name);
    }
    remove_others(to, |name| names.contains(name))
}

/// Removes the files and folders of a directory, except those to keep.
fn remove_others(directory: &Path, is_kept: impl Fn(&OsStr) -> bool) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_kept(&entry.file_name()) {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Writes a file only if its text has changed, because cargo would recompile an unchanged file with
/// a new modification time.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

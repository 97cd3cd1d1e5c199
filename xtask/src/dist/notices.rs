//! Licence texts of the dependencies, which must accompany a program.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace::{cargo, root};

/// Packages of the program and of the module for Python.
const PACKAGES: [&str; 2] = ["modelarts-cli", "modelarts-python"];

/// Prefixes of the names of files with a licence or a notice.
const FILES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Libraries of the web page, which are files of this repository: name with version, licence,
/// address of the source code, and folder.
const VENDORED: [[&str; 4]; 1] = [[
    "uPlot v1.6.32",
    "MIT",
    "https://github.com/leeoniya/uPlot",
    "crates/modelarts-console/assets/vendor/uplot",
]];

const HEAD: &str = "\
Packages that the programs modelarts and modelarts-emulator contain, unmodified, with their licences
and the addresses of their source code. The texts of the licences follow.
";

/// A package whose code is part of the program.
struct Package {
    /// Name and version, as `cargo tree` prints them.
    name: String,
    licence: String,
    /// Address of the source code, which also names the authors of packages without a licence text.
    repository: String,
    folder: PathBuf,
}

/// Writes the licence texts of all packages whose code becomes part of the program.
pub fn write(file: &Path) -> Result<()> {
    let linked = linked()?;
    let mut packages = Vec::new();
    for package in packages_of_cargo()? {
        if linked.contains(&package.name) {
            let texts = texts(&package.folder)?;
            packages.push((package, texts));
        }
    }
    ensure!(
        packages.len() == linked.len(),
        "cargo tree and cargo metadata list different packages"
    );
    for package in vendored() {
        let texts = texts(&package.folder)?;
        ensure!(!texts.is_empty(), "{} has no licence", package.name);
        packages.push((package, texts));
    }
    packages.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    fs::write(file, render(&packages)).with_context(|| file.display().to_string())
}

/// Returns the linked packages that are not in this workspace, as `name vVERSION`.
fn linked() -> Result<BTreeSet<String>> {
    let mut command = cargo(["tree", "--locked", "--prefix", "none"]);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    command.args(["--edges", "normal,no-proc-macro", "--format", "{p}"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo tree failed");
    let tree = String::from_utf8(output.stdout)?;
    Ok(tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        // A package of the workspace has a path in parentheses.
        .filter(|line| !line.is_empty() && !line.ends_with(')'))
        .collect())
}

/// Returns the libraries of the web page.
fn vendored() -> impl Iterator<Item = Package> {
    let package = |[name, licence, repository, folder]: [&str; 4]| Package {
        name: name.to_owned(),
        licence: licence.to_owned(),
        repository: repository.to_owned(),
        folder: root().join(folder),
    };
    VENDORED.into_iter().map(package)
}

/// Returns the packages of the workspace and of its dependencies.
fn packages_of_cargo() -> Result<Vec<Package>> {
    let mut command = cargo(["metadata", "--locked", "--format-version", "1"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo metadata failed");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array();
    let packages = packages.context("cargo metadata lists no packages")?;
    let package = |package: &Value| {
        let text = |name: &str| package[name].as_str();
        Some(Package {
            name: format!("{} v{}", text("name")?, text("version")?),
            licence: text("license").unwrap_or_default().to_owned(),
            repository: text("repository").unwrap_or_default().to_owned(),
            folder: Path::new(text("manifest_path")?).parent()?.to_owned(),
        })
    };
    Ok(packages.iter().filter_map(package).collect())
}

/// Returns the texts of licences and notices in the folder of a package.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_file() && FILES.iter().any(|begin| name.starts_with(begin)) {
            files.push(entry.path());
        }
    }
    files.sort();
    let text = |file: PathBuf| -> Result<String> {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
    };
    files.into_iter().map(text).collect()
}

/// Joins the notices. A text that several packages share is printed once.
fn render(packages: &[(Package, Vec<String>)]) -> String {
    let mut notices = format!("{HEAD}\n");
    let mut by_text: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (package, texts) in packages {
        let Package { name, licence, repository, .. } = package;
        // Writing to a `String` cannot fail.
        let _ = writeln!(notices, "{name}: {licence}, {repository}");
        for text in texts {
            by_text.entry(text.trim()).or_default().insert(name);
        }
    }
    for (text, packages) in by_text {
        let names = packages.into_iter().collect::<Vec<_>>().join(", ");
        let _ = write!(notices, "\n{}\n{names}\n\n{text}\n", "-".repeat(80));
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_the_same_text_share_it() {
        let package = |name: &str, texts: &[&str]| {
            let package = Package {
                name: name.to_owned(),
                licence: "MIT".to_owned(),
                repository: "https://example.com".to_owned(),
                folder: PathBuf::new(),
            };
            (package, texts.iter().map(ToString::to_string).collect())
        };
        let packages = [
            package("a v1.0.0", &["Copyright A\n", "NOTICE of A"]),
            package("b v1.0.0", &["Copyright A\n\n"]),
            package("c v1.0.0", &[]),
        ];
        let line = "-".repeat(80);
        assert_eq!(
            render(&packages),
            format!(
                "{HEAD}\na v1.0.0: MIT, https://example.com\nb v1.0.0: MIT, https://example.com\n\
                 c v1.0.0: MIT, https://example.com\n\
                 \n{line}\na v1.0.0, b v1.0.0\n\nCopyright A\n\
                 \n{line}\na v1.0.0\n\nNOTICE of A\n"
            )
        );
    }

    #[test]
    fn libraries_of_the_page_have_the_texts_of_their_licences() {
        let readme = root().join("crates/modelarts-console/assets/vendor/README.md");
        let readme = fs::read_to_string(readme).unwrap();
        for package in vendored() {
            let texts = texts(&package.folder).unwrap();
            assert!(texts[0].contains("Permission is hereby granted"), "{}", package.name);
            assert!(readme.contains(&package.name.replace(" v", " ")), "{}", package.name);
        }
    }

    #[test]
    fn linked_packages_have_the_texts_of_their_licences() {
        let linked = linked().unwrap();
        let named = |name: &str| linked.iter().find(|package| package.starts_with(name));
        let packages = packages_of_cargo().unwrap();
        let serde = named("serde_json v").unwrap();
        let serde = packages.iter().find(|it| it.name == *serde).unwrap();
        assert_eq!(serde.licence, "MIT OR Apache-2.0");
        assert_eq!(serde.repository, "https://github.com/serde-rs/json");
        let texts = texts(&serde.folder).unwrap();
        assert!(texts.iter().any(|text| text.contains("Permission is hereby granted")));
        assert!(named("progenitor-client v").is_some());
        // Packages of the workspace and packages that only run at build time are not listed.
        assert_eq!(named("modelarts-"), None);
        assert_eq!(named("serde_derive v"), None);
    }
}

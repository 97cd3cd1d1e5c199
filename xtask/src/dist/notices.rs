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

use crate::workspace::cargo;

/// The package with the program.
const PACKAGE: &str = "modelarts-cli";

/// Beginnings of the names of files with a licence or a notice.
const FILES: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
];

const HEAD: &str = "\
Licences of the packages that the programs modelarts and modelarts-emulator contain. The source code
of each is in the package registry of Rust, crates.io; modified versions are not contained.
";

/// Writes the licence texts of all packages whose code becomes part of the program.
pub fn write(file: &Path) -> Result<()> {
    let folders = folders()?;
    let mut packages = Vec::new();
    for package in linked()? {
        let (folder, licence) = folders
            .get(&package)
            .with_context(|| format!("cargo metadata lacks {package}"))?;
        packages.push((package, licence.clone(), texts(folder)?));
    }
    let notices = render(&packages);
    fs::write(file, notices).with_context(|| file.display().to_string())
}

/// Returns the linked packages other than those of this workspace, as `name vVERSION`.
fn linked() -> Result<BTreeSet<String>> {
    let mut command = cargo(["tree", "--locked", "--package", PACKAGE, "--prefix", "none"]);
    command.args(["--edges", "normal,no-proc-macro", "--format", "{p}"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo tree failed");
    let tree = String::from_utf8(output.stdout)?;
    Ok(tree
        .lines()
        // A package of the workspace has a path.
        .filter(|line| !line.contains('/'))
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .filter(|line| !line.is_empty())
        .collect())
}

/// Returns the folder and the licence of each package.
fn folders() -> Result<BTreeMap<String, (PathBuf, String)>> {
    let mut command = cargo(["metadata", "--locked", "--format-version", "1"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo metadata failed");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array();
    let packages = packages.context("cargo metadata lists no packages")?;
    let row = |package: &Value| {
        let text = |name: &str| package[name].as_str();
        let name = format!("{} v{}", text("name")?, text("version")?);
        let folder = Path::new(text("manifest_path")?).parent()?.to_owned();
        Some((
            name,
            (folder, text("license").unwrap_or_default().to_owned()),
        ))
    };
    Ok(packages.iter().filter_map(row).collect())
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

/// Joins the texts. Packages with the same text share it.
fn render(packages: &[(String, String, Vec<String>)]) -> String {
    let mut notices = HEAD.to_owned();
    let mut by_text: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    notices.push('\n');
    for (package, licence, texts) in packages {
        // Writing to a `String` cannot fail.
        let _ = writeln!(notices, "{package}: {licence}");
        for text in texts {
            by_text.entry(text.trim()).or_default().insert(package);
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
            let texts = texts.iter().map(|text| (*text).to_owned()).collect();
            (name.to_owned(), "MIT".to_owned(), texts)
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
                "{HEAD}\na v1.0.0: MIT\nb v1.0.0: MIT\nc v1.0.0: MIT\n\
                 \n{line}\na v1.0.0, b v1.0.0\n\nCopyright A\n\
                 \n{line}\na v1.0.0\n\nNOTICE of A\n"
            )
        );
    }

    #[test]
    fn the_packages_of_the_program_have_a_folder_with_their_licence() {
        let folders = folders().unwrap();
        let linked = linked().unwrap();
        let named = |name: &str| linked.iter().find(|package| package.starts_with(name));
        let serde = named("serde_json v").unwrap();
        let (folder, licence) = &folders[serde];
        assert_eq!(licence, "MIT OR Apache-2.0");
        assert!(
            texts(folder)
                .unwrap()
                .iter()
                .any(|text| text.contains("Permission is hereby"))
        );
        assert!(named("progenitor-client v").is_some());
        // Packages of the workspace, and those that only run at build time.
        assert_eq!(named("modelarts-"), None);
        assert_eq!(named("serde_derive v"), None);
    }
}

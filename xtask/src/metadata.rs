//! Output of `cargo metadata` for the workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace::cargo;

pub struct Metadata(Value);

impl Metadata {
    /// Reads the workspace in `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let output = cargo(["metadata", "--locked", "--format-version", "1", "--no-deps"])
            .current_dir(root)
            .output()?;
        ensure!(output.status.success(), "cargo metadata failed");
        Ok(Self(
            serde_json::from_slice(&output.stdout).context("cargo metadata")?,
        ))
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.0["packages"].as_array().into_iter().flatten()
    }

    /// Returns the names of the packages that are never published.
    pub fn unpublished(&self) -> Vec<String> {
        self.packages()
            // `publish` lists the admitted registries; null admits all.
            .filter(|package| package["publish"].as_array().is_some_and(Vec::is_empty))
            .filter_map(|package| package["name"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// Returns the names and folders of the published packages.
    pub fn published(&self) -> Vec<(&str, PathBuf)> {
        let unpublished = self.unpublished();
        self.packages()
            .filter_map(|package| {
                let manifest = Path::new(package["manifest_path"].as_str()?);
                Some((package["name"].as_str()?, manifest.parent()?.to_owned()))
            })
            .filter(|(name, _)| !unpublished.iter().any(|other| other == name))
            .collect()
    }

    /// Returns the names of the examples of a package.
    pub fn examples(&self, package: &str) -> Vec<String> {
        self.packages()
            .filter(|candidate| candidate["name"] == package)
            .filter_map(|package| package["targets"].as_array())
            .flatten()
            .filter(|target| target["kind"][0] == "example")
            .filter_map(|target| target["name"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// Returns the names of the features of a package, without those that only enable a dependency.
    pub fn features(&self, package: &str) -> Vec<String> {
        self.packages()
            .filter(|candidate| candidate["name"] == package)
            .filter_map(|package| package["features"].as_object())
            .flatten()
            .map(|(name, _)| name.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn examples_features_and_unpublished_packages_are_found() {
        let metadata = Metadata(json!({ "packages": [
            { "name": "a", "publish": null, "manifest_path": "/a/Cargo.toml", "targets": [
                { "name": "a", "kind": ["lib"] },
                { "name": "quickstart", "kind": ["example"] },
            ], "features": { "default": ["tls"], "tls": [] } },
            { "name": "b", "publish": [], "targets": [{ "name": "other", "kind": ["example"] }] },
        ] }));
        assert_eq!(metadata.examples("a"), ["quickstart"]);
        assert_eq!(metadata.features("a"), ["default", "tls"]);
        assert_eq!(metadata.unpublished(), ["b"]);
        assert_eq!(metadata.published(), [("a", PathBuf::from("/a"))]);
    }
}

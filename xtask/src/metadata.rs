//! The workspace as `cargo metadata` describes it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace::cargo;

pub struct Metadata(Value);

/// Dependencies that count.
#[derive(Clone, Copy)]
enum Reach {
    /// Those that are part of a program.
    Linked,
    /// Those that are needed to build it, too: procedural macros, and what build scripts use.
    Built,
}

impl Metadata {
    /// Reads the workspace in `root`.
    pub fn read(root: &Path) -> Result<Self> {
        Self::read_with(root, "--no-deps")
    }

    /// Reads the workspace and what it depends on, on any platform and with all features.
    pub fn read_with_dependencies(root: &Path) -> Result<Self> {
        Self::read_with(root, "--all-features")
    }

    fn read_with(root: &Path, option: &str) -> Result<Self> {
        let output = cargo(["metadata", "--locked", "--format-version", "1", option])
            .current_dir(root)
            .output()?;
        ensure!(output.status.success(), "cargo metadata failed");
        Ok(Self(
            serde_json::from_slice(&output.stdout).context("cargo metadata")?,
        ))
    }

    /// The licences of what the published packages depend on, by names of packages: what is
    /// linked, and what only runs when they are built.
    pub fn licences(&self) -> [BTreeMap<&str, &str>; 2] {
        let unpublished = self.unpublished();
        let members = self.0["workspace_members"].as_array();
        let is_member = |package: &Value| members.is_some_and(|ids| ids.contains(&package["id"]));
        let published = |package: &&Value| {
            let name = package["name"].as_str().unwrap_or_default();
            is_member(package) && !unpublished.iter().any(|other| other == name)
        };
        let roots: Vec<&str> = self
            .packages()
            .filter(published)
            .filter_map(|package| package["id"].as_str())
            .collect();
        let linked = self.reachable(&roots, Reach::Linked);
        let all = self.reachable(&roots, Reach::Built);
        let built = all.difference(&linked).copied().collect();
        let [linked, mut built] = [linked, built].map(|ids: BTreeSet<&str>| {
            let packages = self.packages().filter(|package| {
                let id = package["id"].as_str();
                id.is_some_and(|id| ids.contains(id)) && !is_member(package)
            });
            let licences = packages.filter_map(|package| {
                let licence = package["license"].as_str().unwrap_or_default();
                Some((package["name"].as_str()?, licence))
            });
            licences.collect::<BTreeMap<_, _>>()
        });
        // Another version of a package may be linked.
        built.retain(|name, licence| linked.get(name) != Some(licence));
        [linked, built]
    }

    /// The packages that some packages depend on, themselves included.
    fn reachable(&self, roots: &[&str], reach: Reach) -> BTreeSet<&str> {
        let macros: BTreeSet<&str> = self
            .packages()
            .filter(|package| {
                let targets = package["targets"].as_array().into_iter().flatten();
                targets
                    .into_iter()
                    .any(|target| target["kind"][0] == "proc-macro")
            })
            .filter_map(|package| package["id"].as_str())
            .collect();
        // Null is the kind of dependencies that are not for builds or tests.
        let is_reached = |dependency: &&Value| {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            let mut kinds = kinds.map(|kind| &kind["kind"]);
            let is_macro = dependency["pkg"]
                .as_str()
                .is_some_and(|id| macros.contains(id));
            match reach {
                Reach::Linked => !is_macro && kinds.any(Value::is_null),
                Reach::Built => kinds.any(|kind| kind.is_null() || kind == "build"),
            }
        };
        let nodes = self.0["resolve"]["nodes"].as_array();
        let nodes: BTreeMap<&str, &Value> = nodes
            .into_iter()
            .flatten()
            .filter_map(|node| Some((node["id"].as_str()?, node)))
            .collect();
        let mut found = BTreeSet::new();
        let mut open = roots.to_vec();
        while let Some((id, node)) = open.pop().and_then(|id| nodes.get_key_value(id)) {
            if !found.insert(*id) {
                continue;
            }
            let dependencies = node["deps"].as_array().into_iter().flatten();
            open.extend(
                dependencies
                    .filter(is_reached)
                    .filter_map(|dependency| dependency["pkg"].as_str()),
            );
        }
        found
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.0["packages"].as_array().into_iter().flatten()
    }

    /// The packages that are never published.
    pub fn unpublished(&self) -> Vec<String> {
        self.packages()
            // `publish` lists the registries that are allowed; null is all.
            .filter(|package| package["publish"].as_array().is_some_and(Vec::is_empty))
            .filter_map(|package| package["name"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// The packages that are published, and their folders.
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

    /// The root files of libraries, programs and build scripts.
    pub fn roots(&self) -> Vec<PathBuf> {
        let targets = self.packages().filter_map(|p| p["targets"].as_array());
        targets
            .flatten()
            .filter(|target| {
                ["lib", "bin", "proc-macro", "custom-build"]
                    .iter()
                    .any(|kind| target["kind"][0] == *kind)
            })
            .filter_map(|target| target["src_path"].as_str())
            .map(PathBuf::from)
            .collect()
    }

    /// The names of the examples of a package.
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
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn licences_are_of_what_published_packages_link_or_build_with() {
        let package = |name: &str, licence: &str, publish: Value| {
            let kind = if name.ends_with("macro") {
                "proc-macro"
            } else {
                "lib"
            };
            json!({
                "id": name, "name": name, "license": licence, "publish": publish,
                "targets": [{ "kind": ["custom-build"] }, { "kind": [kind] }],
            })
        };
        let node = |name: &str, on: &[(&str, Value)]| {
            let deps: Vec<_> = on
                .iter()
                .map(|(pkg, kind)| json!({ "pkg": pkg, "dep_kinds": [{ "kind": kind }] }))
                .collect();
            json!({ "id": name, "deps": deps })
        };
        let metadata = Metadata(json!({
            "workspace_members": ["ours", "checks"],
            "packages": [
                package("ours", "MIT", json!(null)),
                package("checks", "MIT", json!([])),
                package("linked", "ISC", json!(null)),
                package("below", "Zlib", json!(null)),
                package("built", "MPL-2.0", json!(null)),
                package("a-macro", "Unicode-3.0", json!(null)),
                package("tested", "GPL-3.0", json!(null)),
            ],
            "resolve": { "nodes": [
                node("ours", &[("linked", json!(null)), ("built", json!("build")), ("tested", json!("dev"))]),
                node("checks", &[("tested", json!(null))]),
                node("linked", &[("below", json!(null)), ("a-macro", json!(null))]),
                node("a-macro", &[("built", json!(null))]),
                node("below", &[]),
                node("built", &[("below", json!(null))]),
                node("tested", &[]),
            ] },
        }));
        assert_eq!(
            metadata.licences(),
            [
                BTreeMap::from([("below", "Zlib"), ("linked", "ISC")]),
                BTreeMap::from([("a-macro", "Unicode-3.0"), ("built", "MPL-2.0")]),
            ]
        );
    }

    #[test]
    fn examples_and_unpublished_packages_are_found() {
        let metadata = Metadata(json!({ "packages": [
            { "name": "a", "publish": null, "manifest_path": "/a/Cargo.toml", "targets": [
                { "name": "a", "kind": ["lib"] },
                { "name": "quickstart", "kind": ["example"] },
            ] },
            { "name": "b", "publish": [], "targets": [{ "name": "other", "kind": ["example"] }] },
        ] }));
        assert_eq!(metadata.examples("a"), ["quickstart"]);
        assert_eq!(metadata.unpublished(), ["b"]);
        assert_eq!(metadata.published(), [("a", PathBuf::from("/a"))]);
    }
}

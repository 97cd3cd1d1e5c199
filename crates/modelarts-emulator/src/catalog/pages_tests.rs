//! Tests that the flavors, engines and pools of the repository's pages exist by default.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use fancy_regex::Regex;
use walkdir::{DirEntry, WalkDir};

use crate::catalog::{engines::Engine, flavors::Flavor, pools::Pool};

/// A name in a code block, in the notation of Rust, JSON or YAML.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Flavor(String),
    Pool(String),
    EngineId(String),
    /// The name and the version of an engine.
    Engine(String, String),
}

impl Named {
    /// Returns true if an emulator with default settings has the resource.
    fn exists(&self) -> bool {
        match self {
            Self::Flavor(id) => Flavor::find(id).is_some(),
            Self::Pool(id) => Pool::defaults().iter().any(|pool| pool.id == *id),
            Self::EngineId(id) => Engine::by_id(id).is_some(),
            Self::Engine(name, version) => Engine::by_name(name, version).is_some(),
        }
    }
}

/// Creates a name from the groups of a match.
type Create = fn(&[&str]) -> Named;

/// Patterns of names in code: arguments of calls in Rust, members in JSON and YAML.
static PATTERNS: LazyLock<Vec<(Regex, Create)>> = LazyLock::new(|| {
    const VALUE: &str = "([A-Za-z0-9_.-]+)";
    let call = |name: &str| format!(r#"\.{name}\([ \n]*""#);
    let member = |name: &str| format!(r#"\b{name}"?: *"?"#);
    let flavor: Create = |groups| Named::Flavor(groups[0].to_owned());
    let pool: Create = |groups| Named::Pool(groups[0].to_owned());
    let id: Create = |groups| Named::EngineId(groups[0].to_owned());
    let engine: Create = |groups| Named::Engine(groups[0].to_owned(), groups[1].to_owned());
    let [name, version] = ["engine_name", "engine_version"].map(member);
    let preset_image = call("preset_image");
    let patterns = [
        (call("flavor") + VALUE, flavor),
        (member("flavor_id") + VALUE, flavor),
        (call("pool") + VALUE, pool),
        (member("pool_id") + VALUE, pool),
        (call("preset_engine") + VALUE, id),
        (member("engine_id") + VALUE, id),
        (format!(r#"{preset_image}{VALUE}",[ \n]*"{VALUE}"#), engine),
        (format!(r#"{name}{VALUE}"?,[ \n]*"?{version}{VALUE}"#), engine),
    ];
    let patterns = patterns.into_iter();
    let patterns = patterns.map(|(pattern, create)| (Regex::new(&pattern).unwrap(), create));
    patterns.collect()
});

fn names(code: &str) -> BTreeSet<Named> {
    let mut names = BTreeSet::new();
    for (pattern, create) in &*PATTERNS {
        for found in pattern.captures_iter(code).map(Result::unwrap) {
            let groups = found.iter().skip(1).flatten().map(|group| group.as_str());
            names.insert(create(&groups.collect::<Vec<_>>()));
        }
    }
    names
}

/// Returns the lines of all code blocks of a text in Markdown.
fn code_blocks(text: &str) -> String {
    let mut code = String::new();
    let mut is_code = false;
    for line in text.lines() {
        match line.trim_start().starts_with("```") {
            true => is_code = !is_code,
            false if is_code => code += &format!("{line}\n"),
            false => {}
        }
    }
    assert!(!is_code, "a code block has no end:\n{code}");
    code
}

/// Returns the documentation in a Rust file.
fn documentation(source: &str) -> String {
    let lines = source.lines().map(str::trim_start).filter_map(|line| {
        let text = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
        Some(format!("{text}\n"))
    });
    lines.collect()
}

/// Returns the pages of the repository, and the files whose documentation becomes pages.
fn pages() -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_source = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let skipped = ["target", "node_modules", "snapshots", "tests"];
        entry.depth() == 0 || !(name.starts_with('.') || skipped.contains(&&*name))
    };
    let files = WalkDir::new(repository).into_iter();
    let files = files.filter_entry(is_source).map(Result::unwrap);
    let files = files.map(DirEntry::into_path);
    let is_page = |file: &PathBuf| {
        let extension = file.extension();
        extension.is_some_and(|extension| extension == "md" || extension == "rs")
    };
    files.filter(is_page).collect()
}

#[test]
fn the_emulator_has_the_flavors_engines_and_pools_of_all_pages() {
    let mut found = BTreeSet::new();
    let mut missing = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let text = match page.extension().is_some_and(|it| it == "rs") {
            true => documentation(&text),
            false => text,
        };
        for name in names(&code_blocks(&text)) {
            if !name.exists() {
                missing.push(format!("{}: {name:?}", page.display()));
            }
            found.insert(name);
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    let pytorch = "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64";
    for expected in [
        Named::Flavor("modelarts.vm.cpu.2u".into()),
        Named::Flavor("modelarts.vm.cpu.8u".into()),
        Named::Engine("PyTorch".into(), "pytorch_1.8.0".into()),
        Named::Engine("PyTorch".into(), pytorch.into()),
    ] {
        assert!(found.contains(&expected), "no page names {expected:?}");
    }
}

#[test]
fn names_are_found_in_rust_json_and_yaml() {
    let rust = r#"
        .preset_image("A", "a_1.0").flavor("f.1").pool("p-1")
        .preset_image(
            "B",
            "b_1.0",
        )
        .preset_engine("c-1")"#;
    let engine = |name: &str, version: &str| Named::Engine(name.into(), version.into());
    let flavor = Named::Flavor("f.1".into());
    let pool = Named::Pool("p-1".into());
    let id = Named::EngineId("c-1".into());
    assert_eq!(
        names(rust),
        BTreeSet::from([
            flavor.clone(),
            pool.clone(),
            id.clone(),
            engine("A", "a_1.0"),
            engine("B", "b_1.0"),
        ])
    );
    let json = r#"{"algorithm": {"engine": {"engine_name": "A", "engine_version": "a_1.0"}},
        "other": {"engine_id": "c-1"}, "spec": {"resource": {"flavor_id": "f.1",
            "pool_id":"p-1"}}}"#;
    let yaml = "
        engine: {engine_name: A, engine_version: a_1.0}
        other: {engine_id: c-1}
        resource: {flavor_id: f.1, pool_id: p-1}";
    let of_both = BTreeSet::from([flavor, pool, id, engine("A", "a_1.0")]);
    assert_eq!(names(json), of_both);
    assert_eq!(names(yaml), of_both);
    assert_eq!(names("training-pool-flavors, flavors: [f.1]"), BTreeSet::new());
}

#[test]
fn names_that_the_catalog_lacks_do_not_exist() {
    for name in [
        Named::Flavor("modelarts.vm.gpu.none".into()),
        Named::Pool("pool-none".into()),
        Named::EngineId("pytorch_1.8.0".into()),
        Named::Engine("TensorFlow".into(), "pytorch_1.8.0".into()),
    ] {
        assert!(!name.exists(), "{name:?}");
    }
    assert!(Named::Pool("pool-gpu".into()).exists());
}

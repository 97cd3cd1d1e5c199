//! Comparison of the snapshots in `crates/modelarts-api/snapshots` with the generated code.

use std::{collections::BTreeMap, env, fs, panic::catch_unwind, path::PathBuf, process::Command};

use tempfile::TempDir;

use super::{TEST, generate};
use crate::{codegen, workspace};

/// Variables with which a test replaces the description and the directory of the snapshots.
const DESCRIPTION: &str = "CODEGEN_DESCRIPTION";
const SNAPSHOTS: &str = "CODEGEN_SNAPSHOTS";

fn path(variable: &str, default: PathBuf) -> PathBuf {
    env::var_os(variable).map_or(default, PathBuf::from)
}

#[test]
fn the_snapshots_are_the_generated_code() {
    let generated = generate(&path(DESCRIPTION, workspace::description())).unwrap();
    let directory = path(SNAPSHOTS, workspace::snapshots());
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(&directory);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let is_changed = |(name, text): &(&String, &String)| {
        catch_unwind(|| insta::assert_snapshot!(name.as_str(), text)).is_err()
    };
    let changed: Vec<_> = settings.bind(|| {
        let changed = generated.iter().filter(is_changed);
        changed.map(|(name, _)| name).collect()
    });
    assert!(
        changed.is_empty(),
        "{changed:?} differ in crates/modelarts-api/snapshots; run `cargo xtask codegen` and \
         commit the result with the description"
    );

    // The build without the generator joins exactly the stored bytes, of which insta ignores some.
    let stored = codegen::snapshots::read(&directory).unwrap();
    let others = |(name, text): &(&String, &String)| generated.get(*name) != Some(*text);
    let others: Vec<_> = stored.iter().filter(others).map(|(name, _)| name).collect();
    assert!(
        others.is_empty(),
        "{others:?} belong to nothing or end with other spaces; run `cargo xtask codegen`"
    );
}

/// The documentation of each operation must state its method and path, its effect and its sources.
#[test]
fn every_page_of_an_operation_says_method_path_effect_and_source() {
    let description = codegen::read(&workspace::description()).unwrap();
    let generated = codegen::snapshots::join(&codegen::generate(&description).unwrap());
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in codegen::METHODS.iter().filter(|method| item.get(method).is_some()) {
            let method = method.to_uppercase();
            let call = format!("Sends a `{method}` request to `{path}`\n");
            assert!(generated.contains(&call), "{call}");
            let (_, page) = generated.split_once(&format!("/**`{method} {path}`\n")).unwrap();
            let (page, _) = page.split_once("*/").unwrap();
            for expected in ["\n- Effect: ", "\n- Sources: "] {
                assert!(page.contains(expected), "{method} {path} does not say {expected}");
            }
        }
    }
}

const SMALL: &str = r"
openapi: 3.0.3
info: {title: Small, version: '1'}
tags: [{name: Jobs}, {name: Queues}, {name: Nodes}]
paths:
  /jobs/{id}:
    get:
      operationId: ShowJob
      tags: [Jobs]
      x-effect: read
      x-clouds: [huawei]
      x-sources: [O]
      x-error-codes: []
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
      responses:
        '200':
          description: The job.
          content: {application/json: {schema: {$ref: '#/components/schemas/Job'}}}
        4XX:
          description: Refused.
          content: {application/json: {schema: {$ref: '#/components/schemas/ApiError'}}}
components:
  schemas:
    Job:
      type: object
      properties:
        name: {type: string}
    ApiError:
      type: object
      properties:
        error_code: {type: string}
";

/// Temporary directory with a small description and its snapshots.
struct Project(TempDir);

impl Project {
    /// Creates a project whose snapshots are up to date.
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.describe(SMALL);
        fs::create_dir(project.0.path().join("snapshots")).unwrap();
        assert_eq!(project.run("always"), None);
        assert_eq!(project.run("no"), None);
        project
    }

    fn describe(&self, yaml: &str) {
        fs::write(self.0.path().join("small.yaml"), yaml).unwrap();
    }

    fn snapshot(&self, name: &str) -> PathBuf {
        self.0.path().join("snapshots").join(name)
    }

    fn snapshots(&self) -> BTreeMap<String, String> {
        codegen::snapshots::read(&self.0.path().join("snapshots")).unwrap()
    }

    /// Runs the comparison with this mode of insta, and returns its output if it fails.
    fn run(&self, update: &str) -> Option<String> {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", TEST])
            .env(DESCRIPTION, self.0.path().join("small.yaml"))
            .env(SNAPSHOTS, self.0.path().join("snapshots"))
            .env("INSTA_UPDATE", update)
            .env("NO_COLOR", "1")
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (!output.status.success()).then(|| text.into_owned())
    }
}

#[test]
fn a_changed_field_is_red_with_a_diff_and_regenerating_mends_it() {
    let project = Project::new();
    let before = project.snapshots();
    project.describe(&SMALL.replace("name: {type: string}", "name: {type: integer}"));
    let report = project.run("no").unwrap();
    for expected in [
        "-    pub name: ::std::option::Option<::std::string::String>,",
        "+    pub name: ::std::option::Option<i64>,",
        "[\"types.Jobs\"] differ",
        "run `cargo xtask codegen` and commit",
    ] {
        assert!(report.contains(expected), "{expected:?} in {report}");
    }
    assert_eq!(project.snapshots(), before, "a check writes nothing");
    assert_eq!(project.run("always"), None);
    assert_eq!(project.run("no"), None);
}

#[test]
fn a_snapshot_of_nothing_and_a_changed_end_are_red() {
    let project = Project::new();
    fs::write(project.snapshot("types.Old.snap"), "").unwrap();
    let job = fs::read_to_string(project.snapshot("types.Jobs.snap")).unwrap();
    fs::write(project.snapshot("types.Jobs.snap"), job + "\n").unwrap();
    let report = project.run("no").unwrap();
    assert!(report.contains(r#"["types.Jobs", "types.Old"] belong"#), "{report}");
}

/// Causes with one row of each list.
const CAUSES: &str = "
documents: [{id: a, title: A, url: 'https://a.test'}]
causes:
  - {name: no_disk, meaning: Full., summary: '{task} is full[ of {detail}]', links: [a],
     cases: [{when: {known: [log]}, advice: [Read.]}]}
signatures: [{cause: no_disk, parts: [full], excerpt: disk full}]
";

#[test]
fn a_broken_row_of_the_causes_is_one_sentence() {
    let generated = codegen::causes::generate(CAUSES).unwrap();
    assert!(generated.contains("/// Full.\n    NoDisk,"), "{generated}");
    for (before, after, expected) in [
        ("links: [a]", "links: [b]", "/causes/0/links: must be ids of `documents`: \"b\""),
        ("cause: no_disk", "cause: disk", "/signatures/0/cause: must be one of `causes`: \"disk\""),
        ("parts: [full]", "parts: []", "/signatures/0/parts: must have an element"),
        (
            "parts: [full]",
            "part: [full]",
            "/signatures/0/part: unknown field `part`, expected one of `cause`, `class`, \
             `confidence`, `position`, `parts`, `excerpt`",
        ),
        (
            "known: [log]",
            "known: [logs]",
            "/causes/0/cases/0/when/known: must be of package, input, code, pool, log: \"logs\"",
        ),
        (
            "known: [log]",
            "confidence: certain",
            "/causes/0/cases/0/when/confidence: must be likely, or left out",
        ),
        (
            "{task}",
            "{tasks}",
            "/causes/0: the names in braces must be of task, exit_code, signal, runs, detail, \
             pool, limit, flavor, package, input, code, process, storage, since: \"tasks\" in \"{tasks} is full[ of {detail}]\"",
        ),
        (
            "[ of {detail}]",
            "[ of [{detail}]",
            "/causes/0: brackets must be in pairs: \"{task} is full[ of [{detail}]\"",
        ),
        (
            "  - {name",
            "  - {name: no_disk, meaning: '', summary: ''}\n  - {name",
            "/causes/1/name: must be unique: \"no_disk\"",
        ),
        (
            "  - {name: no_disk",
            "  - {name: a, meaning: '', summary: '', codes: [C.1]}\n  - {codes: [C.1], name: no_disk",
            "/causes/1/codes: must be of one cause only: \"C.1\"",
        ),
    ] {
        let error = codegen::causes::generate(&CAUSES.replace(before, after));
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_broken_description_is_one_sentence() {
    for (before, after, expected) in [
        (
            "x-effect: read",
            "x-effect: reads",
            "/paths/~1jobs~1{id}/get/x-effect: unknown variant `reads`, expected one of `read`, \
             `idempotent`, `create`",
        ),
        (
            "        name: {type: string}",
            "        name: {type: string}\n        name: {type: integer}",
            "not YAML: duplicate mapping key `name` is not allowed here at line 29, column 9",
        ),
        (
            "title: Small",
            "title: [Small",
            "not YAML: mismatched bracket '[' closed by '}' at line 3, column 15",
        ),
    ] {
        let description = codegen::parse(&SMALL.replace(before, after));
        let error = description.and_then(|description| codegen::generate(&description));
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

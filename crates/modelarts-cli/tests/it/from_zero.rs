//! The page "From zero": each of its lines is executed.
//!
//! Commands run by trycmd. Values that differ from run to run, such as times and ports, are
//! replaced by wildcards before, so that the page has those of a real run.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use modelarts_emulator::Cloud;
use regex::Regex;
use snapbox::cmd::cargo_bin;
use tempfile::TempDir;

use crate::{setup::dev::DevProcess, support::Fixture};

const PAGE: &str = include_str!("../../FROM-ZERO.md");
/// Home directory in the page.
const HOME: &str = "/home/ann";
/// Values that differ from run to run, and the wildcards that replace them.
const WILDCARDS: &[(&str, &str)] = &[
    (r"127\.0\.0\.1:\d+", "127.0.0.1:[..]"),
    (r"\b\d+ ms\b", "[..] ms"),
    (r"\b\d\d:\d\d:\d\d\b", "[..]"),
    (r"\b[0-9a-f]{32}\b", "[..]"),
    (r"\b[0-9a-f]{64}\b", "[..]"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "[..]"),
    (r"/code/[0-9a-f]{16}/\w+/", "/code/[..]/"),
    (r"\bafter ([0-9]+[dhms])+\b", "after [..]"),
    // Widths of columns depend on the times.
    (r"\s+\d+s\s+\d+s\s+", "[..]"),
    (r"\b[0-9a-f]{8}\b", "[..]"),
    (r"\btrain-[0-9a-z]{4}\b", "train-[..]"),
    (r"access key \w{4}…", "access key [..]…"),
    (r"✓ (endpoint|obs  ) .*https://.*", "✓ $1 [..]"),
    (r"✓ python .*", "✓ python [..]"),
    // Not every machine has a container view.
    (r"[✓-] container .*", "[..] container [..]"),
];

/// A block of code: its language and its text.
struct Block {
    language: &'static str,
    text: &'static str,
}

/// Returns the blocks below a heading.
fn blocks(heading: &str) -> Vec<Block> {
    let mut sections = PAGE.split("\n## ");
    let section = sections.find(|section| section.lines().next() == Some(heading));
    let section = section.unwrap_or_else(|| panic!("the page has no section {heading:?}"));
    let mut parts = section.split("```");
    parts.next();
    let mut blocks = Vec::new();
    while let Some(part) = parts.next() {
        let (language, text) = part.split_once('\n').unwrap();
        blocks.push(Block { language, text });
        parts.next();
    }
    blocks
}

fn with_wildcards(text: &str) -> String {
    let text = text.replace(HOME, "[HOME]");
    WILDCARDS.iter().fold(text, |text, (pattern, wildcard)| {
        let pattern = Regex::new(pattern).unwrap();
        pattern.replace_all(&text, *wildcard).into_owned()
    })
}

/// Returns a block in the form of trycmd, in which an output without a line break at its end
/// differs from one with it by an empty line.
fn transcript(block: &Block) -> String {
    assert_eq!(block.language, "console");
    let mut text = "```console\n".to_owned();
    let mut has_output = false;
    for line in with_wildcards(block.text).lines().chain(["```"]) {
        let is_command = line.starts_with("$ ");
        // Programs that are not registered would be skipped.
        assert!(!is_command || line.starts_with("$ modelarts "), "{line}");
        if has_output && (is_command || line == "```") {
            text.push('\n');
        }
        has_output = !is_command && !line.starts_with("? ");
        text += &format!("{line}\n");
    }
    text + "\n"
}

/// Runs the commands of these blocks in a new directory with the script of the page, and compares
/// their output.
fn run(home: &Path, name: &str, blocks: &[Block], variables: &[(String, String)]) {
    let page = home.join(format!("{name}.md"));
    let text: String = blocks.iter().map(transcript).collect();
    fs::write(&page, text).unwrap();
    let directory = home.join(format!("{name}.in"));
    fs::create_dir(&directory).unwrap();
    let script = self::blocks("A job on this machine");
    let script = script.iter().find(|block| block.language == "python");
    fs::write(directory.join("train.py"), script.unwrap().text).unwrap();
    let cases = trycmd::TestCases::new();
    let home_text = home.display().to_string();
    cases
        .register_bin("modelarts", PathBuf::from(cargo_bin!("modelarts")))
        .env("HOME", &home_text)
        .env("TZ", "UTC")
        .insert_var("[HOME]", home_text)
        .unwrap()
        .case(&page);
    for (name, value) in variables {
        cases.env(name, value);
    }
    cases.run();
}

/// The packages are in no registry yet.
#[test]
fn a_clone_is_all_that_the_installation_needs() {
    let blocks = blocks("Install");
    let lines: Vec<&str> = blocks.iter().flat_map(|block| block.text.lines()).collect();
    let directory = concat!("crates/", env!("CARGO_PKG_NAME"));
    assert_eq!(lines, [format!("cargo install --locked --path {directory}")]);
}

#[test]
fn a_job_runs_on_this_machine() {
    let home = TempDir::new().unwrap();
    let blocks = blocks("A job on this machine");
    let (script, commands) = blocks.split_first().unwrap();
    assert_eq!(script.language, "python");
    run(home.path(), "local", commands, &[]);
}

#[test]
fn a_service_runs_on_this_machine() {
    let home = TempDir::new().unwrap();
    let mut blocks = blocks("A service on this machine");
    let start = blocks.remove(0);
    let (command, expected) = start.text.split_once('\n').unwrap();
    let arguments = command.strip_prefix("$ modelarts dev").unwrap();
    let dev = DevProcess::start(home.path(), arguments);
    let config = home.path().join("config.toml").display().to_string();
    let variables = [("MODELARTS_CONFIG".to_owned(), config)];
    run(home.path(), "emulator", &blocks, &variables);
    let (code, text) = dev.end("INT");
    assert_eq!(code, Some(130));
    let text = text.replace(&home.path().display().to_string(), "[HOME]");
    let expected = format!("{}ending with all jobs\n", with_wildcards(expected));
    snapbox::Assert::new().eq(text, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_needs_three_variables() {
    let fixture = Fixture::with(|builder| builder.cloud(Cloud::Otc)).await;
    fs::create_dir(fixture.emulator.obs_root().join("team-bucket")).unwrap();
    let mut blocks = blocks("The service");
    let exports = blocks.remove(0);
    let vars = fixture.emulator.vars();
    let exports = exports.text.lines().map(|line| {
        let (name, value) = line.strip_prefix("export ").unwrap().split_once('=').unwrap();
        let value = vars(name).unwrap_or_else(|| value.to_owned());
        (name.to_owned(), value)
    });
    let mut variables: Vec<(String, String)> = exports.collect();
    assert_eq!(variables.len(), 3);
    // The emulator takes the place of the region.
    for (name, source) in [
        ("HUAWEICLOUD_SDK_REGION_MODELARTS_EU_DE", "MODELARTS_ENDPOINT"),
        ("MODELARTS_OBS_ENDPOINT", "MODELARTS_OBS_ENDPOINT"),
        ("HUAWEICLOUD_SDK_IAM_ENDPOINT", "HUAWEICLOUD_SDK_IAM_ENDPOINT"),
    ] {
        variables.push((name.to_owned(), vars(source).unwrap()));
    }
    let settings = fixture.path().join(".config/modelarts/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, "").unwrap();
    let home = fixture.path().to_owned();
    let run = move || run(&home, "service", &blocks, &variables);
    tokio::task::spawn_blocking(run).await.unwrap();
}

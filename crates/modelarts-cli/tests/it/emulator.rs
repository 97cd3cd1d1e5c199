//! `modelarts emulator`: the program `modelarts-emulator`, which is part of this one.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
};

use snapbox::cmd::cargo_bin;
use tempfile::TempDir;

use crate::support::isolated;

/// Starts the emulator, and waits until it is ready. Returns the line that it prints then.
fn serve(directory: &TempDir) -> (Child, String) {
    let mut child = Command::new(cargo_bin!("modelarts"))
        .args(["emulator", "serve", "--token", "dev"])
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (child, line)
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn it_serves_until_a_signal() {
    let directory = TempDir::new().unwrap();
    let (mut child, ready) = serve(&directory);
    let ready: serde_json::Value = serde_json::from_str(&ready).unwrap();
    assert!(ready["url"].as_str().unwrap().starts_with("http://127."));
    assert!(directory.path().join("modelarts-emulator-data").is_dir());
    send("-TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let (mut child, _) = serve(&directory);
    send("-KILL", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_closed_stderr_does_not_end_it() {
    let directory = TempDir::new().unwrap();
    let mut child = Command::new(cargo_bin!("modelarts"))
        .args(["emulator", "serve"])
        .current_dir(&directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    send("-TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn its_arguments_and_its_name_are_those_of_the_emulator() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &str| {
        let command = isolated(directory.path()).args(arguments.split_whitespace());
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let version = format!("modelarts-emulator {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run("emulator --version"), (Some(0), version));
    let (code, text) = run("emulator serve --tokn dev");
    assert_eq!(code, Some(2));
    assert!(text.contains("a similar argument exists: '--token'"), "{text}");
    assert!(text.contains("Usage: modelarts-emulator serve"), "{text}");
    let (code, text) = run("emulator serve --seed none.json");
    assert_eq!(code, Some(1));
    assert!(text.starts_with("modelarts-emulator: cannot use none.json"), "{text}");
    // Other arguments named so are values.
    assert_eq!(run("ls emulator").0, Some(2));
}

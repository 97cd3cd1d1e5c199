//! `--end-with-stdin`: the program ends with the program that started it.

use std::{path::Path, process::Stdio};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::support::http;

/// Starts the program with a pipe as stdin, and waits until it is ready. Returns its address.
async fn start(place: &Path, flags: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"))
        .arg("serve")
        .args(flags)
        .current_dir(place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).await.unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    (child, ready["url"].as_str().unwrap().to_owned())
}

async fn is_healthy(url: &str) -> bool {
    let response = http().get(format!("{url}/_emulator/health")).send().await;
    response.is_ok_and(|response| response.status() == 200)
}

#[tokio::test]
async fn the_end_of_stdin_ends_the_program() {
    let place = tempfile::tempdir().unwrap();
    let (mut child, url) = start(place.path(), &["--end-with-stdin"]).await;
    assert!(is_healthy(&url).await);
    drop(child.stdin.take());
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    assert!(!is_healthy(&url).await);
}

#[tokio::test]
async fn a_signal_ends_the_program_while_stdin_is_open() {
    let place = tempfile::tempdir().unwrap();
    let (mut child, _) = start(place.path(), &["--end-with-stdin"]).await;
    let stdin = child.stdin.take();
    let id = child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &id]).status().await;
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    drop(stdin);
}

#[tokio::test]
async fn without_the_flag_stdin_may_be_closed() {
    let place = tempfile::tempdir().unwrap();
    let (mut child, url) = start(place.path(), &[]).await;
    drop(child.stdin.take());
    assert!(is_healthy(&url).await);
    assert_eq!(child.try_wait().unwrap(), None);
}

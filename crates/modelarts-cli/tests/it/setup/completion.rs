//! `modelarts completion`: each shell reads its script, and completes a flag with it.

use std::{env, fs, io, path::PathBuf, process::Command};

use tempfile::TempDir;

use crate::support::{isolated, report_skipped};

/// Runs a shell in a pseudo-terminal: types its preparation, then the start of a flag, Tab and
/// Enter. The program that the shell would complete is a function, which prints its arguments.
const TYPIST: &str = r#"
import os, pty, select, sys, time

preparation, shell = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(shell[0], shell)
seen = b""

def type_until(text, expected):
    global seen
    os.write(terminal, text.encode())
    end = time.monotonic() + 60
    while expected not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        part = os.read(terminal, 65536) if ready else b""
        if not part:
            sys.exit(f"{expected} is missing in {seen}")
        seen += part

# The echo of what is typed does not have the sums.
type_until(preparation + "; echo READY$((20+22))\r", b"READY42")
type_until("modelarts ls --ph\t\r", b"RESULT43=")
type_until("", b"=END\r")
print(seen.split(b"RESULT43=")[1].split(b"=END")[0].decode())
"#;

fn script(directory: &TempDir, shell: &str) -> PathBuf {
    let output = isolated(directory.path()).args(["completion", shell]);
    let output = output.assert().code(0).stderr_eq("");
    let path = directory.path().join(format!("modelarts.{shell}"));
    fs::write(&path, &output.get_output().stdout).unwrap();
    path
}

/// Returns `true` if a shell is installed. It must be in CI.
fn is_installed(shell: &str) -> bool {
    match Command::new(shell).arg("--version").output() {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound && env::var_os("CI").is_none() => {
            report_skipped(&format!("the script for {shell}: {shell} is not installed"));
            false
        }
        Err(error) => panic!("{shell} must be installed in CI: {error}"),
    }
}

/// Runs a program with the path of the script of a shell in `SCRIPT`. Returns stdout.
fn run(shell: &str, program: &str, arguments: &[&str]) -> String {
    let directory = TempDir::new().unwrap();
    let output = Command::new(program)
        .args(arguments)
        .env("SCRIPT", script(&directory, shell))
        .env("HOME", directory.path())
        .env("TERM", "dumb")
        .current_dir(directory.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bash_completes_a_flag() {
    let preparation = r#"source "$SCRIPT"; modelarts() { echo "RESULT$((20+23))=$*=END"; }"#;
    let arguments = ["-c", TYPIST, preparation, "bash", "--norc", "-i"];
    if is_installed("bash") {
        assert_eq!(run("bash", "python3", &arguments), "ls --phase\n");
    }
}

#[test]
fn zsh_completes_a_flag() {
    let preparation = concat!(
        "autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' insert-tab false; ",
        r#"source "$SCRIPT"; modelarts() { print -r -- "RESULT$((20+23))=$*=END" }"#
    );
    let arguments = ["-c", TYPIST, preparation, "zsh", "-f", "-i"];
    if is_installed("zsh") {
        let output = run("zsh", "python3", &arguments);
        // The shell may keep the sign before the value, which its script completes, too.
        assert_eq!(output.replace("--phase=", "--phase"), "ls --phase\n");
    }
}

#[test]
fn fish_completes_a_flag() {
    let program = "source $SCRIPT; complete --do-complete 'modelarts ls --ph'";
    if is_installed("fish") {
        assert_eq!(
            run("fish", "fish", &["--no-config", "-c", program]),
            "--phase\tOnly jobs in these phases: Running,Pending\n"
        );
    }
}

#[test]
fn other_shells_have_scripts() {
    let directory = TempDir::new().unwrap();
    let powershell = fs::read_to_string(script(&directory, "powershell")).unwrap();
    assert!(powershell.starts_with("\nusing namespace System.Management.Automation"));
    assert!(powershell.contains("'--phase'"));
    let elvish = fs::read_to_string(script(&directory, "elvish")).unwrap();
    assert!(elvish.contains("cand --phase "));
    let output = isolated(directory.path()).args(["completion", "tcsh"]);
    let output = output.assert().code(2);
    let message = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(
        message.contains("[possible values: bash, elvish, fish, powershell, zsh]"),
        "{message}"
    );
}

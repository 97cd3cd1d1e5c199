//! `modelarts completion`: each shell reads its script, and completes flags and values with it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::json;
use snapbox::cmd::cargo_bin;
use tempfile::TempDir;

use crate::support::{Fixture, assert, isolated, report_skipped};

/// Runs a shell in a pseudo-terminal: types its preparation, then each line with Tab and Enter. The
/// program that the shell would complete is a function, which prints its arguments.
const TYPIST: &str = r#"
import os, pty, select, sys, time

preparation, lines, shell = sys.argv[1], sys.argv[2].split(";"), sys.argv[3:]
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
for line in lines:
    seen = b""
    type_until(line + "\t\r", b"=END\r")
    print(seen.split(b"RESULT43=")[1].split(b"=END")[0].decode())
"#;
/// Lines that are completed, and their arguments then.
const LINES: [(&str, &str); 8] = [
    ("modelarts ls --ph", "ls --phase"),
    ("modelarts help doc", "help doctor"),
    ("modelarts logs le", "logs leaves-a2b3"),
    ("modelarts submit --flavor modelarts.vm.cpu.2", "submit --flavor modelarts.vm.cpu.2u"),
    ("modelarts submit --engine PyTorch:p", "submit --engine PyTorch:pytorch_1.8.0-cuda_10.2"),
    ("modelarts logs --context de", "logs --context dev"),
    ("modelarts submit my", "submit my script.py"),
    ("modelarts submit --file=my", "submit --file=my script.py"),
];

/// Writes the file of a script, a context, cached values and a file with a blank in its name.
fn prepare(directory: &Path) {
    fs::write(directory.join("config.toml"), "current = \"dev\"\n[context.dev]\n").unwrap();
    fs::write(directory.join("my script.py"), "").unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let entry = |value: &str| json!([{"value": value, "text": "Running", "time": 1}]);
    let lists = json!({
        "JOB": entry("leaves-a2b3"),
        "FLAVOR": entry("modelarts.vm.cpu.2u"),
        "ENGINE": entry("PyTorch:pytorch_1.8.0-cuda_10.2"),
    });
    // New values are not read again.
    let caches = json!({"context dev": {"refreshed": now, "lists": lists}});
    fs::create_dir(directory.join("state")).unwrap();
    fs::write(directory.join("state/completion.json"), caches.to_string()).unwrap();
}

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
    prepare(directory.path());
    let bin = cargo_bin!("modelarts").parent().unwrap();
    let path = env::var("PATH").unwrap_or_default();
    let output = Command::new(program)
        .args(arguments)
        .env("SCRIPT", script(&directory, shell))
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", directory.path())
        .env("MODELARTS_CONFIG", directory.path().join("config.toml"))
        .env("MODELARTS_STATE_DIR", directory.path().join("state"))
        .env("TERM", "dumb")
        .current_dir(directory.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Types the lines in a shell. Returns the arguments of the program, which is a function.
fn typed(shell: &str, preparation: &str, arguments: &[&str]) -> Vec<String> {
    let preparation = format!(
        "{preparation}; modelarts() {{ if [ -n \"$MODELARTS_COMPLETE\" ]; then command modelarts \
         \"$@\"; else echo \"RESULT$((20+23))=$*=END\"; fi; }}"
    );
    let lines = LINES.map(|(line, _)| line).join(";");
    let arguments = [&["-c", TYPIST, &preparation, &lines, shell], arguments].concat();
    run(shell, "python3", &arguments).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_flags_and_values() {
    if is_installed("bash") {
        let results = typed("bash", "source \"$SCRIPT\"", &["--norc", "-i"]);
        assert_eq!(results, LINES.map(|(_, result)| result));
    }
}

#[test]
fn zsh_completes_flags_and_values() {
    let preparation = "autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' insert-tab \
                       false; source \"$SCRIPT\"";
    if is_installed("zsh") {
        let results = typed("zsh", preparation, &["-f", "-i"]);
        assert_eq!(results, LINES.map(|(_, result)| result));
    }
}

#[test]
fn zsh_answers_the_first_tab_of_a_file_in_fpath() {
    let preparation = "mkdir f; cp \"$SCRIPT\" f/_modelarts; fpath=($PWD/f $fpath); autoload -Uz \
                       compinit; compinit -u -D";
    if is_installed("zsh") {
        let results = typed("zsh", preparation, &["-f", "-i"]);
        assert_eq!(results[1], LINES[1].1);
    }
}

#[test]
fn fish_completes_flags_and_values() {
    if is_installed("fish") {
        let empty = ("modelarts logs ", "leaves-a2b3");
        for (line, expected) in LINES.into_iter().chain([empty]) {
            let program = format!("source $SCRIPT; complete --do-complete '{line}'");
            let output = run("fish", "fish", &["--no-config", "-c", &program]);
            let first = output.lines().next().unwrap_or_default();
            let value = first.split('\t').next().unwrap();
            assert!(expected.ends_with(value) && !value.is_empty(), "{line}: {output}");
        }
    }
}

/// Asks the program as the script of a shell does. Returns the values.
async fn answer(fixture: &Fixture, line: &str) -> Vec<String> {
    let command = fixture.command("--").args(line.split(' ')).env("MODELARTS_COMPLETE", "bash");
    let output = assert(command).await.code(0).stderr_eq("");
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_leave_values_for_completion() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "leaves"}, {"name": "bert"}])).await;
    let refreshed = fixture.run("completion --refresh").await;
    refreshed.code(0).stdout_eq("").stderr_eq("");
    let received = fixture.received();
    assert_eq!(answer(&fixture, "modelarts logs ").await, ["bert", "leaves"]);
    let flavors = answer(&fixture, "modelarts submit --flavor modelarts.vm.cpu").await;
    assert_eq!(flavors, ["modelarts.vm.cpu.2u", "modelarts.vm.cpu.8u"]);
    let engines = answer(&fixture, "modelarts submit --engine PyTorch:py").await;
    assert_eq!(engines, ["PyTorch:pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"]);
    fixture.seed(json!([{"name": "new"}])).await;
    fixture.run("ls --name new").await.code(0);
    let mut jobs = answer(&fixture, "modelarts logs ").await;
    jobs.sort_unstable();
    assert_eq!(jobs, ["bert", "leaves", "new"]);
    // The process in the background is not due.
    let lists: u64 =
        ["ListTrainingJobs", "ShowTrainingJobFlavors"].iter().map(|name| received[name]).sum();
    let now = fixture.received();
    let lists_now: u64 =
        ["ListTrainingJobs", "ShowTrainingJobFlavors"].iter().map(|name| now[name]).sum();
    // The second page of `ls`, without a row, is the end of the list.
    assert_eq!(lists_now, lists + 2);
}

#[test]
fn an_answer_has_no_errors() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("config.toml"), "no toml").unwrap();
    fs::create_dir(directory.path().join("state")).unwrap();
    fs::write(directory.path().join("state/completion.json"), "{").unwrap();
    for line in ["", "modelarts", "modelarts logs x", "modelarts --context x logs y", "a b c"] {
        let command = isolated(directory.path()).env("MODELARTS_COMPLETE", "bash").arg("--");
        let command = command.args(line.split(' '));
        command.assert().code(0).stderr_eq("");
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

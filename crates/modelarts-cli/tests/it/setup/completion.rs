//! `modelarts completion`: each shell reads its script, and completes a flag with it.

use std::{env, fs, path::PathBuf, process::Command};

use snapbox::cmd::cargo_bin;
use tempfile::TempDir;

use crate::support::isolated;

/// Writes the script of a shell. Returns its path.
fn script(directory: &TempDir, shell: &str) -> PathBuf {
    let output = isolated(directory.path()).args(["completion", shell]);
    let output = output.assert().code(0).stderr_eq("");
    let path = directory.path().join(format!("modelarts.{shell}"));
    fs::write(&path, &output.get_output().stdout).unwrap();
    path
}

/// Runs a program of a shell with the path of its script in `SCRIPT`. Returns stdout; `None` if the
/// shell is not installed, which is an error in CI.
fn run(directory: &TempDir, shell: &str, arguments: &[&str]) -> Option<String> {
    let programs = PathBuf::from(cargo_bin!("modelarts"));
    let mut path = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
    path.insert(0, programs.parent().unwrap().to_owned());
    let output = Command::new(shell)
        .args(arguments)
        .env("SCRIPT", script(directory, shell))
        .env("HOME", directory.path())
        .env("PATH", env::join_paths(path).unwrap())
        .env("TERM", "dumb")
        .output();
    match output {
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{shell}: {stderr}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) if env::var_os("CI").is_none() => {
            eprintln!("{shell} is not installed, so its script is not tested: {error}");
            None
        }
        Err(error) => panic!("{shell} must be installed in CI: {error}"),
    }
}

#[test]
fn bash_completes_a_flag() {
    let directory = TempDir::new().unwrap();
    let program = r#"
        source "$SCRIPT"
        COMP_WORDS=(modelarts ls --ph) COMP_CWORD=2 COMP_LINE='modelarts ls --ph' COMP_POINT=17
        declaration=$(complete -p modelarts) || exit
        function=${declaration#*-F }
        "${function%% *}" modelarts --ph ls
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = run(&directory, "bash", &["--norc", "-c", program]);
    assert_eq!(output.unwrap(), "--phase\n");
}

#[test]
fn fish_completes_a_flag() {
    let directory = TempDir::new().unwrap();
    let program = "source $SCRIPT; complete --do-complete 'modelarts ls --ph'";
    let Some(output) = run(&directory, "fish", &["--no-config", "-c", program]) else {
        return;
    };
    assert_eq!(
        output,
        "--phase\tOnly jobs in these phases: Running,Pending\n"
    );
}

#[test]
fn zsh_completes_a_flag() {
    let directory = TempDir::new().unwrap();
    // Completion of zsh works only at an interactive prompt, which runs in a pseudo-terminal.
    let program = r#"
        zmodload zsh/zpty || exit 1
        zpty shell 'PS1="> " zsh -f -i'
        zpty -w shell 'autoload -Uz compinit && compinit -u -D && source $SCRIPT; print READY$((1+1))'
        zpty -r -m shell text '*READY2*' || exit 2
        zpty -w -n shell $'print -r -- modelarts\C-a\C-k'
        zpty -w -n shell $'modelarts ls --ph\t'
        zpty -r -m shell text '*--phase*' || exit 3
        print completed
        zpty -d shell
    "#;
    let Some(output) = run(&directory, "zsh", &["-f", "-c", program]) else {
        return;
    };
    assert_eq!(output, "completed\n");
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

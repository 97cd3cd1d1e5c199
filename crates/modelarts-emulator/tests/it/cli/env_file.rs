//! `--env-file`: the settings of a client, for a shell.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use tokio::process::Command;

use crate::{cli::kills, support::program::Program};

/// Returns the values that a shell has after it has read the file.
async fn sourced(file: &Path) -> Vec<String> {
    let names = [
        "MODELARTS_ENDPOINT",
        "MODELARTS_CLOUD",
        "HUAWEICLOUD_SDK_IAM_ENDPOINT",
        "HUAWEICLOUD_SDK_PROJECT_ID",
        "HUAWEICLOUD_SDK_AK",
        "HUAWEICLOUD_SDK_SK",
        "HUAWEICLOUD_SDK_SECURITY_TOKEN",
    ];
    let mut shell = Command::new("sh");
    // A token of an earlier login must not reach the emulator.
    shell.env("HUAWEICLOUD_SDK_SECURITY_TOKEN", "of the cloud");
    let print = names.map(|name| format!("printenv {name} || echo unset"));
    let script = format!(". {}; {}", file.display(), print.join("; "));
    let output = shell.args(["-c", &script]).output().await.unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    output.lines().map(str::to_owned).collect()
}

fn settings(program: &Program) -> Vec<String> {
    let client = &program.client;
    let (url, project) = (&client.url, &client.project_id);
    let (access, secret) = (&client.access_key, &client.secret_key);
    [url, "otc", url, project, access, secret, ""].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn a_shell_reads_the_settings_of_a_client() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("emulator.env");
    // An existing file is replaced, with its mode.
    fs::write(&file, "export OLD=1\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let path = file.to_str().unwrap();
    let quotes = "it's \"$HOME\" `id`";
    let flags = ["--env-file", path, "--cloud", "otc", "--secret-key", quotes];
    let mut first = kills::start(place.path(), &flags).await;
    assert_eq!(first.client.secret_key, quotes);
    assert_eq!(sourced(&file).await, settings(&first));
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let lines = fs::read_to_string(&file).unwrap();
    assert!(
        lines.lines().all(|line| line.starts_with("export ")) && !lines.contains("OLD"),
        "{lines}"
    );
    // Waits for the end, which frees the data directory.
    first.child.kill().await.unwrap();
    // The file is kept; the next start has another port and the same project.
    let second = kills::start(place.path(), &flags).await;
    assert_eq!(sourced(&file).await, settings(&second));
}

#[tokio::test]
async fn an_unusable_file_ends_the_program_before_the_start() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().to_str().unwrap().to_owned();
    let missing = format!("{directory}/none/emulator.env");
    for (path, reason) in [
        (directory.as_str(), "it must name a file, and is a directory or a device"),
        ("/dev/null", "it must name a file, and is a directory or a device"),
        (&missing, "its directory must exist"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"))
            .args(["serve", "--env-file", path])
            .current_dir(place.path())
            .output()
            .await
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(output.stdout, b"");
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            format!(
                "modelarts-emulator: cannot write the variables of --env-file to {path}: {reason}\n"
            )
        );
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}

//! Processes that have left the process group of their job end with the job. All processes of a job
//! end with the program that embeds the emulator.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use modelarts_emulator::{jobs::RunnerKind, script::Script};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

#[cfg(all(feature = "cli", target_os = "linux"))]
use crate::support::program::{cpu_job, serve_with};
use crate::support::slow_package;
use crate::support::{Gate, Site, Waiting};

/// Returns a Python script that starts a daemon and then waits at the gate `home`. The daemon runs
/// in its own session with an empty environment, and waits at the gate `away`.
fn script(home: &Gate, away: &Gate) -> String {
    let daemon = format!("{}gate()\n", away.python());
    format!(
        r#"{}
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        os.execve(sys.executable, [sys.executable, '-c', {daemon:?}], {{}})
    os._exit(0)
os.wait()
gate()
"#,
        home.python(),
    )
}

/// Starts a job whose two processes wait at their gates. Returns its ID, the leader and the daemon.
async fn started(site: &Site, name: &str) -> (String, Waiting, Waiting) {
    let (home, away) = (Gate::new().await, Gate::new().await);
    let job = site.script(name, &script(&home, &away));
    let id = site.create(&job).await;
    let (leader, daemon) = (home.reached().await, away.reached().await);
    (id, leader, daemon)
}

/// Waits until the process has ended, and fails after 20 s.
async fn gone(process: Waiting) {
    let gone = tokio::time::timeout(Duration::from_secs(20), process.wait_until_gone());
    gone.await.expect("a process of the job lives on");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_escaped_process_ends_with_its_job() {
    let site = Site::start().await;
    let (id, leader, daemon) = started(&site, "completed").await;
    leader.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Completed");
    gone(daemon).await;

    let (id, leader, daemon) = started(&site, "stopped").await;
    assert_eq!(site.terminate(&id).await.status, 202);
    gone(leader).await;
    gone(daemon).await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Terminated");

    end_with_deletion_and_reset(&site, async |name| started(&site, name).await).await;
}

/// Verifies that the processes of a started job end when the job is deleted, and when the emulator
/// is reset.
#[cfg(target_os = "linux")]
async fn end_with_deletion_and_reset(
    site: &Site,
    started: impl AsyncFn(&str) -> (String, Waiting, Waiting),
) {
    let (id, leader, daemon) = started("deleted").await;
    let path = format!("/training-jobs/{id}");
    assert_eq!(site.delete(&path).await.status, 202);
    gone(leader).await;
    gone(daemon).await;
    site.emulator.wait_until_gone(&id).await;
    assert!(!site.worker(&id).exists());

    let (_, leader, daemon) = started("reset").await;
    let url = format!("{}/_emulator/reset", site.client.url);
    let reset = site.client.http.post(url).send().await.unwrap();
    assert_eq!(reset.status(), 204);
    gone(leader).await;
    gone(daemon).await;
}

/// The build programs of packages may start daemons, as may the code of a job.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_escaped_process_of_an_installation_ends_with_it() {
    let site = Site::start().await;
    let started = async |name: &str| {
        let (home, away) = (Gate::new().await, Gate::new().await);
        let job = site.script(name, "print('on we go')");
        let code = site.emulator.obs_root().join(format!("bucket/{name}/code"));
        std::fs::write(code.join("requirements.txt"), "./package\n").unwrap();
        slow_package(&code.join("package"), &script(&home, &away));
        let id = site.create(&job).await;
        let (leader, daemon) = (home.reached().await, away.reached().await);
        (id, leader, daemon)
    };
    let (id, leader, daemon) = started("stopped").await;
    assert_eq!(site.terminate(&id).await.status, 202);
    gone(leader).await;
    gone(daemon).await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Terminated");
    assert_eq!(site.log(&id).await, "");

    end_with_deletion_and_reset(&site, started).await;
}

/// The end of a job does not affect the processes of another running job.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_escaped_process_of_another_job_keeps_running() {
    let site = Site::start().await;
    let (other, other_leader, other_daemon) = started(&site, "other").await;
    let (id, leader, daemon) = started(&site, "ends").await;
    leader.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    gone(daemon).await;
    // The daemon of the other job still responds to its gate, and ends by itself.
    other_daemon.let_through().await;
    other_leader.let_through().await;
    site.emulator.wait_until_settled(&other).await;
    assert_eq!(site.phase(&other).await, "Completed");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn escaped_processes_end_with_the_emulator() {
    for orderly in [true, false] {
        let site = Site::start().await;
        let (_, leader, daemon) = started(&site, "embedded").await;
        if orderly {
            site.emulator.shutdown().await;
        } else {
            drop(site.emulator);
        }
        gone(leader).await;
        gone(daemon).await;
    }
}

#[cfg(all(feature = "cli", target_os = "linux"))]
#[tokio::test]
async fn escaped_processes_end_with_the_program() {
    for signal in ["TERM", "KILL"] {
        let place = tempfile::tempdir().unwrap();
        let mut program = serve_with(place.path(), &["--container", "none"]).await;
        let (home, away) = (Gate::new().await, Gate::new().await);
        let code: PathBuf = place.path().join("obs/bucket/code");
        std::fs::create_dir_all(&code).unwrap();
        std::fs::write(code.join("train.py"), script(&home, &away)).unwrap();
        program.create(&cpu_job("away")).await;
        let (leader, daemon) = (home.reached().await, away.reached().await);
        kill(signal, &program.child.id().unwrap().to_string()).await;
        program.child.wait().await.unwrap();
        gone(leader).await;
        gone(daemon).await;
    }
}

async fn kill(signal: &str, whom: &str) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", signal, "--", whom]).status().await;
    assert!(sent.unwrap().success());
}

/// Environment variable that specifies how the embedding program ends: by a signal for which it
/// waits, or by its own exit.
const END: &str = "TEST_OF_AN_EMBEDDING_PROGRAM";
/// Environment variable that contains the code of the job. If it is empty, jobs are simulated, and
/// the program creates none.
const SCRIPT: &str = "TEST_OF_AN_EMBEDDING_PROGRAM_SCRIPT";
/// Environment variable that moves the code into a package that the job installs.
const PACKAGE: &str = "TEST_OF_AN_EMBEDDING_PROGRAM_PACKAGE";

/// Program that embeds the emulator. The tests below start this test program again and run only
/// this test; otherwise the test does nothing.
#[tokio::test]
async fn embedding_program() {
    let Ok(end) = std::env::var(END) else { return };
    let script = std::env::var(SCRIPT).unwrap();
    let site = Site::with(|builder| match script.as_str() {
        "" => builder.runner(RunnerKind::Simulated(Script::default())),
        _ => builder,
    })
    .await;
    if std::env::var_os(PACKAGE).is_some() {
        let job = site.script("embedded", "");
        let code = site.emulator.obs_root().join("bucket/embedded/code");
        std::fs::write(code.join("requirements.txt"), "./package\n").unwrap();
        slow_package(&code.join("package"), &script);
        site.create(&job).await;
    } else if !script.is_empty() {
        site.create(&site.script("embedded", &script)).await;
    }
    println!("temporary {}", site.emulator.data_dir().display());
    // Waits until the test that started the program closes stdin.
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()))
        .await
        .unwrap()
        .unwrap();
    match end.as_str() {
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        _ => std::future::pending().await,
    }
}

/// Starts the embedding program in its own process group, as a terminal does. Returns the program
/// and its temporary directory.
async fn embedding(end: &str, script: &str, in_package: bool) -> (Child, PathBuf) {
    let mut program = Command::new(std::env::current_exe().unwrap())
        .envs(in_package.then_some((PACKAGE, "1")))
        .args(["--exact", "runner::escaped_processes::embedding_program", "--nocapture"])
        .env(END, end)
        .env(SCRIPT, script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let data = loop {
        let line = lines.next_line().await.unwrap().expect("it is ready");
        if let Some((_, data)) = line.split_once("temporary ") {
            break PathBuf::from(data);
        }
    };
    (program, data.parent().unwrap().to_owned())
}

/// However the program ends, all processes of its jobs end and its temporary directory is removed.
#[tokio::test]
async fn all_of_a_job_ends_with_the_program_that_embeds_the_emulator() {
    for (end, in_package) in
        [("exit", false), ("abort", false), ("INT", false), ("KILL", false), ("KILL", true)]
    {
        let (home, away) = (Gate::new().await, Gate::new().await);
        let script = script(&home, &away);
        let (mut program, temporary) = embedding(end, &script, in_package).await;
        let (leader, daemon) = (home.reached().await, away.reached().await);
        assert!(temporary.is_dir());
        if ["INT", "KILL"].contains(&end) {
            // The signal is sent to the whole group, like that of Ctrl-C.
            kill(end, &format!("-{}", program.id().unwrap())).await;
        } else {
            drop(program.stdin.take());
        }
        let status = program.wait().await.unwrap();
        assert!(!status.success(), "{end}: {status}");
        gone(leader).await;
        if cfg!(target_os = "linux") {
            gone(daemon).await;
        }
        removed(&temporary).await;
    }
}

/// The temporary directory is removed even if no job has run.
#[tokio::test]
async fn the_temporary_directory_ends_with_the_program_that_embeds_the_emulator() {
    for end in ["exit", "KILL"] {
        let (mut program, temporary) = embedding(end, "", false).await;
        assert!(temporary.is_dir());
        match end {
            "KILL" => kill(end, &format!("-{}", program.id().unwrap())).await,
            _ => drop(program.stdin.take()),
        }
        assert!(!program.wait().await.unwrap().success(), "{end}");
        removed(&temporary).await;
    }
}

async fn removed(directory: &Path) {
    let removed = async {
        while directory.exists() {
            tokio::task::yield_now().await;
        }
    };
    let removed = tokio::time::timeout(Duration::from_secs(20), removed);
    removed.await.expect("the temporary directory is left");
}

//! `--on-stop`: jobs of a program that ends on SIGTERM.

use std::path::Path;

use tokio::process::Command;

use crate::{
    cli::kills,
    support::{
        Gate,
        program::{Program, cpu_job},
    },
};

/// Starts a job that waits at the gate, ends the program with SIGTERM while it waits, and starts
/// the program again. Returns the new program and the id of the job.
async fn restart(place: &Path, gate: &Gate, flags: &[&str]) -> (Program, String) {
    let mut first = kills::start(place, flags).await;
    let code = place.join("obs/bucket/code");
    std::fs::create_dir_all(&code).unwrap();
    let script = gate.python() + "print('begin')\ngate()\nprint('end')\n";
    std::fs::write(code.join("train.py"), script).unwrap();
    let id = first.create(&cpu_job("runs")).await;
    let waiting = gate.reached().await;
    let own = first.child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &own]).status().await;
    assert!(kill.unwrap().success());
    assert!(first.child.wait().await.unwrap().success());
    waiting.wait_until_gone().await;
    (kills::start(place, flags).await, id)
}

async fn phase(program: &Program, id: &str) -> String {
    let details = program.client.get(&format!("/training-jobs/{id}")).await;
    let phase = details.json()["status"]["phase"].take();
    phase.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_next_start_continues_the_jobs_that_were_left() {
    let place = tempfile::tempdir().unwrap();
    let gate = Gate::new().await;
    let (program, id) =
        restart(place.path(), &gate, &["--on-stop", "leave", "--container", "none"]).await;
    gate.reached().await.let_through().await;
    // The API has no operation that waits, so that the test polls the job until it has ended.
    let ended = loop {
        let phase = phase(&program, &id).await;
        if !["Pending", "Running"].contains(&phase.as_str()) {
            break phase;
        }
    };
    assert_eq!(ended, "Completed");
    let log = format!("/training-jobs/{id}/tasks/worker-0/logs/preview");
    let log = program.client.get(&log).await.json();
    assert_eq!(log["content"], "begin\nbegin\nend\n");
}

#[tokio::test]
async fn jobs_are_stopped_by_default() {
    for flags in [&[][..], &["--on-stop", "stop"]] {
        let place = tempfile::tempdir().unwrap();
        let gate = Gate::new().await;
        let (program, id) = restart(place.path(), &gate, flags).await;
        assert_eq!(phase(&program, &id).await, "Terminated");
    }
}

//! Following of a job.

use modelarts_emulator::faults::{Fault, FaultRule};
use tokio::sync::mpsc::{Receiver, channel};

use super::fixtures::{ENDLESS, FLAVOR, Site, stdout};
use crate::support;

/// Waits for three messages: takes the service down at the first, restores it at the second, and
/// stops the job `long` at the third.
async fn interrupt_service(site: &Site, mut steps: Receiver<()>) {
    let faults = site.fixture.emulator.faults();
    steps.recv().await.unwrap();
    faults.add(FaultRule::always("*", Fault::status(503))).unwrap();
    steps.recv().await.unwrap();
    faults.clear();
    steps.recv().await.unwrap();
    let jobs = site.client().training_jobs();
    let job = jobs.get_by_name("long").await.unwrap();
    job.terminate().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_goes_down_and_comes_back_is_reported_and_nothing_is_lost() {
    let site = Site::start().await;
    site.script(ENDLESS);
    let running =
        site.spawn(&format!("submit code/train.py --flavor {FLAVOR} --name long -o ndjson"));
    let (sender, steps) = channel(1);
    let task = tokio::task::spawn_blocking(move || {
        running.item(|item| item["line"] == "ready");
        sender.blocking_send(()).unwrap();
        let lost = running.item(|item| item["type"] == "interrupted");
        sender.blocking_send(()).unwrap();
        running.item(|item| item["type"] == "resumed");
        sender.blocking_send(()).unwrap();
        (lost, running.end())
    });
    interrupt_service(&site, steps).await;
    let (lost, (code, stdout, _)) = task.await.unwrap();
    assert!(lost["error"].as_str().unwrap().contains("503"), "{lost}");
    assert_eq!(code, Some(12));
    let stopped = stdout.iter().any(|line| line.contains("\"kind\":\"stopped_by_user\""));
    assert!(stopped, "{stdout:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interruption_is_one_line_on_stderr_in_text() {
    let site = Site::start().await;
    site.script(ENDLESS);
    let running = site.spawn(&format!("submit code/train.py --flavor {FLAVOR} --name long"));
    let (sender, steps) = channel(1);
    let task = tokio::task::spawn_blocking(move || {
        running.message("Submitted");
        sender.blocking_send(()).unwrap();
        let lost = running.message("connection lost");
        sender.blocking_send(()).unwrap();
        let restored = running.message("connection restored");
        sender.blocking_send(()).unwrap();
        (lost, restored, running.end().0)
    });
    interrupt_service(&site, steps).await;
    let (lost, restored, code) = task.await.unwrap();
    assert!(lost.starts_with("connection lost, trying again for 15 minutes: "), "{lost}");
    assert_eq!(restored, "connection restored");
    assert_eq!(code, Some(12));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_log_is_complete_and_in_order() {
    let site = Site::start().await;
    site.script("for n in range(20000): print('line', n)\n");
    let command = support::isolated(site.fixture.path());
    let output = support::assert(command.args(["run", "--local", "code/train.py"])).await.code(0);
    let text = stdout(&output);
    let lines = text.lines().filter_map(|line| line.split_once("worker-0 │ line "));
    let numbers: Vec<usize> = lines.map(|(_, number)| number.parse().unwrap()).collect();
    assert_eq!(numbers, (0..20_000).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_ends_before_the_job_has_an_exit_code_of_its_own() {
    let site = Site::start().await;
    site.script("for n in range(20000): print('line', n)\n");
    let program = snapbox::cmd::cargo_bin!("modelarts").display().to_string();
    let shell = format!(
        "{{ {program} run --local code/train.py 2>err; echo $? >code.txt; }} | head -1; cat err >&2"
    );
    let mut command = snapbox::cmd::Command::new("sh").arg("-c").arg(shell);
    command = command
        .env("HOME", site.fixture.path())
        .env("MODELARTS_CONFIG", site.fixture.path().join("config.toml"))
        .current_dir(site.fixture.path());
    let output = support::assert(command).await.code(0);
    let text = super::fixtures::stderr(&output);
    assert!(!text.contains("error:") && !text.contains("panic"), "{text}");
    let code = std::fs::read_to_string(site.fixture.path().join("code.txt")).unwrap();
    assert_eq!(code, "141\n");
}

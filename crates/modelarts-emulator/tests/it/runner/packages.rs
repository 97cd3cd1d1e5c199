//! Packages from requirements files, which are installed in a virtual environment for the job.

use std::process::Command;

#[cfg(feature = "cli")]
use crate::support::program::{cpu_job, serve_in};
use crate::support::{Gate, Site, slow_package};

/// Writes a wheel with one module as a zip file. Its installation requires no network.
fn wheel(site: &Site, key: &str) {
    let script = r#"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("greeting.py", "WORD = 'hello from a wheel'\n")
    info = "greeting-1.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n")
    records = ["greeting.py", info + "METADATA", info + "WHEEL", info + "RECORD"]
    wheel.writestr(info + "RECORD", "".join(name + ",,\n" for name in records))
"#;
    let path = site.emulator.obs_root().join(key);
    let made = Command::new("python3").args(["-c", script]).arg(path).status();
    assert!(made.unwrap().success());
}

#[tokio::test]
async fn a_local_wheel_is_installed_for_boot_files() {
    let (site, _clock) = Site::standing_still().await;
    let job = site.script("wheel", "import greeting\nprint(greeting.WORD)");
    wheel(&site, "bucket/wheel/code/greeting-1.0-py3-none-any.whl");
    site.put("bucket/wheel/code/pip-requirements.txt", "./greeting-1.0-py3-none-any.whl\n");
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert!(log.contains("Successfully installed greeting-1.0"), "{log}");
    assert!(log.ends_with("\nhello from a wheel\n"), "{log}");
    let messages = site.messages(&id).await;
    let at = messages.iter().position(|m| m.contains("being installed"));
    assert_eq!(
        messages[at.unwrap()..][..2],
        [
            "[worker-0] Python dependency packages are being installed. Import the following \
             files: pip-requirements.txt",
            "[worker-0] [Duration: 0.000] Python dependency packages installed. Import the \
             following files: pip-requirements.txt",
        ]
    );
    assert_eq!(site.phase(&id).await, "Completed");
}

#[tokio::test]
async fn a_missing_package_is_an_event_and_the_job_continues() {
    let (site, _clock) = Site::standing_still().await;
    let job = site.script("missing", "print('on we go')");
    site.put("bucket/missing/code/requirements.txt", "./none.whl\n");
    let id = site.run(&job).await;
    let messages = site.messages(&id).await;
    let failed = messages
        .iter()
        .find(|message| message.contains("Failed to install Python dependency packages"))
        .unwrap();
    assert!(
        failed.contains("Import the following files: requirements.txt. Failure cause: ERROR:"),
        "{failed}"
    );
    let log = site.log(&id).await;
    assert!(log.starts_with("[ModelArts Service Log] requirements.txt: ERROR"), "{log}");
    assert!(log.ends_with("\non we go\n"), "{log}");
    assert_eq!(site.phase(&id).await, "Completed");
}

#[tokio::test]
async fn installing_can_be_switched_off() {
    let site = Site::with(|builder| builder.install_packages(false)).await;
    let job = site.script("off", "print('on we go')");
    site.put("bucket/off/code/requirements.txt", "numpy\n");
    let id = site.run(&job).await;
    assert_eq!(
        site.log(&id).await,
        "[ModelArts Service Log] requirements.txt: this emulator installs no packages\non we go\n"
    );
}

/// Packages are built by separate programs, which may run for a long time.
#[tokio::test]
async fn a_stop_ends_an_installation_with_all_its_programs() {
    let (site, _clock) = Site::standing_still().await;
    let gate = Gate::new().await;
    let job = site.script("slow", "print('never')");
    site.put("bucket/slow/code/requirements.txt", "./package\n");
    let package = site.emulator.obs_root().join("bucket/slow/code/package");
    slow_package(&package, &(gate.python() + "gate()\n"));
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    site.terminate(&id).await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Terminated");
    waiting.wait_until_gone().await;
}

/// Without `/proc`, the emulator cannot find the processes of an installation.
#[cfg(all(feature = "cli", target_os = "linux"))]
#[tokio::test]
async fn an_installation_that_a_dead_emulator_has_left_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let gate = Gate::new().await;
    let code = place.path().join("obs/bucket/code");
    slow_package(&code.join("package"), &(gate.python() + "gate()\n"));
    std::fs::write(code.join("train.py"), "").unwrap();
    std::fs::write(code.join("requirements.txt"), "./package\n").unwrap();
    let mut program = serve_in(place.path()).await;
    program.create(&cpu_job("slow")).await;
    let left = gate.reached().await;
    program.child.start_kill().unwrap();
    program.child.wait().await.unwrap();
    let _next = serve_in(place.path()).await;
    let gone =
        tokio::time::timeout(std::time::Duration::from_secs(20), left.wait_until_gone()).await;
    assert!(gone.is_ok(), "it builds on");
}

//! Emulator in this process, with a clock that runs in real time and can be advanced.
//!
//! The shortest time limit of a job is one hour. The program `modelarts-emulator` has no clock that a
//! test could advance while Slurm runs in real time, but the library accepts any clock.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use modelarts_emulator::{
    Emulator, Timing,
    clock::{Clock, Sleep},
    jobs::RunnerKind,
    slurm::Slurm,
};
use serde_json::json;
use tokio::sync::watch;

/// Clock of the system, plus the time by which it was advanced.
#[derive(Debug)]
struct AdvancingClock(watch::Sender<Duration>);

impl Clock for AdvancingClock {
    fn now(&self) -> SystemTime {
        SystemTime::now() + *self.0.borrow()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let mut offset = self.0.subscribe();
        let end = self.now() + duration;
        Box::pin(async move {
            loop {
                let now = SystemTime::now() + *offset.borrow_and_update();
                let Ok(rest) = end.duration_since(now) else {
                    return;
                };
                tokio::select! {
                    () = tokio::time::sleep(rest) => {}
                    // The clock outlives its emulator, so the channel is open.
                    _ = offset.changed() => {}
                }
                if rest.is_zero() {
                    return;
                }
            }
        })
    }

    fn leap(&self, duration: Duration) -> bool {
        self.0.send_modify(|offset| *offset += duration);
        true
    }
}

/// Starts an emulator on the cluster of the environment, and prints the line that the program
/// prints. `program` runs on the nodes.
pub async fn serve(directory: &Path, program: PathBuf, token: &str) -> Result<ExitCode> {
    let shared = directory.join("shared");
    let emulator = Emulator::builder()
        .data_dir(directory.join("data"))
        .obs_root(shared.join("obs"))
        .timing(Timing::instant())
        .token(token)
        .install_packages(false)
        .clock(Arc::new(AdvancingClock(watch::Sender::new(Duration::ZERO))))
        .runner(RunnerKind::Slurm(Slurm::new(shared).program(program)))
        .start()
        .await?;
    let ready = json!({ "url": emulator.url(), "project_id": emulator.project_id() });
    writeln!(io::stdout(), "{ready}")?;
    std::future::pending().await
}

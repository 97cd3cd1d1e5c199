//! Checks at the start of the emulator: commands of Slurm, the shared directory and the program.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use crate::cluster::{
    commands::{self, SubmitError},
    config::Config,
};

/// Time limit for the wait for a free node.
const NODE_LIMIT: Duration = Duration::from_secs(10);
/// Time between two looks at the file of the check.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// Name of the file in the shared directory that describes the last successful check.
const CHECKED: &str = ".checked";
/// Text that the job of a check writes.
const ANSWER: &str = "the program runs on a node\n";

/// Checks the commands and, if a node is free, the shared directory and the program on the node.
/// Only the commands are checked again if an earlier emulator has checked the same program.
pub(super) async fn check(shared: &Path, program: &Path, config: &Config) -> Result<(), String> {
    commands::read_queue().await?;
    for name in ["sbatch", "scancel", "scontrol"] {
        commands::run(name, &["--version"]).await?;
    }
    let cannot_write = |error: io::Error| format!("cannot write to {}: {error}", shared.display());
    let options = config.check_arguments();
    let checked = format!("{} {} {options:?}", env!("CARGO_PKG_VERSION"), program.display());
    if fs::read_to_string(shared.join(CHECKED)).is_ok_and(|earlier| earlier == checked) {
        return Ok(());
    }
    let place = tempfile::tempdir_in(shared).map_err(cannot_write)?;
    let [script, answer, output] = ["script", "answer", "output"].map(|it| place.path().join(it));
    let text = config.script(program, &["check", &answer.to_string_lossy()]);
    fs::write(&script, text).and_then(|()| fs::write(&answer, "")).map_err(cannot_write)?;
    fs::write(&output, "").map_err(cannot_write)?;
    let fixed = ["--nodes=1", "--ntasks=1", "--job-name=modelarts-check"].map(str::to_owned);
    let mut all = Vec::from(fixed);
    all.push(format!("--output={}", output.display()));
    all.extend(options);
    let id = commands::submit(&all, &script, &config.variables()).await;
    let id = id.map_err(|error| match error {
        SubmitError::Rejected(text) | SubmitError::Later(text) => {
            format!("a test job does not run in Slurm: {text}")
        }
    })?;
    let began = Instant::now();
    while began.elapsed() < NODE_LIMIT {
        if fs::read_to_string(&answer).is_ok_and(|text| text == ANSWER) {
            return fs::write(shared.join(CHECKED), checked).map_err(cannot_write);
        }
        let message = fs::read_to_string(&output).unwrap_or_default();
        if !message.is_empty() {
            let program = program.display();
            return Err(format!(
                "{program} does not run on the nodes: it must be at the same path there, such as \
                 on the shared file system; the test job wrote: {}",
                message.lines().last().unwrap_or_default()
            ));
        }
        sleep(LOOK_PERIOD).await;
    }
    let queue = commands::read_queue().await?;
    let job = queue.get("modelarts-check").into_iter().flatten().find(|job| job.id == id);
    let _ = commands::cancel(&[&id]).await;
    if job.is_some_and(commands::QueuedJob::is_waiting) {
        let limit = NODE_LIMIT.as_secs();
        tracing::warn!(
            "no node was free within {limit} s: the shared directory and the program are not \
             checked"
        );
        return Ok(());
    }
    Err(format!(
        "{} is not the same directory on the nodes: it must be on a file system that this machine \
         and all nodes mount at the same path",
        shared.display()
    ))
}

/// Writes the answer to a check. Called on a node.
pub(super) fn answer(file: &Path) -> Result<(), String> {
    // A file that does not exist is in another directory than that of the emulator.
    let mut options = fs::File::options();
    let opened = options.append(true).open(file);
    let written = opened.and_then(|mut file| io::Write::write_all(&mut file, ANSWER.as_bytes()));
    // The emulator reports that there is no answer.
    written.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(format!("cannot write to {}: {error}", file.display())),
    })
}

//! Jobs that are stopped, by a user or by their time limit.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use modelarts_ext::{Outcome, jobs::wait::TerminatedBy, types::Phase};

use crate::site::{Site, completed, end_of, equal, in_phase, until};

/// Writes a checkpoint when it is stopped.
const CHECKPOINT: &str = "
import signal
out = pathlib.Path(next(arg for arg in sys.argv if arg.startswith('--train_url=')).split('=')[1])
def stop(*_):
    time.sleep(1)
    (out / f'checkpoint-{task}').write_text('step 7')
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
note('started', task)
while True:
    time.sleep(1)
";

/// Ignores SIGTERM, and starts a process that does so, too.
const STUBBORN: &str = "
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(['sleep', '600'])
note('started', task)
while True:
    time.sleep(1)
";

const WAITS: &str = "
note('started', task)
wait_for('go')
";

/// Grace period of `--timing instant`.
const GRACE: Duration = Duration::from_secs(5);

/// Jobs that are terminated while they run and while they wait.
pub async fn terminate(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let saves = site.job(&client, "saves", CHECKPOINT)?.nodes(2);
    let saves = saves
        .output("train_url", "obs://bucket/saves/out/")
        .submit()
        .await?;
    site.wait_for_notes("started", 2).await?;
    let stubborn = site.job(&client, "stubborn", STUBBORN)?.submit().await?;
    site.wait_for_notes("started", 3).await?;
    let waiting = site.job(&client, "waiting", WAITS)?.submit().await?;
    in_phase(&waiting, Phase::Pending).await?;
    until("a job in the queue of Slurm", async || {
        Ok((!site.slurm_jobs(&waiting)?.is_empty()).then_some(()))
    })
    .await?;

    waiting.terminate().await?;
    by_user(end_of(&waiting).await?.outcome())?;
    saves.terminate().await?;
    by_user(end_of(&saves).await?.outcome())?;
    for task in ["worker-0", "worker-1"] {
        let checkpoint = site.object(&format!("bucket/saves/out/checkpoint-{task}"))?;
        equal("checkpoint", &checkpoint.as_str(), &"step 7")?;
    }
    let start = Instant::now();
    stubborn.terminate().await?;
    by_user(end_of(&stubborn).await?.outcome())?;
    let took = start.elapsed();
    ensure!(
        took >= GRACE && took < GRACE + Duration::from_secs(5),
        "the job that ignores SIGTERM ended after {took:?}"
    );
    ensure!(
        site.processes().is_empty(),
        "processes are left: {:?}",
        site.processes()
    );
    equal("starts", &site.notes("started").len(), &3)?;
    until("an empty queue", async || {
        Ok(site.cluster.queue()?.is_empty().then_some(()))
    })
    .await
}

/// A job reaches its time limit.
pub async fn auto_stop(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve_with_clock().await?;
    let client = emulator.client_with_token()?;
    let limit = Duration::from_secs(3600);
    let job = site.job(&client, "limited", CHECKPOINT)?.auto_stop(limit);
    let job = job
        .output("train_url", "obs://bucket/limited/out/")
        .submit()
        .await?;
    site.wait_for_notes("started", 1).await?;
    in_phase(&job, Phase::Running).await?;
    emulator.advance(3000).await?;
    equal("phase", &job.get().await?.phase(), &Phase::Running)?;
    emulator.advance(600).await?;
    let end = end_of(&job).await?;
    let expected = Outcome::Terminated {
        by: TerminatedBy::AutoStop { limit },
    };
    equal("outcome", end.outcome(), &expected)?;
    let checkpoint = site.object("bucket/limited/out/checkpoint-worker-0")?;
    equal("checkpoint", &checkpoint.as_str(), &"step 7")?;
    // The next job is not affected.
    site.write_note("go")?;
    let next = site
        .job(&client, "next", WAITS)?
        .auto_stop(limit)
        .submit()
        .await?;
    completed(&next).await?;
    site.expect_slurm_jobs(&next, &["COMPLETED"]).await
}

fn by_user(outcome: &Outcome) -> Result<()> {
    match outcome {
        Outcome::Terminated {
            by: TerminatedBy::User,
        } => Ok(()),
        other => bail!("the job {other}"),
    }
}

//! Following a job, its events and its logs: `cargo run --example following`.
//!
//! The example starts the emulator in this process. On the service, the same calls work with
//! `Client::from_env()`, and the default interval is recommended.

mod local;

use std::{error::Error, time::Duration};

use futures::TryStreamExt;
use modelarts_emulator::Emulator;
use modelarts_ext::{EventKind, LogItem, jobs::follow::JobUpdate};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (emulator, client) = local::start(Emulator::builder()).await?;
    emulator.put(
        "bucket/code/train.py",
        "import os, time\n\
         for epoch in range(3):\n    \
             print('epoch', epoch, 'on', os.environ['VC_TASK_INDEX'], flush=True)\n    \
             time.sleep(0.3)\n",
    )?;
    let job = client
        .training_jobs()
        .create("followed")
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .flavor("modelarts.vm.cpu.8u")
        .nodes(2)
        .submit()
        .await?;

    // The stream contains phases, events and the logs of all tasks until the job has ended.
    let mut news = job.updates().interval(Duration::from_millis(200)).follow();
    while let Some(news) = news.try_next().await? {
        match news {
            JobUpdate::Phase(job) => println!("= {}", job.phase()),
            JobUpdate::Event(event) => println!("! {event}"),
            JobUpdate::Log { task, item: LogItem::Line(line) } => println!("    {task} | {line}"),
            JobUpdate::Log { task, item: LogItem::Gap { bytes } } => {
                println!("    {task} | … {bytes:?} bytes are missing …")
            }
            other => println!("{other:?}"),
        }
    }

    // Events are typed, so their texts need no parsing.
    let mut events = job.events().follow();
    while let Some(event) = events.try_next().await? {
        if let EventKind::TaskFinished { task, exit_code } = event.kind() {
            println!("{task} ended with {exit_code:?}");
        }
    }
    let job = client.training_jobs().get(job.id()).await?;
    println!("It queued {:?} and ran {:?}", job.time_queued(), job.time_run());

    // The usage of the machine, with one value per minute. In the emulator, the first two values
    // are missing, and this job was too short for more.
    match job.metrics("worker-0").await {
        Ok(all) => {
            for series in all {
                println!("{}: {:?} % in the mean", series.metric(), series.mean());
            }
        }
        Err(error) if error.is_not_ready() => println!("There are no metrics yet"),
        Err(error) => return Err(error.into()),
    }
    emulator.shutdown().await;
    Ok(())
}

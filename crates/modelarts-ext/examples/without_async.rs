//! Submits a job, waits for its end, and reads its log, without async:
//! `cargo run --example without_async`.

use modelarts_emulator::{Emulator, Timing};
use modelarts_ext::{ClientBuilder, LogItem, blocking::BlockingExt};

fn main() -> anyhow::Result<()> {
    let emulator = Emulator::builder().timing(Timing::instant()).start().block()?;
    emulator.put("bucket/code/train.py", "for epoch in range(3):\n    print('epoch', epoch)\n")?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;

    let job = client
        .training_jobs()
        .create_unnamed()
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .flavor("modelarts.vm.cpu.8u")
        .submit()
        .block()?;
    let job = job.wait().block()?.success()?;
    println!("{job}, ran for {:?}", job.time_run().unwrap_or_default());

    for item in job.logs("worker-0").stream().blocking_iter() {
        if let LogItem::Line(line) = item? {
            println!("  {line}");
        }
    }
    emulator.shutdown().block();
    Ok(())
}

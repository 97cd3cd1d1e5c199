//! Submits 100 jobs, and prints the seconds: the counterpart of `submissions.py`.

use std::time::Instant;

use modelarts_ext::{Client, blocking::BlockingExt};

fn main() -> Result<(), modelarts_ext::Error> {
    let prefix = std::env::args().nth(1).unwrap_or_default();
    let client = Client::from_env()?;
    let start = Instant::now();
    for index in 0..100 {
        let job = client.training_jobs().create(format!("{prefix}-{index}"));
        let job = job.preset_image("PyTorch", "pytorch_1.8.0");
        let job = job.code_dir("obs://bucket/code/").boot_file("obs://bucket/code/train.py");
        job.flavor("modelarts.vm.cpu.2u").parameter("seed", index).submit().block()?;
    }
    println!("{}", start.elapsed().as_secs_f64());
    Ok(())
}

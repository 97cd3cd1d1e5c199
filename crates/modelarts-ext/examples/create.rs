//! Creates a job from a local script, with all checks: `cargo run --example create`. The job runs
//! on an emulator in this process.

use std::{error::Error, fs, time::Duration};

use modelarts_emulator::Emulator;
use modelarts_ext::{
    ClientBuilder,
    jobs::create::{Output, check_input_size},
};

const SCRIPT: &str = r#"
import argparse, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
parser.add_argument("--times", type=int)
# The platform may add arguments of its own.
args, _ = parser.parse_known_args()
numbers = [int(line) for line in open(pathlib.Path(args.data_url) / "numbers.txt")]
print("sum", sum(numbers) * args.times)
pathlib.Path(args.train_url, "sum.txt").write_text(str(sum(numbers) * args.times))
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if Emulator::python3().await.is_none() {
        println!("This example runs a training script, and there is no python3 on the PATH.");
        return Ok(());
    }
    let emulator = Emulator::start().await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;

    // A local script and its data.
    let local = tempfile::tempdir()?;
    let (code, data) = (local.path().join("code"), local.path().join("data"));
    fs::create_dir_all(&code)?;
    fs::create_dir_all(&data)?;
    fs::write(code.join("train.py"), SCRIPT)?;
    fs::write(data.join("numbers.txt"), "1\n2\n3\n")?;

    let job = client
        .training_jobs()
        .create("sum")
        .description("Adds numbers")
        .preset_engine("pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .code_dir("obs://bucket/sum/code/")
        .boot_file("obs://bucket/sum/code/train.sh")
        .input("data_url", "obs://bucket/sum/data/")
        .add_output(Output::obs("train_url", "obs://bucket/sum/out/").description("The sum"))
        .parameter("times", 7)
        .flavor("modelarts.vm.cpu.2u")
        .auto_stop(Duration::from_secs(90 * 60));

    // The check reports all violations together.
    println!("As it was written first:\n{}", job.check());
    let job =
        job.boot_file("obs://bucket/sum/code/train.py").auto_stop(Duration::from_secs(2 * 3600));
    println!(
        "Corrected, {} rules are broken. It is sent as:\n{:#}\n",
        job.check().violations.len(),
        job.body()
    );

    // Checks the limits of the code directory before the upload.
    print!("{}", job.check_code_dir(&code)?);
    print!("{}", check_input_size(fs::metadata(data.join("numbers.txt"))?.len(), 50));
    // The OBS of the emulator is a local directory; modelarts-obs uploads files to OBS.
    emulator.put_dir(local.path(), "bucket/sum/")?;

    let job = job.submit().await?;
    println!("{} is {}", job.name(), job.id());
    let end = job.wait().await?;
    println!("{:?}", end.outcome());
    let sum = String::from_utf8(emulator.get("bucket/sum/out/sum.txt")?)?;
    println!("The sum, seven times: {sum}");

    // A copy with another parameter.
    let again = job.copy_as("sum-again").await?.parameter("times", 8);
    let again = again.submit().await?;
    println!("{} is {}", again.name(), again.id());
    again.wait().await?.success()?;
    let sum = String::from_utf8(emulator.get("bucket/sum/out/sum.txt")?)?;
    println!("The sum, eight times: {sum}");
    emulator.shutdown().await;
    if sum == "48" { Ok(()) } else { Err("the sum is wrong".into()) }
}

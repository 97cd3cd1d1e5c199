// Hidden lines of the examples in the documentation: an emulator in this process without the pauses
// of the service and without a container view, a client of it, and a job. Each example includes
// this file.

use modelarts_emulator::{Emulator, Timing, jobs::Container};
use modelarts_ext::{Client, ClientBuilder, CreateJob, Credentials, Error};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Runs an example with an emulator and a client of it.
#[tokio::main]
async fn run(example: impl AsyncFnOnce(&Emulator, Client) -> Result) -> Result {
    let emulator = Emulator::builder();
    let emulator = emulator.timing(Timing::instant()).container(Container::None).start().await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    example(&emulator, client).await?;
    emulator.shutdown().await;
    Ok(())
}

/// Creates a job that prints a line. Its script is in the OBS of the emulator.
fn hello(emulator: &Emulator, client: &Client, name: &str) -> Result<CreateJob> {
    emulator.put("bucket/code/train.py", "print('hello')\n")?;
    let job = client.training_jobs().create(name);
    Ok(job
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .flavor("modelarts.vm.cpu.2u"))
}

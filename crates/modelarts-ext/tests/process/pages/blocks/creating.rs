use std::time::Duration;

use futures::TryStreamExt;
use modelarts_ext::Client;

#[tokio::main]
async fn main() -> Result<(), modelarts_ext::Error> {
    let client = Client::from_env()?;
    let job = client.training_jobs().create("bert")
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .code_dir("obs://my-bucket/bert/code/").boot_file("obs://my-bucket/bert/code/train.py")
        .input("data_url", "obs://my-bucket/bert/data/")
        .output("train_url", "obs://my-bucket/bert/out/")
        .parameter("epochs", 3)
        .flavor("modelarts.vm.cpu.8u")
        .auto_restart(2)
        .auto_stop(Duration::from_secs(4 * 3600));

    // Violations that can be found without a call, and the body of the request.
    print!("{}", job.check());
    println!("{:#}", job.body());

    // Looks up the flavor, checks the job, and sends it.
    let job = job.submit().await?;
    let mut events = job.events().follow();
    while let Some(event) = events.try_next().await? {
        println!("{event}");
    }
    Ok(())
}

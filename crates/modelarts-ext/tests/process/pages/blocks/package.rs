use futures::TryStreamExt;
use modelarts_ext::Client;

#[tokio::main]
async fn main() -> Result<(), modelarts_ext::Error> {
    // Reads region, project and keys from the environment; Client::builder() sets them in code.
    let client = Client::from_env()?;
    let job = client
        .training_jobs()
        .create("leaves")
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .flavor("modelarts.vm.cpu.8u")
        .submit()
        .await?;
    let mut events = job.events().follow();
    while let Some(event) = events.try_next().await? {
        println!("{event}");
    }
    println!("{:?}", job.wait().await?.outcome());
    Ok(())
}

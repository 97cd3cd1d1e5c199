use futures::TryStreamExt;
use modelarts_ext::{Client, Outcome};

#[tokio::main]
async fn main() -> Result<(), modelarts_ext::Error> {
    // Reads region, project and keys from the environment; Client::builder() sets them in code.
    let client = Client::from_env()?;

    let job = client.training_jobs().create("leaves")
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .code_dir("obs://bucket/code/").boot_file("obs://bucket/code/train.py")
        .input("data_url", "obs://bucket/data/").output("train_url", "obs://bucket/model/")
        .parameter("epochs", 20)
        .flavor("modelarts.vm.cpu.8u")
        .submit().await?;

    let mut events = job.events().follow();
    while let Some(event) = events.try_next().await? {
        println!("{event}");
    }
    match job.wait().await?.outcome() {
        Outcome::Completed => println!("the model is in obs://bucket/model/"),
        other => println!("{other:?}"),
    }
    Ok(())
}

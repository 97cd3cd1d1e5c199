use futures::TryStreamExt;
use modelarts_ext::{Client, Outcome};
use modelarts_obs::{CreateJobExt, JobExt, Staging};

#[tokio::main]
async fn main() -> Result<(), modelarts_ext::Error> {
    // Reads region, project and keys from the environment.
    let client = Client::from_env()?;

    // Sends what OBS does not have of ./src and ./data; the bucket is that of MODELARTS_OBS_BUCKET.
    let job = client.training_jobs().create("leaves")
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .parameter("epochs", 20)
        .flavor("modelarts.vm.cpu.8u")
        .stage(&Staging::new(&client))
        .code("./src", "train.py").data("data_url", "./data").output("train_url")
        .submit().await?;

    let mut events = job.events().follow();
    while let Some(event) = events.try_next().await? {
        println!("{event}");
    }
    match job.wait().await?.outcome() {
        Outcome::Completed => { job.download_outputs("./out").await?; }
        other => println!("{other:?}"),
    }
    Ok(())
}

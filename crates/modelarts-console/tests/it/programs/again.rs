use std::time::Duration;

use modelarts_ext::{
    Client,
    jobs::create::{Input, Output},
};

#[tokio::main]
async fn main() -> Result<(), modelarts_ext::Error> {
    let client = Client::from_env()?;
    let job = client
        .training_jobs()
        .create("again-2")
        .description("first try")
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .local_code_dir("/home/ma-user/code")
        .working_dir("/home/ma-user/work")
        .add_input(Input::obs("data_url", "obs://bucket/data/").from_env())
        .add_output(Output::obs("train_url", "obs://bucket/out/"))
        .parameter("epochs", "3")
        .parameter("lr", "it's 1e-5")
        .env("SEED", "1")
        .auto_restart(2)
        .flavor("modelarts.vm.cpu.8u")
        .nodes(2)
        .log_path("obs://bucket/logs/")
        .auto_stop(Duration::from_secs(2 * 3600))
        .notify("urn:smn:r:p:t", ["JobFailed".into()])
        .submit()
        .await?;
    println!("{job}");
    Ok(())
}

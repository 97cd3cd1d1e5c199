//! Job of the quick start: detects rust on leaves. The same code runs on the emulator and on the
//! service.

use modelarts_ext::{Client, CreateJob};

/// The location of the job's files, and the flavor.
pub struct Place {
    /// An OBS directory, such as `obs://bucket/leaves`.
    pub obs: String,
    /// The flavor, such as `modelarts.vm.cpu.2u`.
    pub flavor: String,
}

/// Creates the job, without submitting it.
pub fn job(client: &Client, place: &Place) -> CreateJob {
    let Place { obs, flavor } = place;
    client
        .training_jobs()
        .create("leaves")
        .description("Finds rust on leaves")
        .preset_image(
            "PyTorch",
            "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
        )
        .code_dir(format!("{obs}/code/"))
        .boot_file(format!("{obs}/code/train.py"))
        .input("data_url", format!("{obs}/data/"))
        .output("train_url", format!("{obs}/model/"))
        .parameter("epochs", 40)
        .flavor(flavor)
}

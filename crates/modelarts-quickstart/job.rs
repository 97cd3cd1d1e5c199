//! Job of the quick start, which trains a model to detect rust on leaves. The same code runs on the
//! emulator and on the service.

use std::path::Path;

use modelarts_ext::Client;
use modelarts_obs::{CreateJobExt, Staging, staging::StageJob};

/// Creates the job with the code and the data of a local directory, without submitting it.
pub fn job(client: &Client, staging: &Staging, sample: &Path, flavor: &str) -> StageJob {
    client
        .training_jobs()
        .create("leaves")
        .description("Finds rust on leaves")
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .parameter("epochs", 40)
        .flavor(flavor)
        .stage(staging)
        .code(sample.join("code"), "train.py")
        .data("data_url", sample.join("data"))
        .output("train_url")
}

//! Tests of the documents and texts of `CREATING.md`.

use std::time::Duration;

use modelarts_emulator::{Emulator, Timing};
use modelarts_ext::ClientBuilder;

use crate::pages::copies::{block, page};

const PAGE: &str = "crates/modelarts-ext/CREATING.md";

#[tokio::test]
async fn the_document_of_the_page_is_submitted() {
    let emulator = Emulator::builder().timing(Timing::instant()).start();
    let emulator = emulator.await.unwrap();
    let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
    let script = block(&page(PAGE), "python", "argparse");
    emulator.put("my-bucket/bert/code/train.py", script).unwrap();
    emulator.put("my-bucket/bert/data/rows.csv", "1,2\n").unwrap();
    let document = block(&page(PAGE), "yaml", "metadata:");
    let job = client.training_jobs().from_yaml(&document).unwrap();
    let report = job.check();
    assert_eq!((report.violations, report.warnings), (vec![], vec![]));
    let job = job.submit().await.unwrap();
    assert!(job.wait().await.unwrap().is_completed());
    let model = emulator.get("my-bucket/bert/out/model.bin").unwrap();
    assert_eq!(model, b"trained for 3 epochs");
}

#[tokio::test]
async fn the_check_prints_the_text_of_the_page() {
    let emulator = Emulator::start().await.unwrap();
    let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
    let job = client.training_jobs().create("bert");
    let job = job
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://my-bucket/bert/code/")
        .boot_file("obs://my-bucket/bert/code/train.sh")
        .input("data", "obs://my-bucket/bert/data/")
        .flavor("modelarts.vm.cpu.8u")
        .priority(2)
        .auto_stop(Duration::from_secs(90 * 60));
    let expected = block(&page(PAGE), "text", "error: ");
    assert_eq!(job.check().to_string(), expected);
    assert_eq!(emulator.requests()["CreateTrainingJob"].received, 0);
}

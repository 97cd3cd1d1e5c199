//! Tests of the quick start: the accuracy of its model depends on the data, and equals the accuracy
//! that Python computes from the bundled data.

#[path = "../../../modelarts-quickstart/job.rs"]
mod job;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use futures::TryStreamExt;
use modelarts_ext::{LogItem, Outcome};
use modelarts_obs::JobExt;

use crate::staging::Site;

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../modelarts-quickstart/sample")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Returns the model and the metrics that the training script computes without an emulator.
fn by_hand(sample: &Path) -> (String, String) {
    let out = tempfile::tempdir().unwrap();
    let output = Command::new("python3")
        .arg(sample.join("code/train.py"))
        .arg(format!("--data_url={}", sample.join("data").display()))
        .arg(format!("--train_url={}", out.path().display()))
        .arg("--epochs=40")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    (read(&out.path().join("model.json")), read(&out.path().join("metrics.json")))
}

/// Returns the model, metrics and log of the quick-start job.
async fn by_job(sample: &Path) -> (String, String, Vec<LogItem>) {
    let site = Site::start().await;
    let flavor = "modelarts.vm.cpu.2u";
    let job = job::job(&site.client, &site.staging(), sample, flavor);
    let job = site.ended(job.submit().await.unwrap()).await;
    let end = job.wait().await.unwrap();
    assert_eq!(*end.outcome(), Outcome::Completed);
    let mut lines: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    // A machine without a container view adds a line of the platform.
    lines.retain(|line| !line.is_of_platform());
    let out = site.path("out");
    job.download_outputs(&out).obs(site.obs()).await.unwrap();
    let model = out.join("train_url");
    (read(&model.join("model.json")), read(&model.join("metrics.json")), lines)
}

#[tokio::test]
async fn the_accuracy_is_what_python_computes() {
    let (model, metrics, lines) = by_job(&sample()).await;
    let (model_by_hand, metrics_by_hand) = by_hand(&sample());
    assert_eq!((&model, &metrics), (&model_by_hand, &metrics_by_hand));
    // The model classifies 109 of 120 rows correctly.
    assert_eq!(metrics, "{\n  \"accuracy\": 0.9083333333333333,\n  \"test_rows\": 120\n}");
    assert_eq!(lines.len(), 42);
    let line = |text: &str| LogItem::Line(text.into());
    assert_eq!(lines[0], line("400 rows, 4 features"));
    assert_eq!(lines[1], line("epoch 1/40 loss 0.6931"));
    assert_eq!(lines[41], line("accuracy 0.9083 on 120 rows"));
}

#[tokio::test]
async fn other_data_gives_another_accuracy() {
    let other = tempfile::tempdir().unwrap();
    copy(&sample(), other.path());
    // The labels of the training data are inverted, those of the test data are not.
    let train = other.path().join("data/train.csv");
    let flipped: String = fs::read_to_string(&train)
        .unwrap()
        .lines()
        .map(|line| match line.rsplit_once(',') {
            Some((row, "0")) => format!("{row},1\n"),
            Some((row, "1")) => format!("{row},0\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    fs::write(&train, flipped).unwrap();
    let (model, metrics, _) = by_job(other.path()).await;
    let (model_by_hand, metrics_by_hand) = by_hand(other.path());
    assert_eq!((&model, &metrics), (&model_by_hand, &metrics_by_hand));
    // The model classifies 11 of 120 rows correctly.
    assert_eq!(metrics, "{\n  \"accuracy\": 0.09166666666666666,\n  \"test_rows\": 120\n}");
}

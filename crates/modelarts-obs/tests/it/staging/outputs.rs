//! Tests of the download of outputs.

use std::fs;

use modelarts_ext::ErrorKind;
use modelarts_obs::{JobExt, sync::Amount};

use super::{ENDLESS, Site};

#[tokio::test]
async fn outputs_are_received_by_their_names() {
    let site = Site::start().await;
    site.emulator
        .put(
            "bucket/code/train.py",
            "import pathlib, sys\n\
             given = dict(argument[2:].split('=', 1) for argument in sys.argv[1:])\n\
             target = pathlib.Path(given['model'], 'deep')\n\
             target.mkdir()\n\
             (target / 'model.bin').write_text('weights')\n",
        )
        .unwrap();
    let job = site
        .job("outputs")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .output("model", "obs://bucket/out/model/")
        .output("logs", "obs://bucket/out/logs/");
    let job = site.ended(job.submit().await.unwrap()).await;
    assert!(job.is_completed());

    // A handle without details reads the job.
    let handle = site.client.training_jobs().job(job.id()).unwrap();
    let out = site.path("out");
    let outputs = handle.download_outputs(&out).obs(site.obs()).await.unwrap();
    let names: Vec<_> = outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["model", "logs"]);
    assert_eq!(fs::read(out.join("model/deep/model.bin")).unwrap(), b"weights");
    // The job wrote nothing to this output.
    assert_eq!(outputs[1].summary.transferred, Amount::default());

    let again = job.download_outputs(&out).obs(site.obs()).only("model");
    let again = again.await.unwrap();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].summary.unchanged, Amount::new(1, 7));

    let error = job.download_outputs(&out).obs(site.obs()).only("modl");
    let error = error.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.to_string(),
        "the job outputs has no output named \"modl\"; choose one of its outputs: model, logs"
    );
}

#[tokio::test]
async fn a_job_that_runs_has_the_files_of_now() {
    let site = Site::start().await;
    site.emulator.put("bucket/code/train.py", ENDLESS).unwrap();
    site.emulator.put("bucket/out/first.bin", "1").unwrap();
    let job = site
        .job("running")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .output("model", "obs://bucket/out/");
    let job = job.submit().await.unwrap();
    assert!(!job.is_final());
    let out = site.path("out");
    let outputs = job.download_outputs(&out).obs(site.obs()).await.unwrap();
    assert_eq!(outputs[0].summary.transferred.files, 1);
    assert_eq!(fs::read(out.join("model/first.bin")).unwrap(), b"1");
    job.terminate().await.unwrap();
    site.ended(job).await;
}

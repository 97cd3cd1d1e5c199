//! Tests of jobs whose code and data are local directories.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use modelarts_ext::jobs::create::{Input, Output};
use modelarts_obs::{
    CreateJobExt, JobExt, SyncEvent,
    staging::{StageJob, StagedPart},
    sync::{Amount, SkipReason},
};

use super::{SCRIPT, Site};

/// Returns a job with code, data and an output.
fn staged(site: &Site, name: &str) -> StageJob {
    site.write("src/train.py", SCRIPT);
    site.write("data/rows.csv", "1\n2\n3\n");
    site.job(name)
        .stage(&site.staging())
        .code(site.path("src"), "./train.py")
        .data("data_url", site.path("data"))
        .output("train_url")
}

#[tokio::test]
async fn a_local_script_runs_and_its_output_comes_back() {
    let site = Site::start().await;
    let job = staged(&site, "rows").submit().await.unwrap();
    let job = site.ended(job).await;
    assert!(job.is_completed());
    let out = site.path("out");
    let outputs = job.download_outputs(&out).obs(site.obs()).await.unwrap();
    assert_eq!(outputs.len(), 1);
    assert_eq!(outputs[0].name, "train_url");
    assert_eq!(outputs[0].directory, out.join("train_url"));
    assert_eq!(outputs[0].summary.transferred, Amount::new(1, 1));
    let key = outputs[0].path.key().to_owned();
    assert!(key.starts_with("modelarts/out/rows-"), "{key}");
    assert_eq!(fs::read(out.join("train_url/count.txt")).unwrap(), b"3");
    assert_eq!(job.details().algorithm.as_ref().unwrap().boot_file, {
        let keys = site.keys();
        let script = keys.iter().find(|key| key.ends_with("src/train.py"));
        Some(format!("/bucket/{}", script.unwrap()))
    });

    // The second job has the same code and data, and another output.
    let before = site.keys();
    let again = staged(&site, "rows-2").upload().await.unwrap();
    assert_eq!(site.keys(), before);
    let (code, data) = (again.code.unwrap().summary, &again.data[0].1.summary);
    assert_eq!((code.transferred.files, data.transferred.files), (0, 0));
    assert_eq!(again.data[0].0, "data_url");
    let (name, path) = &again.outputs[0];
    assert_eq!(name, "train_url");
    assert_ne!(path.key(), key);
    let job = again.job.submit().await.unwrap();
    assert!(site.ended(job).await.is_completed());
}

#[tokio::test]
async fn a_wrong_job_is_refused_with_all_reasons_before_anything_is_sent() {
    let site = Site::start().await;
    site.write("src/train.py", "");
    site.write("data/rows.csv", "1\n");
    let job = site
        .job("not a name")
        .nodes(17)
        .stage(&site.staging())
        .code(site.path("src"), "main.sh")
        .data("data_url", site.path("data"));
    let error = job.submit().await.unwrap_err();
    let fields: Vec<_> = error.violations().iter().map(|it| it.field()).collect();
    assert_eq!(
        fields,
        ["metadata.name", "algorithm.boot_file", "spec.resource.node_count", "algorithm.boot_file",]
    );
    assert!(
        error.to_string().starts_with("the job breaks 4 rules, so nothing was sent:\n"),
        "{error}"
    );
    let missing = site.job("rows").stage(&site.staging());
    let missing = missing.data("data_url", site.path("none")).submit().await;
    assert!(missing.is_err());
    assert_eq!(site.keys(), [""; 0]);
    assert_eq!(site.count("CreateTrainingJob"), 0);
}

#[tokio::test]
async fn a_dry_run_names_what_would_be_sent() {
    let site = Site::start().await;
    let planned = staged(&site, "rows").dry_run().await.unwrap();
    let code = planned.code.unwrap();
    let size = SCRIPT.len() as u64;
    assert_eq!(code.summary.transferred, Amount::new(1, size));
    let data = &planned.data[0].1;
    assert_eq!(data.summary.transferred, Amount::new(1, 6));
    let body = planned.job.body();
    assert_eq!(body["algorithm"]["code_dir"], code.url());
    let boot_file = format!("{}train.py", code.url());
    assert_eq!(body["algorithm"]["boot_file"], boot_file);
    let input = &body["algorithm"]["inputs"][0];
    assert_eq!(input["remote"]["obs"]["obs_url"], data.url());
    assert_eq!(site.keys(), [""; 0]);
    assert_eq!(site.count("CreateTrainingJob"), 0);
}

#[tokio::test]
async fn channels_of_the_same_name_are_replaced() {
    let site = Site::start().await;
    site.write("src/train.py", "");
    site.write("data/rows.csv", "1\n");
    let job = site
        .job("copy")
        .input("data_url", "obs://bucket/old/")
        .output("train_url", "obs://bucket/out/")
        .stage(&site.staging())
        .code(site.path("src"), "train.py")
        .data("data_url", site.path("none"))
        .data("data_url", site.path("data"))
        .output("train_url")
        .output("train_url");
    let planned = job.dry_run().await.unwrap();
    let body = planned.job.body();
    let channels = |list: &str| {
        let channels = body["algorithm"][list].as_array().unwrap();
        let [channel] = channels.as_slice() else {
            panic!("{channels:?}");
        };
        channel["remote"]["obs"]["obs_url"].clone()
    };
    assert_eq!(channels("inputs"), planned.data[0].1.url());
    assert_eq!(channels("outputs"), format!("{}/", planned.outputs[0].1));
}

#[tokio::test]
async fn progress_names_the_part_of_the_job() {
    let site = Site::start().await;
    // The second job finds its code and data in the bucket.
    for _ in 0..2 {
        let finished = Arc::new(Mutex::new(Vec::new()));
        let parts = Arc::clone(&finished);
        let job = staged(&site, "rows").on_progress(move |part, progress| {
            if matches!(progress.event, SyncEvent::Finished(_)) {
                let part = (part.clone(), part.to_string(), progress.done.files);
                parts.lock().unwrap().push(part);
            }
        });
        job.upload().await.unwrap();
        let data = StagedPart::Data("data_url".to_owned());
        assert_eq!(
            *finished.lock().unwrap(),
            [(StagedPart::Code, "code".to_owned(), 1), (data, "data_url".to_owned(), 1)]
        );
    }
}

#[tokio::test]
async fn a_command_needs_no_boot_file() {
    let site = Site::start().await;
    let src = site.write("src/train.sh", "echo");
    let job = site
        .client
        .training_jobs()
        .create("command")
        .custom_image("organisation/image:1")
        .command("sh ${MA_JOB_DIR}/src/train.sh")
        .flavor("modelarts.vm.cpu.2u");
    let job = job.stage(&site.staging()).code(&src, None);
    let staged = job.upload().await.unwrap();
    let body = staged.job.body();
    assert_eq!(body["algorithm"]["code_dir"], staged.code.unwrap().url());
    assert!(body["algorithm"].get("boot_file").is_none());
}

#[tokio::test]
async fn data_in_the_code_directory_is_sent_once() {
    let site = Site::start().await;
    site.write("src/train.py", SCRIPT);
    site.write("src/lib/layers.py", "");
    site.write("src/data/raw/rows.csv", "1\n");
    let warnings = Arc::new(Mutex::new(None));
    let checked = Arc::clone(&warnings);
    let staged = site
        .job("once")
        .stage(&site.staging())
        .code(site.path("src"), "train.py")
        .data("rows", site.path("src/data/raw"))
        .on_checked(move |found| *checked.lock().unwrap() = Some(found.len()))
        .upload()
        .await
        .unwrap();
    let code = staged.code.unwrap();
    assert_eq!(code.summary.transferred.files, 2);
    let skipped: Vec<_> = code.summary.skipped.iter().collect();
    assert_eq!(skipped.len(), 1);
    assert_eq!((skipped[0].path.as_str(), &skipped[0].reason), ("data/raw", &SkipReason::Excluded));
    assert_eq!(staged.data[0].1.summary.transferred.files, 1);
    // The recommended name is data_url.
    assert_eq!(*warnings.lock().unwrap(), Some(1));
}

#[tokio::test]
async fn staged_channels_keep_their_settings() {
    let site = Site::start().await;
    site.write("src/train.py", SCRIPT);
    site.write("data/rows.csv", "1\n");
    let job = site
        .job("kept")
        .add_input(Input::obs("data_url", "obs://bucket/old/").from_env())
        .add_output(Output::obs("train_url", "obs://bucket/old-out/").predownload());
    let staged = job
        .stage(&site.staging())
        .code(site.path("src"), "train.py")
        .data("data_url", site.path("data"))
        .output("train_url")
        .upload()
        .await
        .unwrap();
    let body = staged.job.body();
    let (inputs, outputs) = (&body["algorithm"]["inputs"], &body["algorithm"]["outputs"]);
    assert_eq!((inputs.as_array().unwrap().len(), outputs.as_array().unwrap().len()), (1, 1));
    assert_eq!(inputs[0]["access_method"], "env");
    assert_eq!(inputs[0]["remote"]["obs"]["obs_url"], staged.data[0].1.url());
    assert_eq!(outputs[0]["prefetch_to_local"], true);
    let output = format!("{}/", staged.outputs[0].1);
    assert_eq!(outputs[0]["remote"]["obs"]["obs_url"], output);
}

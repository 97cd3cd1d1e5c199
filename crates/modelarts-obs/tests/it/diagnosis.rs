//! Reading of the service's own diagnosis of a job.

use modelarts_ext::{Job, jobs::diagnosis::Cause};

use crate::staging::Site;

const CODE: &str = r#"[{"code": "MDC.300710", "text": "python3 was killed"}]"#;

/// Runs a job that fails, with its logs in `bucket/logs`.
async fn failed(site: &Site) -> Job {
    site.emulator.put("bucket/code/train.py", "raise SystemExit(3)\n").unwrap();
    let job = site.job("explained").code_dir("/bucket/code/").boot_file("/bucket/code/train.py");
    let job = job.log_path("/bucket/logs/").flavor("modelarts.vm.cpu.2u");
    let job = job.submit().await.unwrap();
    assert!(!job.wait().await.unwrap().is_completed());
    job.get().await.unwrap()
}

#[tokio::test]
async fn only_the_diagnosis_of_the_job_is_read() {
    let site = Site::start().await;
    let job = failed(&site).await;
    let obs = site.obs();
    let codes = async || {
        let found = obs.platform_diagnosis(&job).await.unwrap();
        found.codes().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(codes().await, [""; 0]);
    // The directory can have the logs of other jobs.
    site.emulator.put("bucket/logs/other/diagnosis.json", CODE).unwrap();
    assert_eq!(codes().await, [""; 0]);
    let file = format!("bucket/logs/{}/diagnosis.json", job.id());
    site.emulator.put(&file, CODE).unwrap();
    assert_eq!(codes().await, ["MDC.300710"]);
    let platform = obs.platform_diagnosis(&job).await.unwrap();
    let found = job.explain_with(&platform).await.unwrap();
    assert_eq!(found.cause, Cause::OutOfMemory);
    site.emulator.put(&file, "{").unwrap();
    let error = obs.platform_diagnosis(&job).await.unwrap_err().to_string();
    assert!(error.contains("must be JSON"), "{error}");
}

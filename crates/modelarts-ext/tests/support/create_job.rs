//! Job builders for tests: for jobs that are not sent, and for a job with every field.

use std::{sync::LazyLock, time::Duration};

use modelarts_ext::{
    Client, CreateJob, Credentials,
    config::Cloud,
    jobs::create::{HyperparameterSearch, Input, Output, Volume},
    types::{NotificationEvent, RuntimeType, SummaryLogType},
};
use serde_json::{Value, json};

/// Returns a client without a service. All tests share it, because it sends no requests and its
/// creation is slow.
pub(crate) fn client() -> Client {
    static CLIENT: LazyLock<Client> = LazyLock::new(|| {
        Client::builder()
            .endpoint("http://127.0.0.1:9")
            .project_id("0123456789abcdef0123456789abcdef")
            .credentials(Credentials::keys("AK", "SK"))
            // Some limits are lower on this cloud.
            .cloud(Cloud::Otc)
            .build()
            .unwrap()
    });
    CLIENT.clone()
}

pub(crate) fn job(document: &Value) -> CreateJob {
    match client().training_jobs().from_value(document) {
        Ok(job) => job,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the violations of a job as messages.
pub(crate) fn violations(job: &CreateJob) -> Vec<String> {
    let report = job.check();
    report.violations.iter().map(ToString::to_string).collect()
}

/// Returns the warnings of a job as messages.
pub(crate) fn warnings(job: &CreateJob) -> Vec<String> {
    let report = job.check();
    report.warnings.iter().map(ToString::to_string).collect()
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Returns a job that uses each method of the builder once.
pub(crate) fn everything() -> CreateJob {
    client()
        .training_jobs()
        .create("old-name")
        .name("bert")
        .description("Large")
        .workspace("w")
        .annotation("team", "a")
        .experiment("e")
        .preset_image("PyTorch", "pytorch_1.8.0")
        .custom_image("org/image:1")
        .image_repository("repo")
        .install_sys_packages(true)
        .run_user(1001)
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .local_code_dir("/home/ma-user/code")
        .working_dir("/home/ma-user/code/src")
        .parameter("epochs", 3)
        .add_parameter(read(json!({
            "name": "rate", "value": "0.1", "description": "Learning rate",
            "constraint": {"type": "Float", "editable": true, "required": true, "sensitive": false,
                "valid_type": "Range", "valid_range": ["0", "1"]},
            "i18n_description": {"language": "en-us", "description": "Learning rate"},
        })))
        .env("MODE", "quick")
        .search(
            HyperparameterSearch::maximize("acc", "acc=(.*)")
                .and_minimize("loss", "loss=(.*)")
                .points("rate", 0.1, 0.5, 5)
                .range("decay", 0.0, 0.5)
                .values("size", [8, 16])
                .skip("epochs")
                .algorithm("tpe_search", &[("seed", "1", "Integer")]),
        )
        .search_files("obs://bucket/search.yaml", "obs://bucket/framework/")
        .add_input(
            Input::obs("data_url", "obs://bucket/data/")
                .description("Images")
                .local_dir("/home/ma-user/data")
                .from_env()
                .constraint(read(json!({"data_type": "dataset", "attributes": "data_format"}))),
        )
        .add_input(Input::dataset("labels", "d", "v").proportion(50))
        .add_input(Input::asset_dataset("more", "d"))
        .add_output(
            Output::obs("train_url", "obs://bucket/out/")
                .description("Model")
                .local_dir("/home/ma-user/out")
                .from_env()
                .predownload(),
        )
        .flavor("modelarts.pool.visual.xlarge")
        .pool("p")
        .nodes(2)
        .container_size(read(
            json!({"cpu_core_num": 4.0, "mem_size": 16.0, "accelerator_num": 1.0}),
        ))
        .priority(2)
        .preemptible(true)
        .required_affinity(read(json!({
            "affinity_type": "networkTopology", "job_level": "cluster", "affinity_group_size": 2,
            "affinity_group_level": "slice",
            "node_affinity": {"nodeSelectorTerms": [{
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["a"]}],
                "matchFields": [{"key": "k", "operator": "Exists"}],
            }]},
        })))
        .preferred_affinity(read(json!({"node_affinity": [{"weight": 1, "preference": {
            "matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}],
        }}]})))
        .volume(Volume::nfs("10.0.0.5:/share", "/mnt/a").read_only())
        .volume(Volume::pfs("/file-system/path", "/mnt/b"))
        .volume(Volume::obs("/bucket/path", "/mnt/c"))
        .auto_restart(3)
        .unconditional_restart()
        .hang_restart()
        .auto_stop(Duration::from_secs(4 * 3600))
        .reserve(Duration::from_secs(3600))
        .log_path("obs://bucket/logs/")
        .log_host_path("/var/log")
        .log_export_config(read(json!({"version": "v1", "rotation_enabled": true})))
        .runtime_type(RuntimeType::Debug)
        .retention(read(json!({"policy": "enabled"})))
        .notify("urn:smn", [NotificationEvent::JobFailed, NotificationEvent::JobCompleted])
        .ssh(["mine"])
        .jupyter_lab()
        .tensorboard(["job-1"])
        .mindstudio_insight(["job-2"])
        .summary(SummaryLogType::Tensorboard, "obs://file-system/logs/")
        .metrics_url("/metrics", 5006)
        .metrics_http("/metrics", 10001)
        .metrics_command("/bin/metrics", "all")
        .output_model("obs://bucket/model/", "/home/ma-user/model")
        .asset_model(read(json!({"name": "m", "version": "1", "type": "llm"})))
        .asset("asset")
}

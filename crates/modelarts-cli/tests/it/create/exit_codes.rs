//! Exit codes of `modelarts submit`: one test for each.

use modelarts_emulator::{
    faults::{Fault, FaultRule},
    jobs::RunnerKind,
    script::Script,
};
use modelarts_ext::types::Phase;
use serde_json::json;

use super::fixtures::{ENDLESS, FLAVOR, Running, Site, items, stderr};

/// Submits a job that goes on, and returns its id when its code runs.
async fn submit_endless(site: &Site, arguments: &str) -> (Running, String) {
    site.script(ENDLESS);
    let running =
        site.spawn(&format!("submit code/train.py --flavor {FLAVOR} -o ndjson {arguments}"));
    tokio::task::spawn_blocking(move || {
        let submitted = running.item(|item| item["type"] == "submitted");
        running.item(|item| item["line"] == "ready");
        let id = submitted["job"]["id"].as_str().unwrap().to_owned();
        (running, id)
    })
    .await
    .unwrap()
}

async fn end(running: Running) -> (Option<i32>, Vec<String>, Vec<String>) {
    let ended = tokio::task::spawn_blocking(move || running.end());
    ended.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completed_job_is_0() {
    let site = Site::start().await;
    site.script("print('hello')");
    site.submit("").await.code(0);
    assert_eq!(site.created(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_the_service_refuses_is_1() {
    let site = Site::start().await;
    site.script("");
    let fault = Fault::error(403, "ModelArts.0404", "No permission.");
    let faults = site.fixture.emulator.faults();
    faults.add(FaultRule::always("CreateTrainingJob", fault)).unwrap();
    let output = site.submit("").await.code(1);
    assert!(
        stderr(&output).contains("CreateTrainingJob: No permission (ModelArts.0404, HTTP 403, "),
        "{:?}",
        output.get_output()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_does_not_exist_is_2_with_similar_names() {
    let site = Site::start().await;
    site.script("");
    let command = site.command("submit code/trian.py");
    let output = crate::support::assert(command).await.code(2);
    output
        .stdout_eq("")
        .stderr_eq("error: the script code/trian.py does not exist; did you mean code/train.py?\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_breaks_rules_is_3_and_nothing_is_sent() {
    let site = Site::start().await;
    site.script("");
    let output = site.submit("--name a.b --restarts 500 --auto-stop 90m --data code").await.code(3);
    let text = stderr(&output);
    assert!(text.contains("the job breaks 3 rules, so nothing was sent:\n"), "{text}");
    for field in [
        "metadata.name = \"a.b\"",
        "spec.auto_stop.duration = 1.5",
        "metadata.annotations[\"fault-tolerance/job-retry-num\"] = \"500\"",
    ] {
        assert!(text.contains(field), "{field} is not in {text}");
    }
    assert_eq!((site.created(), site.objects()), (0, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_job_is_10_or_the_exit_code_of_its_task() {
    let site = Site::start().await;
    site.script("import sys\nprint('bad')\nsys.exit(7)");
    let output = site.submit("").await.code(10);
    assert!(
        stderr(&output).contains("failed with exit code 7 in worker-0"),
        "{:?}",
        output.get_output()
    );
    site.submit("--exit-code task").await.code(7);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abnormal_job_is_11() {
    let script = json!({"default": [{"prepare_timeout": true}]});
    let script = Script::from_json(&script.to_string()).unwrap();
    let site = Site::with(|builder| builder.runner(RunnerKind::Simulated(script))).await;
    site.script("");
    site.submit("").await.code(11);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_stopped_is_12() {
    let site = Site::start().await;
    let (running, id) = submit_endless(&site, "").await;
    let job = site.client().training_jobs().get(&id).await.unwrap();
    job.terminate().await.unwrap();
    let (code, stdout, stderr) = end(running).await;
    assert_eq!(code, Some(12), "{stderr:?}");
    let last: serde_json::Value = serde_json::from_str(stdout.last().unwrap()).unwrap();
    assert_eq!(last["outcome"], "terminated");
    assert_eq!(last["summary"], "terminated by a user");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_deleted_is_13() {
    let site = Site::start().await;
    let (running, id) = submit_endless(&site, "").await;
    let job = site.client().training_jobs().get(&id).await.unwrap();
    job.delete().await.unwrap();
    let (code, stdout, stderr) = end(running).await;
    assert_eq!(code, Some(13), "{stdout:?} {stderr:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_is_124_and_the_job_continues() {
    let site = Site::start().await;
    site.script(ENDLESS);
    let output = site.submit("--timeout 1ms -o ndjson").await.code(124);
    let items = items(&output);
    assert_eq!(items.last().unwrap()["outcome"], "timed_out");
    let text = stderr(&output);
    assert!(text.contains("the time limit passed: the job continues\n"), "{text}");
    let id = items[0]["job"]["id"].as_str().unwrap();
    let job = site.client().training_jobs().get(id).await.unwrap();
    assert!(!job.is_final());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_is_130_and_the_job_continues() {
    let site = Site::start().await;
    let (running, id) = submit_endless(&site, "").await;
    running.interrupt();
    let (code, stdout, stderr) = end(running).await;
    assert_eq!(code, Some(130), "{stderr:?}");
    let last: serde_json::Value = serde_json::from_str(stdout.last().unwrap()).unwrap();
    assert_eq!(last["outcome"], "interrupted");
    let job = site.client().training_jobs().get(&id).await.unwrap();
    assert_eq!(job.phase(), Phase::Running);
    let back = format!("  come back with: modelarts logs -f {}", job.name());
    assert!(stderr.contains(&back), "{stderr:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_credentials_are_1_with_the_variables() {
    let site = Site::start().await;
    site.script("");
    let command = crate::support::isolated(site.fixture.path());
    let output = crate::support::assert(command.args(["submit", "code/train.py"])).await;
    let text = stderr(&output.code(1));
    for part in [
        "\n- no endpoint; set MODELARTS_REGION, such as eu-de, or MODELARTS_ENDPOINT\n",
        "\n- no credentials; set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK. Looked at:\n",
        "\n`modelarts doctor` shows which settings were found; `modelarts run --local` needs no \
         account\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("()"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_or_a_pool_that_does_not_exist_is_1_because_no_job_is_missing() {
    let site = Site::start().await;
    site.script("");
    let text = stderr(&site.submit("--bucket no-such-bucket").await.code(1));
    assert!(
        text.contains("(NoSuchBucket, HTTP 404, ")
            && text.contains("with `modelarts dev --bucket NAME`\n"),
        "{text}"
    );
    let command = site.command("submit code/train.py --pool no-such-pool");
    let text = stderr(&crate::support::assert(command).await.code(1));
    assert!(text.contains("Pool (no-such-pool) does not exist"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_cannot_be_reached_is_1_with_advice() {
    let site = Site::start().await;
    site.script("");
    // A port that nothing listens on.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let command = site.command(&format!("submit code/train.py --flavor {FLAVOR}"));
    let command = command.env("MODELARTS_ENDPOINT", address);
    let text = stderr(&crate::support::assert(command).await.code(1));
    assert!(
        text.ends_with("`modelarts doctor` checks the address, the credentials and the clock\n"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_json_error_of_a_refused_job_lists_the_rules() {
    let site = Site::start().await;
    site.script("");
    let output = site.submit("--name a.b --auto-stop 90m -o json").await.code(3);
    let text = stderr(&output);
    let error = text.lines().find(|line| line.starts_with('{')).unwrap();
    let document: serde_json::Value = serde_json::from_str(error).unwrap();
    crate::support::assert_schema(&document, "error");
    let violations = document["error"]["violations"].as_array().unwrap().iter();
    let fields: Vec<_> = violations.map(|violation| violation["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["metadata.name", "spec.auto_stop.duration"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_log_without_a_reader_is_141() {
    let site = Site::start().await;
    site.script("for n in range(20000): print('line', n)\n");
    site.submit("--name leaves --detach").await.code(0);
    let program = snapbox::cmd::cargo_bin!("modelarts").display().to_string();
    let shell = |arguments: &str| {
        let line = format!(
            "{program} logs -f {arguments} leaves | head -c 1 > /dev/null; echo ${{PIPESTATUS[0]}}"
        );
        let mut command = snapbox::cmd::Command::new("bash").arg("-c").arg(line);
        for (name, value) in site.fixture.emulator.envs() {
            command = command.env(name, value);
        }
        let command = command.env("MODELARTS_CONFIG", site.fixture.path().join("config.toml"));
        crate::support::assert(command)
    };
    shell("--exit-code outcome").await.stdout_eq("141\n");
    // Without the flag, the exit code is not that of the job.
    shell("").await.stdout_eq("0\n");
}

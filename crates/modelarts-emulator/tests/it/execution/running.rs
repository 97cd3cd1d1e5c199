//! The run of the code: its directories, arguments, environment, exit code and log.

use std::time::{Duration, SystemTime};

use modelarts_emulator::{Timing, WaitError, clock::ManualClock};
use serde_json::json;

use crate::support::{Gate, Site, address, pass};

#[tokio::test]
async fn a_boot_file_gets_its_code_arguments_and_directories() {
    let site = Site::start().await;
    let script = r#"
import json, os, sys
import helper
arguments = dict(a[2:].split("=", 1) for a in sys.argv[1:])
data = open(os.path.join(arguments["data_url"], "sub", "a.txt")).read()
open(os.path.join(arguments["train_url"], "model.txt"), "w").write(data + helper.WORD)
os.makedirs(os.path.join(os.environ["aux"], "deep"))
open(os.path.join(os.environ["aux"], "deep", "x"), "w").write("aux")
sys.stderr.write("to stderr\n")
print(json.dumps([sys.argv, os.getcwd(), dict(os.environ)]))
"#;
    let mut job = site.script("all", script);
    site.put("bucket/all/code/helper.py", "WORD = ' and more'\n");
    site.put("bucket/data/sub/a.txt", "data");
    job["algorithm"]["parameters"] =
        json!([{"name": "epochs", "value": "3"}, {"name": "empty", "value": ""}]);
    job["algorithm"]["inputs"] =
        json!([{"name": "data_url", "remote": {"obs": {"obs_url": "obs://bucket/data/"}}}]);
    job["algorithm"]["outputs"] = json!([
        {"name": "train_url", "remote": {"obs": {"obs_url": "obs://bucket/out/"}}},
        {"name": "aux", "access_method": "env",
         "remote": {"obs": {"obs_url": "obs://bucket/aux/"}}},
    ]);
    job["algorithm"]["environments"] = json!({"MINE": "yes", "MA_NUM_GPUS": "8"});
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert_eq!(site.phase(&id).await, "Completed", "{log}");
    assert_eq!(site.read("bucket/out/model.txt"), "data and more");
    assert_eq!(site.read("bucket/aux/deep/x"), "aux");

    // stdout and stderr are written to the same log, in the order of writing.
    let (first, rest) = log.split_once('\n').unwrap();
    assert_eq!(first, "to stderr");
    let (arguments, directory, environment): (
        Vec<String>,
        String,
        serde_json::Map<String, serde_json::Value>,
    ) = serde_json::from_str(rest).unwrap();
    let worker = site.worker(&id);
    let home = format!("{}/home/ma-user", worker.display());
    let modelarts = format!("{home}/modelarts");
    assert_eq!(
        arguments,
        [
            format!("{modelarts}/user-job-dir/code/train.py"),
            "--epochs=3".into(),
            "--empty=".into(),
            format!("--data_url={modelarts}/inputs/data_url_0"),
            format!("--train_url={modelarts}/outputs/train_url_0"),
        ]
    );
    assert_eq!(directory, format!("{modelarts}/user-job-dir/code"));
    for (name, value) in [
        ("MA_HOME", home.clone()),
        ("HOME", home.clone()),
        ("MA_MOUNT_PATH", modelarts.clone()),
        ("MA_JOB_DIR", format!("{modelarts}/user-job-dir")),
        ("PYTHONPATH", format!("{modelarts}/user-job-dir")),
        ("WORKSPACE", format!("{modelarts}/user-job-dir/code")),
        ("MA_CODE_DIR", format!("{modelarts}/user-job-dir/code")),
        ("MA_LOG_DIR", format!("{modelarts}/log")),
        ("TMPDIR", format!("{}/tmp", worker.display())),
        ("aux", format!("{modelarts}/outputs/aux_1")),
        ("MA_TASK_NAME", "worker".into()),
        ("MA_TASK_INDEX", "0".into()),
        ("MA_NUM_HOSTS", "1".into()),
        ("MA_CURRENT_IP", address(&id, 0)),
        ("MA_CURRENT_INSTANCE_NAME", format!("modelarts-job-{id}-worker-0")),
        ("MA_VJ_NAME", format!("ma-job-{id}")),
        ("MA_SCRIPT_INTERPRETER", String::new()),
        ("VC_TASK_INDEX", "0".into()),
        ("VK_TASK_INDEX", "0".into()),
        ("VC_WORKER_NUM", "1".into()),
        ("VC_WORKER_HOSTS", address(&id, 0)),
        ("MA_DETECT_TRAIN_INJECT_CODE", "1".into()),
        ("MA_HANG_DETECT_TIME", "30".into()),
        ("MA_APIGW_ENDPOINT", site.emulator.url().into()),
        ("PYTHONUNBUFFERED", "1".into()),
        // The job's own variables are set last, and override the preset variables.
        ("MINE", "yes".into()),
        ("MA_NUM_GPUS", "8".into()),
    ] {
        assert_eq!(environment[name], value, "{name}");
    }
    assert!(
        worker
            .join(format!("home/ma-user/modelarts/log/modelarts-job-{id}-worker-0.log"))
            .is_file()
    );
}

#[tokio::test]
async fn a_command_runs_in_bash_in_its_directory() {
    let site = Site::start().await;
    site.put("bucket/a/demo-code/run.sh", "echo ran in $(basename $PWD) with \"$@\"\n");
    let mut job = json!({
        "kind": "job",
        "metadata": {"name": "command"},
        "algorithm": {
            "code_dir": "obs://bucket/a/demo-code",
            "command": "pwd; echo \"own: $@\"; bash ${MA_JOB_DIR}/demo-code/run.sh --own",
            "engine": {"image_url": "org/image:1"},
            "parameters": [{"name": "lr", "value": "0.1"}],
        },
        "spec": {"resource": {"pool_id": "pool-cpu"}},
    });
    let id = site.run(&job).await;
    let code = site.worker(&id).join("home/ma-user/modelarts/user-job-dir/demo-code");
    assert_eq!(
        site.log(&id).await,
        format!("{}\nown: \nran in demo-code with --own --lr=0.1\n", code.display())
    );
    assert!(site.messages(&id).await[2].ends_with("Successfully pulled image \"org/image:1\""),);

    // The request of this job specifies other directories.
    job["metadata"]["name"] = "places".into();
    job["algorithm"]["local_code_dir"] = "/home/ma-user/elsewhere".into();
    job["algorithm"]["working_dir"] = "/home/ma-user/work".into();
    let id = site.run(&job).await;
    let work = site.worker(&id).join("home/ma-user/work");
    assert_eq!(
        site.log(&id).await,
        format!("{}\nown: \nran in work with --own --lr=0.1\n", work.display())
    );

    // This job has no code directory.
    job["metadata"]["name"] = "bare".into();
    job["algorithm"] = json!({"command": "echo bare", "engine": {"image_url": "org/image:1"}});
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "bare\n");
    assert_eq!(site.phase(&id).await, "Completed");
}

#[tokio::test]
async fn the_exit_code_decides_and_outputs_come_back_also_after_a_failure() {
    let site = Site::start().await;
    let script = "import sys\nopen(sys.argv[1].split('=')[1] + '/partial', \
         'w').write('half')\nprint('oh no')\nsys.exit(3)\n";
    let mut job = site.script("failing", script);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}]);
    job["spec"]["log_export_path"] = json!({"obs_url": "/bucket/logs/"});
    let id = site.run(&job).await;
    assert_eq!(site.read("bucket/out/partial"), "half");
    assert_eq!(site.read(&format!("bucket/logs/modelarts-job-{id}-worker-0.log")), "oh no\n");
    let job = site.details(&id).await;
    assert_eq!(job["spec"]["log_export_path"], json!({"obs_url": "/bucket/logs/"}));
    let status = &job["status"];
    assert_eq!(status["phase"], "Failed");
    assert_eq!(status["secondary_phase"], "Failed");
    assert_eq!(
        status["task_statuses"],
        json!([{"task": "worker-0", "exit_code": 3, "message": "exit with 3"}])
    );
    let record = &status["running_records"][0];
    assert_eq!(record["end_reason"], "exit with 3");
    assert_eq!(record["end_related_task"], "worker-0");
    assert_eq!(
        site.emulator.wait_for(&id, "Completed").await,
        Err(WaitError::Ended { phase: "Failed" })
    );
}

#[tokio::test]
async fn output_of_python_and_bash_is_in_the_log() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let job = site.script("raises", "raise ValueError('bad data')");
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert!(log.starts_with("Traceback") && log.ends_with("ValueError: bad data\n"), "{log}");
    assert_eq!(site.details(&id).await["status"]["task_statuses"][0]["exit_code"], 1);

    let job = json!({
        "kind": "job",
        "metadata": {"name": "no-command"},
        "algorithm": {"command": "no-such-program", "engine": {"image_url": "org/image:1"}},
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    });
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert!(log.contains("no-such-program") && log.contains("not found"), "{log}");
    assert_eq!(site.details(&id).await["status"]["task_statuses"][0]["exit_code"], 127);

    // The exit code of a process that is killed by signal 9 is 128 + 9.
    let script = format!("{}import os\nos.kill(os.getpid(), 9)\n", gate.python());
    let id = site.run(&site.script("killed", &script)).await;
    assert_eq!(site.details(&id).await["status"]["task_statuses"][0]["exit_code"], 137);
}

#[tokio::test]
async fn a_missing_boot_file_is_reported_by_python() {
    let mut timing = Timing::instant();
    timing.creating = Duration::from_secs(1);
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site =
        Site::with(|builder| builder.timing(timing).clock(std::sync::Arc::clone(&clock) as _))
            .await;
    let id = site.create(&site.script("vanishes", "")).await;
    site.put("bucket/vanishes/code/other.py", "");
    std::fs::remove_file(site.emulator.obs_root().join("bucket/vanishes/code/train.py")).unwrap();
    pass(&clock, Duration::from_secs(1)).await;
    site.emulator.wait_until_settled(&id).await;
    let log = site.log(&id).await;
    assert!(log.contains("can't open file") && log.contains("train.py"), "{log}");
    assert_eq!(site.details(&id).await["status"]["task_statuses"][0]["exit_code"], 2);
}

#[tokio::test]
async fn the_status_follows_the_documented_arithmetic() {
    let mut timing = Timing::instant();
    timing.creating = Duration::from_millis(2400);
    timing.starting = Duration::from_secs(10);
    timing.finishing = Duration::from_secs(25);
    let second = 1_641_892_642;
    let clock = std::sync::Arc::new(ManualClock::at(
        SystemTime::UNIX_EPOCH + Duration::from_millis(second * 1000 + 625),
    ));
    let site = Site::with(|builder| {
        builder.token("t").timing(timing).clock(std::sync::Arc::clone(&clock) as _)
    })
    .await;
    let url = format!("{}/v2/{}/training-jobs", site.emulator.url(), site.emulator.project_id());
    let ask = async |request: reqwest::RequestBuilder| -> serde_json::Value {
        let text = request.header("x-auth-token", "t").send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let gate = Gate::new().await;
    let job = site.script("arithmetic", &(gate.python() + "gate()"));
    let created = ask(site.client.http.post(&url).body(job.to_string())).await;
    let id = created["metadata"]["id"].as_str().unwrap().to_owned();
    let status = async || ask(site.client.http.get(format!("{url}/{id}"))).await["status"].clone();
    assert_eq!(created["status"]["node_count_metrics"], json!(null));
    assert_eq!(created["metadata"]["create_time"], second * 1000 + 625);

    pass(&clock, Duration::from_millis(2400)).await;
    site.emulator.wait_for(&id, "Pending").await.unwrap();
    let pending = status().await;
    assert_eq!(pending["phase"], "Pending");
    assert_eq!(pending["secondary_phase"], "Queuing");
    assert_eq!(pending["node_count_metrics"], json!([[(second + 3) * 1000, 0]]));
    assert_eq!((&pending["start_time"], &pending["duration"]), (&json!(0), &json!(0)));

    // The containers have started; the phase Running follows ten seconds later.
    pass(&clock, Duration::from_secs(10)).await;
    site.emulator.wait_for(&id, "Running").await.unwrap();
    let start = second + 13;
    let waiting = gate.reached().await;
    let running = status().await;
    assert_eq!(running["start_time"], start * 1000);
    assert_eq!(running["duration"], 0);
    assert_eq!(
        running["node_count_metrics"],
        json!([[(second + 3) * 1000, 0], [(start - 1) * 1000, 0], [start * 1000, 1]])
    );
    assert_eq!(
        running["running_records"],
        json!([{"start_at": start, "start_type": "init_or_rescheduled"}])
    );
    clock.advance(Duration::from_secs(268));
    let later = status().await;
    assert_eq!(later["duration"], 268_000);
    assert_eq!(
        later["node_count_metrics"].as_array().unwrap()[3..],
        [json!([(start + 267) * 1000, 1]), json!([(start + 268) * 1000, 1])]
    );
    waiting.let_through().await;
    // The phase stays Running until the containers have been removed.
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(status().await["phase"], "Running");
    pass(&clock, Duration::from_secs(25)).await;
    site.emulator.wait_for(&id, "Completed").await.unwrap();
    let end = start + 268 + 25;
    let completed = status().await;
    assert_eq!(completed["secondary_phase"], "Completed");
    assert_eq!(completed["duration"], (268 + 25) * 1000);
    assert_eq!(
        completed["running_records"],
        json!([{"start_at": start, "end_at": end, "start_type": "init_or_rescheduled",
            "end_reason": "job completed"}])
    );
    clock.advance(Duration::from_secs(1000));
    assert_eq!(status().await, completed);
}

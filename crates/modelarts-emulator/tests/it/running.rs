//! What happens to the code: where it runs, what it gets, how it ends.

use std::time::{Duration, SystemTime};

use modelarts_emulator::{Timing, WaitError, clock::ManualClock};
use serde_json::json;

use crate::support::{Gate, Site, is_alive, pass};

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
        {"name": "aux", "access_method": "env", "remote": {"obs": {"obs_url": "obs://bucket/aux/"}}},
    ]);
    job["algorithm"]["environments"] = json!({"MINE": "yes", "MA_NUM_GPUS": "8"});
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert_eq!(site.phase(&id).await, "Completed", "{log}");
    assert_eq!(site.get("bucket/out/model.txt"), "data and more");
    assert_eq!(site.get("bucket/aux/deep/x"), "aux");

    // One log, in the order of writing.
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
        ("MA_LOG_DIR", format!("{modelarts}/log")),
        ("TMPDIR", format!("{}/tmp", worker.display())),
        ("aux", format!("{modelarts}/outputs/aux_1")),
        ("MA_TASK_NAME", "worker".into()),
        ("MA_TASK_INDEX", "0".into()),
        ("MA_NUM_HOSTS", "1".into()),
        ("MA_CURRENT_IP", address(&id, 0)),
        (
            "MA_CURRENT_INSTANCE_NAME",
            format!("modelarts-job-{id}-worker-0"),
        ),
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
        // The job's own variables come last and win.
        ("MINE", "yes".into()),
        ("MA_NUM_GPUS", "8".into()),
    ] {
        assert_eq!(environment[name], value, "{name}");
    }
    assert!(
        worker
            .join(format!(
                "home/ma-user/modelarts/log/modelarts-job-{id}-worker-0.log"
            ))
            .is_file()
    );
}

#[tokio::test]
async fn a_command_runs_in_bash_in_its_directory() {
    let site = Site::start().await;
    site.put(
        "bucket/a/demo-code/run.sh",
        "echo ran in $(basename $PWD) with \"$@\"\n",
    );
    let mut job = json!({
        "kind": "job",
        "metadata": {"name": "command"},
        "algorithm": {
            "code_dir": "obs://bucket/a/demo-code",
            "command": "pwd && bash ${MA_JOB_DIR}/demo-code/run.sh \"$@\"",
            "engine": {"image_url": "org/image:1"},
            "parameters": [{"name": "lr", "value": "0.1"}],
        },
        "spec": {"resource": {"pool_id": "pool-cpu"}},
    });
    let id = site.run(&job).await;
    let code = site
        .worker(&id)
        .join("home/ma-user/modelarts/user-job-dir/demo-code");
    assert_eq!(
        site.log(&id).await,
        format!("{}\nran in demo-code with --lr=0.1\n", code.display())
    );
    assert!(site.messages(&id).await[2].ends_with("Successfully pulled image \"org/image:1\""),);

    // Other places, as the request wants them.
    job["metadata"]["name"] = "places".into();
    job["algorithm"]["local_code_dir"] = "/home/ma-user/elsewhere".into();
    job["algorithm"]["working_dir"] = "/home/ma-user/work".into();
    let id = site.run(&job).await;
    let work = site.worker(&id).join("home/ma-user/work");
    assert_eq!(
        site.log(&id).await,
        format!("{}\nran in work with --lr=0.1\n", work.display())
    );

    // Without a code directory.
    job["metadata"]["name"] = "bare".into();
    job["algorithm"] = json!({"command": "echo bare", "engine": {"image_url": "org/image:1"}});
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "bare\n");
    assert_eq!(site.phase(&id).await, "Completed");
}

#[tokio::test]
async fn the_exit_code_decides_and_outputs_come_back_also_after_a_failure() {
    let site = Site::start().await;
    let script = "import sys\nopen(sys.argv[1].split('=')[1] + '/partial', 'w').write('half')\nprint('oh no')\nsys.exit(3)\n";
    let mut job = site.script("failing", script);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}]);
    job["spec"]["log_export_path"] = json!({"obs_url": "/bucket/logs/"});
    let id = site.run(&job).await;
    assert_eq!(site.get("bucket/out/partial"), "half");
    assert_eq!(
        site.get(&format!("bucket/logs/modelarts-job-{id}-worker-0.log")),
        "oh no\n"
    );
    let job = site.details(&id).await;
    assert_eq!(
        job["spec"]["log_export_path"],
        json!({"obs_url": "/bucket/logs/"})
    );
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
async fn what_python_and_bash_say_is_in_the_log() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let job = site.script("raises", "raise ValueError('bad data')");
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert!(
        log.starts_with("Traceback") && log.ends_with("ValueError: bad data\n"),
        "{log}"
    );
    assert_eq!(
        site.details(&id).await["status"]["task_statuses"][0]["exit_code"],
        1
    );

    let job = json!({
        "kind": "job",
        "metadata": {"name": "no-command"},
        "algorithm": {"command": "no-such-program", "engine": {"image_url": "org/image:1"}},
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    });
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert!(
        log.contains("no-such-program") && log.contains("not found"),
        "{log}"
    );
    assert_eq!(
        site.details(&id).await["status"]["task_statuses"][0]["exit_code"],
        127
    );

    // Killed from outside: 128 + 9.
    let script = format!("{}import os\nos.kill(os.getpid(), 9)\n", gate.python());
    let id = site.run(&site.script("killed", &script)).await;
    assert_eq!(
        site.details(&id).await["status"]["task_statuses"][0]["exit_code"],
        137
    );
}

/// The address that a worker of a job has.
fn address(id: &str, index: u32) -> String {
    if !cfg!(target_os = "linux") {
        return "127.0.0.1".into();
    }
    let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
    format!("127.{}.{}.{}", byte(0) % 254 + 1, byte(2), index + 1)
}

#[tokio::test]
async fn a_boot_file_that_vanishes_is_pythons_to_complain_about() {
    let mut timing = Timing::instant();
    timing.creating = Duration::from_secs(1);
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| {
        builder
            .timing(timing)
            .clock(std::sync::Arc::clone(&clock) as _)
    })
    .await;
    let id = site.create(&site.script("vanishes", "")).await;
    site.put("bucket/vanishes/code/other.py", "");
    std::fs::remove_file(
        site.emulator
            .obs_root()
            .join("bucket/vanishes/code/train.py"),
    )
    .unwrap();
    pass(&clock, Duration::from_secs(1)).await;
    site.emulator.settled(&id).await;
    let log = site.log(&id).await;
    assert!(
        log.contains("can't open file") && log.contains("train.py"),
        "{log}"
    );
    assert_eq!(
        site.details(&id).await["status"]["task_statuses"][0]["exit_code"],
        2
    );
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
        builder
            .token("t")
            .timing(timing)
            .clock(std::sync::Arc::clone(&clock) as _)
    })
    .await;
    let url = format!(
        "{}/v2/{}/training-jobs",
        site.emulator.url(),
        site.emulator.project_id()
    );
    let ask = async |request: reqwest::RequestBuilder| -> serde_json::Value {
        let text = request
            .header("x-auth-token", "t")
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
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
    assert_eq!(
        pending["node_count_metrics"],
        json!([[(second + 3) * 1000, 0]])
    );
    assert_eq!(
        (&pending["start_time"], &pending["duration"]),
        (&json!(0), &json!(0))
    );

    // The containers are up; ten seconds to Running.
    pass(&clock, Duration::from_secs(10)).await;
    site.emulator.wait_for(&id, "Running").await.unwrap();
    let start = second + 13;
    let waiting = gate.reached().await;
    let running = status().await;
    assert_eq!(running["start_time"], start * 1000);
    assert_eq!(running["duration"], 0);
    assert_eq!(
        running["node_count_metrics"],
        json!([
            [(second + 3) * 1000, 0],
            [(start - 1) * 1000, 0],
            [start * 1000, 1]
        ])
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
        [
            json!([(start + 267) * 1000, 1]),
            json!([(start + 268) * 1000, 1])
        ]
    );
    waiting.let_through().await;
    // The phase stays Running until the containers have been taken away.
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
        json!([{"start_at": start, "end_at": end, "start_type": "init_or_rescheduled", "end_reason": "job completed"}])
    );
    clock.advance(Duration::from_secs(1000));
    assert_eq!(status().await, completed);
}

/// A process, its child and its grandchild, all with the same last words.
fn family(gate: &Gate, name: &str) -> String {
    format!(
        r#"{}
import os, subprocess, sys, signal, time
pids = [os.getpid()]
child = subprocess.Popen(["bash", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
pids += [child.pid, int(child.stdout.readline())]
{name}
print(*pids, flush=True)
gate()
"#,
        gate.python()
    )
}

#[tokio::test]
async fn terminate_ends_the_whole_process_group() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let mut job = site.script(
        "family",
        &family(
            &gate,
            "open(sys.argv[1].split('=')[1] + '/partial', 'w').write('half')",
        ),
    );
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}]);
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    let log = site.log(&id).await;
    let pids: Vec<&str> = log.split_whitespace().collect();
    assert_eq!(pids.len(), 3, "{log}");
    assert!(pids.iter().all(|pid| is_alive(pid)));
    assert_eq!(site.terminate(&id).await.status, 202);
    site.emulator.wait_for(&id, "Terminated").await.unwrap();
    assert!(pids.iter().all(|pid| !is_alive(pid)));
    waiting.gone().await;
    assert_eq!(site.get("bucket/out/partial"), "half");
    site.emulator.settled(&id).await;
    let messages = site.messages(&id).await;
    let end = messages
        .iter()
        .position(|m| m.contains("TerminateJob"))
        .unwrap();
    assert_eq!(
        messages[end + 1..],
        [
            "[worker-0] Training finished. Exit code 143.",
            "[worker-0] Training output(parameter name: train_url) Uploading.",
            &messages[end + 3],
            "The training job has been manually stopped.",
            "Billing information synchronized.",
        ]
    );
    let status = &site.details(&id).await["status"];
    assert_eq!(status["secondary_phase"], "Terminated");
    assert_eq!(status["running_records"][0]["end_reason"], "exit with 143");
    assert_eq!(status.get("task_statuses"), None);
}

#[tokio::test]
async fn a_job_that_does_not_listen_is_killed_after_the_grace() {
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(std::sync::Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let id = site
        .create(&site.script(
            "deaf",
            &family(&gate, "signal.signal(signal.SIGTERM, signal.SIG_IGN)"),
        ))
        .await;
    let waiting = gate.reached().await;
    site.terminate(&id).await;
    // It hears nothing, so nothing happens before the grace is over.
    pass(&clock, Timing::instant().grace).await;
    site.emulator.settled(&id).await;
    waiting.gone().await;
    assert_eq!(site.phase(&id).await, "Terminated");
    let record = &site.details(&id).await["status"]["running_records"][0];
    assert_eq!(record["end_reason"], "exit with 137");
}

#[tokio::test]
async fn what_a_job_leaves_behind_is_swept_up() {
    let site = Site::start().await;
    let script = "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint(p.pid)\n";
    let id = site.run(&site.script("leaves", script)).await;
    assert_eq!(site.phase(&id).await, "Completed");
    assert!(!is_alive(&site.log(&id).await));
}

#[tokio::test]
async fn jobs_can_be_ended_before_they_run() {
    let mut timing = Timing::instant();
    timing.queuing = Duration::from_secs(3600);
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.timing(timing).clock(clock as _)).await;
    let id = site.create(&site.script("early", "")).await;
    site.emulator.wait_for(&id, "Pending").await.unwrap();
    assert_eq!(site.terminate(&id).await.status, 202);
    site.emulator.settled(&id).await;
    let job = site.details(&id).await;
    assert_eq!(job["status"]["phase"], "Terminated");
    assert_eq!(job["status"]["start_time"], 0);
    assert_eq!(
        site.messages(&id).await,
        [
            "Training job created.",
            "The training job is queuing and awaiting resource allocation.",
            "The training job has been manually stopped.",
        ]
    );
}

#[tokio::test]
async fn a_running_job_can_be_deleted() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let id = site
        .create(&site.script("deleted", &family(&gate, "")))
        .await;
    let waiting = gate.reached().await;
    let log = site.log(&id).await;
    assert_eq!(
        site.client
            .delete(&format!("/training-jobs/{id}"))
            .await
            .text,
        "\"\""
    );
    site.emulator.gone(&id).await;
    assert!(log.split_whitespace().all(|pid| !is_alive(pid)));
    waiting.gone().await;
    assert!(!site.worker(&id).exists());
}

#[tokio::test]
async fn auto_stop_is_honoured() {
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(std::sync::Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let mut job = site.script("limited", &(gate.python() + "gate()"));
    job["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 3});
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    assert_eq!(
        site.details(&id).await["spec"]["auto_stop"],
        json!({"time_unit": "HOURS", "duration": 3})
    );
    clock.advance(Duration::from_secs(3 * 3600));
    waiting.gone().await;
    site.emulator.settled(&id).await;
    let messages = site.emulator.wait_for(&id, "Terminated").await;
    assert_eq!(messages, Ok(()));
    // Signed with the time of the wall, which is three hours behind.
    let target = format!(
        "/v2/{}/training-jobs/{id}/events",
        site.emulator.project_id()
    );
    let now = modelarts_emulator::clock::Clock::now(clock.as_ref());
    let reply = site
        .client
        .signed(reqwest::Method::GET, &target, Vec::new(), now)
        .send()
        .await
        .unwrap();
    let events: serde_json::Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
    let stopped = "The training job has been stopped. (Maximum running duration: 3 hours)";
    assert!(
        events["events"]
            .as_array()
            .unwrap()
            .iter()
            .any(|e| e["message"] == stopped),
        "{events}"
    );
}

#[tokio::test]
async fn several_workers_run_at_once_and_the_first_failure_ends_all() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = format!(
        "{}import os\nprint(os.environ['VC_TASK_INDEX'], os.environ['VC_WORKER_NUM'], os.environ['VC_WORKER_HOSTS'])\ngate()\n",
        gate.python()
    );
    let mut job = site.script("three", &script);
    job["spec"]["resource"]["node_count"] = 3.into();
    let id = site.create(&job).await;
    let workers = [
        gate.reached().await,
        gate.reached().await,
        gate.reached().await,
    ];
    let status = site.details(&id).await["status"].clone();
    assert_eq!(status["tasks"], json!(["worker-0", "worker-1", "worker-2"]));
    assert_eq!(
        status["node_count_metrics"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()[1],
        3
    );
    for index in 0..3 {
        let reply = site
            .client
            .get(&format!(
                "/training-jobs/{id}/tasks/worker-{index}/logs/preview"
            ))
            .await;
        assert_eq!(
            reply.json()["content"],
            format!(
                "{index} 3 {},{},{}\n",
                address(&id, 0),
                address(&id, 1),
                address(&id, 2)
            )
        );
    }
    for worker in workers {
        worker.let_through().await;
    }
    site.emulator.wait_for(&id, "Completed").await.unwrap();

    let script = format!(
        "{}import os\nif os.environ['VC_TASK_INDEX'] == '1': exit(7)\ngate()\n",
        gate.python()
    );
    let mut job = site.script("one-fails", &script);
    job["spec"]["resource"]["node_count"] = 2.into();
    let id = site.run(&job).await;
    assert_eq!(
        site.details(&id).await["status"]["task_statuses"],
        json!([{"task": "worker-1", "exit_code": 7, "message": "exit with 7"}])
    );
}

#[tokio::test]
async fn the_end_of_the_emulator_is_the_end_of_its_jobs() {
    for orderly in [true, false] {
        let site = Site::start().await;
        let gate = Gate::new().await;
        let id = site
            .create(&site.script("orphan", &family(&gate, "")))
            .await;
        let waiting = gate.reached().await;
        let log = site.log(&id).await;
        if orderly {
            site.emulator.shutdown().await;
            assert!(log.split_whitespace().all(|pid| !is_alive(pid)));
        } else {
            drop(site.emulator);
        }
        // When dropped, killed but not waited for.
        waiting.gone().await;
    }
}

//! Heterogeneous jobs: roles with their own code, data and resources.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Cloud,
    clock::ManualClock,
    jobs::RunnerKind,
    pools::{Pool, PoolKind},
    script::Script,
};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Gate, Site, get_at, put};

/// Returns an element of `tasks` that runs `script`.
fn role(site: &Site, job: &str, role: &str, script: &str) -> Value {
    let code = format!("bucket/{job}/{role}/code");
    site.put(&format!("{code}/train.py"), script);
    json!({
        "role": role,
        "algorithm": {
            "code_dir": format!("obs://{code}/"),
            "boot_file": format!("obs://{code}/train.py"),
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
        },
        "task_resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
    })
}

fn job(name: &str, tasks: Value) -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": name, "annotations": {"job_template": "Template RL"}},
        "tasks": tasks,
    })
}

fn obs(name: &str, path: &str) -> Value {
    json!([{"name": name, "remote": {"obs": {"obs_url": path}}}])
}

async fn log(site: &Site, id: &str, task: &str) -> String {
    let path = format!("/training-jobs/{id}/tasks/{task}/logs/preview");
    let reply = site.get(&path).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    reply.json()["content"].as_str().unwrap().to_owned()
}

/// Script that prints the environment of the container, and writes it to the output.
const PRINT_ENVIRONMENT: &str = r#"
import os, sys
names = ["MA_TASK_NAME", "VC_TASK_INDEX", "MA_NUM_HOSTS", "MA_NUM_GPUS", "VC_LEARNER_NUM"]
names += ["VC_WORKER_NUM", "MODE"]
arguments = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
values = " ".join(os.environ.get(name, "-") for name in names)
with open(os.path.join(arguments["data_url"], "data")) as data:
    values += f" {data.read()} {arguments.get('rate', '-')}"
own = os.environ["MA_CURRENT_IP"]
hosts = os.environ["VC_" + os.environ["MA_TASK_NAME"].upper() + "_HOSTS"].split(",")
assert hosts[int(os.environ["VC_TASK_INDEX"])] == own, (hosts, own)
hosts = os.environ["VC_LEARNER_HOSTS"] + "," + os.environ["VC_WORKER_HOSTS"]
assert len(set(hosts.split(","))) == 3
print(values)
name = os.environ["MA_TASK_NAME"] + "-" + os.environ["VC_TASK_INDEX"]
open(os.path.join(arguments["train_url"], name), "w").write(values)
"#;

#[tokio::test]
async fn roles_run_their_own_code_with_their_own_data() {
    let site = Site::start().await;
    site.put("bucket/seeds/data", "seed");
    site.put("bucket/states/data", "state");
    let mut learner = role(&site, "rl", "learner", PRINT_ENVIRONMENT);
    learner["task_resource"] = json!({
        "flavor_id": "modelarts.p3.large.public", "node_count": 1,
    });
    learner["algorithm"]["inputs"] = obs("data_url", "/bucket/states/");
    learner["algorithm"]["outputs"] = obs("train_url", "/bucket/model/");
    learner["algorithm"]["environments"] = json!({"MODE": "learn"});
    learner["log_export_path"] = json!({"obs_url": "/bucket/logs/"});
    let mut worker = role(&site, "rl", "worker", PRINT_ENVIRONMENT);
    worker["task_resource"]["node_count"] = 2.into();
    worker["algorithm"]["job_config"] = json!({
        "parameters": [{"name": "rate", "value": "0.1"}],
        "inputs": obs("data_url", "/bucket/seeds/"),
        "outputs": obs("train_url", "/bucket/rollouts/"),
    });
    let id = site.run(&job("rl", json!([learner, worker]))).await;

    let details = site.details(&id).await;
    assert_eq!(details["status"]["phase"], "Completed", "{details}");
    let tasks = json!(["learner-0", "worker-0", "worker-1"]);
    assert_eq!(details["status"]["tasks"], tasks);
    assert_eq!(details["status"]["node_count_metrics"].as_array().unwrap().last().unwrap()[1], 3);
    assert_eq!((details.get("algorithm"), details.get("spec")), (None, None));
    let shown = &details["tasks"];
    assert_eq!(
        shown[0]["algorithm"],
        json!({
            "code_dir": "/bucket/rl/learner/code/",
            "boot_file": "/bucket/rl/learner/code/train.py",
            "engine": {
                "engine_name": "PyTorch", "engine_version": "pytorch_1.8.0",
                "v1_compatible": false, "run_user": "1102",
            },
            "inputs": [{
                "name": "data_url",
                "local_dir": "/home/ma-user/modelarts/inputs/data_url_0",
                "remote": {"obs": {"obs_url": "/bucket/states/"}},
            }],
            "outputs": [{
                "name": "train_url",
                "local_dir": "/home/ma-user/modelarts/outputs/train_url_0",
                "remote": {"obs": {"obs_url": "/bucket/model/"}},
                "mode": "upload_periodically",
                "period": "30s",
            }],
            "environments": {"MODE": "learn"},
        })
    );
    assert_eq!(
        (&shown[0]["role"], &shown[0]["log_export_path"]),
        (&"learner".into(), &json!({"obs_url": "/bucket/logs/"}))
    );
    assert_eq!(
        (&shown[1]["role"], &shown[1]["task_resource"]["flavor_id"]),
        (&"worker".into(), &"modelarts.vm.cpu.8u".into())
    );

    for (task, values, output) in [
        ("learner-0", "learner 0 1 1 1 2 learn state -", "bucket/model/learner-0"),
        ("worker-0", "worker 0 2 0 1 2 - seed 0.1", "bucket/rollouts/worker-0"),
        ("worker-1", "worker 1 2 0 1 2 - seed 0.1", "bucket/rollouts/worker-1"),
    ] {
        assert_eq!(log(&site, &id, task).await, format!("{values}\n"));
        assert_eq!(site.read(output), values);
    }
    let exported = site.emulator.obs_root().join("bucket/logs");
    let exported: Vec<_> = std::fs::read_dir(exported).unwrap().flatten().collect();
    assert_eq!(exported.len(), 1);
    assert_eq!(
        exported[0].file_name().to_str().unwrap(),
        format!("modelarts-job-{id}-learner-0.log")
    );

    let rows = site.get(&format!("/training-jobs/{id}/tasks")).await;
    let rows = rows.json();
    let names: Value = rows.as_array().unwrap().iter().map(|row| row["task"].clone()).collect();
    assert_eq!(names, tasks);
    let addresses = rows.as_array().unwrap().iter().map(|row| row["ip"].to_string());
    assert_eq!(addresses.collect::<std::collections::BTreeSet<_>>().len(), 3);
    let none = site.get(&format!("/training-jobs/{id}/metrics/learner-1")).await;
    none.refused(400, "ModelArts.2788");
    let found = json!({"filters": [{"key": "name", "operator": "like", "value": ["rl"]}]});
    let found = site.post("/training-job-searches", &found).await.json();
    assert_eq!(found["items"][0]["tasks"], details["tasks"]);
}

#[tokio::test]
async fn a_role_that_fails_ends_the_others() {
    let site = Site::start().await;
    let (well, ill) = (Gate::new().await, Gate::new().await);
    let learner = role(&site, "model", "learner", &(well.python() + "gate()"));
    let worker = role(&site, "model", "worker", &(ill.python() + "gate()\nexit(7)"));
    let id = site.create(&job("model", json!([learner, worker]))).await;
    let waiting = well.reached().await;
    ill.reached().await.let_through().await;
    waiting.wait_until_gone().await;
    site.emulator.wait_until_settled(&id).await;
    let status = site.details(&id).await["status"].take();
    assert_eq!(status["phase"], "Failed");
    assert_eq!(
        status["task_statuses"],
        json!([{"task": "worker-0", "exit_code": 7, "message": "exit with 7"}])
    );
    let messages = site.messages(&id).await;
    for message in [
        "[worker-0] Training finished. Exit code 7.",
        "[learner-0] Training finished. Exit code 143.",
    ] {
        assert!(messages.contains(&message.to_owned()), "{messages:?}");
    }
}

#[tokio::test]
async fn roles_run_again_after_a_restart_of_the_emulator() {
    let data = tempfile::tempdir().unwrap();
    let obs = tempfile::tempdir().unwrap();
    let start = || Site::with(|builder| builder.data_dir(data.path()).obs_root(obs.path()));
    let site = start().await;
    let gate = Gate::new().await;
    let script = gate.python() + "import os\ngate()\nprint(os.environ['MA_TASK_NAME'])";
    let tasks = ["learner", "worker"].map(|name| role(&site, "model", name, &script));
    let id = site.create(&job("model", json!(tasks))).await;
    let (_first, _second) = (gate.reached().await, gate.reached().await);
    drop(site);
    let site = start().await;
    let (first, second) = (gate.reached().await, gate.reached().await);
    first.let_through().await;
    second.let_through().await;
    site.emulator.wait_for(&id, "Completed").await.unwrap();
    assert_eq!(log(&site, &id, "learner-0").await, "learner\n");
    assert_eq!(log(&site, &id, "worker-0").await, "worker\n");
}

#[tokio::test]
async fn a_job_waits_for_the_nodes_of_all_roles() {
    let site = Site::with(|builder| builder.pool(Pool::new("two", PoolKind::Cpu, 2))).await;
    let gate = Gate::new().await;
    let in_pool = |name: &str, task: &str, nodes: u32| {
        let mut role = role(&site, name, task, &(gate.python() + "gate()"));
        role["task_resource"] = json!({"pool_id": "two", "node_count": nodes});
        role
    };
    let mut small = site.script("small", &(gate.python() + "gate()"));
    small["spec"] = json!({"resource": {"pool_id": "two"}});
    let small = site.create(&small).await;
    let running = gate.reached().await;
    let tasks = json!([in_pool("roles", "learner", 1), in_pool("roles", "worker", 1)]);
    let id = site.create(&job("roles", tasks)).await;
    site.emulator.wait_for(&id, "Pending").await.unwrap();
    running.let_through().await;
    site.emulator.wait_for(&small, "Completed").await.unwrap();
    let (first, second) = (gate.reached().await, gate.reached().await);
    assert_eq!(site.phase(&id).await, "Running");
    first.let_through().await;
    second.let_through().await;
    site.emulator.wait_for(&id, "Completed").await.unwrap();

    let mut other = in_pool("other", "learner", 1);
    other["task_resource"] = json!({"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1});
    let tasks = json!([other, in_pool("other", "worker", 1)]);
    let reply = site.post("/training-jobs", &job("other", tasks)).await;
    reply.refused(501, "Emulator.0501");
    let sentence = reply.json()["error_msg"].as_str().unwrap().to_owned();
    assert!(
        sentence.contains("tasks[1].task_resource.pool_id must be that of tasks[0]"),
        "{sentence}"
    );
}

#[tokio::test]
async fn roles_are_checked_by_the_rules_for_jobs() {
    let site = Site::start().await;
    let sound = || role(&site, "model", "worker", "");
    let with = |pointer: &str, value: Value| {
        let mut role = sound();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        role.pointer_mut(parent).unwrap()[name] = value;
        role
    };
    for (second, code, sentence) in [
        (
            json!({"task_resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}}),
            "ModelArts.2788",
            "Invalid parameter(tasks[1].algorithm.boot_file is required).",
        ),
        (
            with("/role", "a/b".into()),
            "ModelArts.2788",
            "Invalid parameter(tasks[1].role must be 1 to 64 letters, digits, hyphens or \
             underscores).",
        ),
        (
            with("/task_resource/flavor_id", Value::Null),
            "ModelArts.2788",
            "Invalid parameter(tasks[1].task_resource.flavor_id is required where there is no \
             tasks[1].task_resource.pool_id).",
        ),
        (
            with("/task_resource/flavor_id", "modelarts.none".into()),
            "ModelArts.2781",
            "tasks[1]: Flavor (modelarts.none) not found.",
        ),
        (
            with("/algorithm/boot_file", "obs://bucket/elsewhere/train.py".into()),
            "ModelArts.2792",
            "tasks[1]: The boot_file does not belong to the package_id directory.",
        ),
        (
            with("/algorithm/local_code_dir", "/tmp".into()),
            "ModelArts.2857",
            "tasks[1]: The local_code_dir parameter verification failed for reason(it must be a \
             directory below /home)",
        ),
        (
            with("/algorithm/job_config", json!({"parameters": [{"value": "1"}]})),
            "ModelArts.2788",
            "Invalid parameter(tasks[1].algorithm.job_config.parameters[0].name is required).",
        ),
    ] {
        let reply = site.post("/training-jobs", &job("model", json!([sound(), second]))).await;
        assert_eq!(reply.error(), (400, code.to_owned()), "{}", reply.text);
        assert_eq!(reply.json()["error_msg"], sentence);
    }
    let mut both = job("model", json!([sound()]));
    both["algorithm"] = site.script("plain", "")["algorithm"].take();
    let reply = site.post("/training-jobs", &both).await;
    reply.refused(501, "Emulator.0501");

    // Elements with the same role, or without a role, share one sequence of tasks.
    let mut nameless = sound();
    nameless.as_object_mut().unwrap().remove("role");
    let tasks = json!([nameless, with("/role", "".into()), sound()]);
    let id = site.run(&job("model", tasks)).await;
    assert_eq!(
        site.details(&id).await["status"]["tasks"],
        json!(["worker-0", "worker-1", "worker-2"])
    );
}

#[tokio::test]
async fn simulated_roles_follow_the_script_of_their_task() {
    let script = json!({"default": [{"seconds": 300, "tasks": {
        "learner-0": {"log": ["learned"], "metrics": {"gpuUtil": 80}, "exit_code": 3},
    }}]});
    let script = Script::from_json(&script.to_string()).unwrap();
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| {
        builder.runner(RunnerKind::Simulated(script)).clock(clock).cloud(Cloud::Huawei)
    })
    .await;
    let tasks = ["worker", "learner"].map(|name| role(&site, "model", name, ""));
    let mut job = job("model", json!(tasks));
    job["kind"] = "hetero_job".into();
    let id = site.create(&job).await;
    assert!(site.emulator.advance(Duration::from_secs(400)).await);
    assert_eq!(log(&site, &id, "learner-0").await, "learned\n");
    let details = site.details(&id).await;
    assert_eq!(details["kind"], "hetero_job");
    assert_eq!(details["status"]["task_statuses"][0]["task"], "learner-0");
    let metrics = async |task: &str| {
        let path = format!("/training-jobs/{id}/metrics/{task}");
        let metrics = site.get(&path).await.json();
        assert_eq!(metrics["metrics"][2]["metric"], "gpuUtil");
        metrics["metrics"][2]["value"][3].clone()
    };
    assert_eq!(metrics("learner-0").await, 80.0);
    assert_eq!(metrics("worker-0").await, -1.0);
}

#[tokio::test]
async fn the_whole_job_ends_and_waits_as_its_spec_says() {
    let site = Site::with(|builder| builder.pool(Pool::new("two", PoolKind::Cpu, 2))).await;
    let gate = Gate::new().await;
    let mut small = site.script("small", &(gate.python() + "gate()"));
    small["spec"] = json!({"resource": {"pool_id": "two"}});
    site.create(&small).await;
    let running = gate.reached().await;
    let roles = ["learner", "worker"].map(|name| {
        let mut role = role(&site, "spec", name, "");
        role["task_resource"] = json!({"pool_id": "two", "node_count": 1});
        role
    });
    let mut job = job("spec", json!(roles));
    job["spec"] = json!({
        "auto_stop": {"time_unit": "HOURS", "duration": 2},
        "resource": {"flavor_id": "modelarts.vm.cpu.8u", "pool_group_id": "g"},
        "volumes": [{"pfs": {"pfs_path": "/bucket/pfs/", "local_path": "/home/ma-user/pfs"}}],
        "log_export_path": {"obs_url": "/bucket/logs/"},
        "schedule_policy": {"priority": 1},
    });
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(
        reply.headers["x-emulator-ignored"],
        "metadata.annotations.job_template,spec.log_export_path,spec.resource,spec.volumes"
    );
    let id = reply.json()["metadata"]["id"].as_str().unwrap().to_owned();
    assert_eq!(site.details(&id).await["spec"], job["spec"]);
    site.emulator.wait_for(&id, "Pending").await.unwrap();
    let path = format!("/training-jobs/{id}");
    let change = json!({"spec": {"schedule_policy": {"priority": 2}}});
    assert_eq!(put(&site, &path, change.clone()).await.status, 200);
    let policy = |details: Value| details["spec"]["schedule_policy"].clone();
    assert_eq!(policy(site.details(&id).await), json!({"priority": 2}));
    // The response contains `spec` even if the request does not.
    job.as_object_mut().unwrap().remove("spec");
    job["metadata"]["name"] = "bare".into();
    let bare = site.create(&job).await;
    site.emulator.wait_for(&bare, "Pending").await.unwrap();
    put(&site, &format!("/training-jobs/{bare}"), change).await;
    let details = site.details(&bare).await;
    assert_eq!(details["spec"], json!({"schedule_policy": {"priority": 2}}));
    running.let_through().await;

    let strict = Site::with(|builder| builder.strict(true)).await;
    let mut job = self::job("strict", json!([role(&strict, "strict", "worker", "")]));
    job["spec"] = json!({"volumes": [{"pfs": {"pfs_path": "/b/", "local_path": "/home/b"}}]});
    let reply = strict.post("/training-jobs", &job).await;
    reply.refused(501, "Emulator.0501");
}

#[tokio::test]
async fn roles_stop_after_the_hours_of_the_job() {
    let script = json!({"default": [{"seconds": 36000}]});
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| {
        builder
            .runner(RunnerKind::Simulated(Script::from_json(&script.to_string()).unwrap()))
            .clock(clock.clone())
    })
    .await;
    let mut job = job("hours", json!([role(&site, "hours", "worker", "")]));
    job["spec"] = json!({"auto_stop": {"time_unit": "HOURS", "duration": 2}});
    job["algorithm"] = json!({});
    let id = site.create(&job).await;
    assert!(site.emulator.advance(Duration::from_secs(3 * 3600)).await);
    let details = get_at(&site, &clock, &format!("/training-jobs/{id}")).await;
    assert_eq!(details.json()["status"]["phase"], "Terminated");
}

#[tokio::test]
async fn code_and_place_are_those_of_the_roles() {
    let site = Site::start().await;
    for (at, spec) in [
        json!({}),
        json!({"resource": {}}),
        json!({"auto_stop": {"time_unit": "HOURS", "duration": 1}}),
        json!({"volumes": [{"nfs": {"nfs_server_path": "h:/a", "local_path": "/home/ma-user/a"}}]}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut job = job(&format!("job-{at}"), json!([role(&site, "model", "worker", "")]));
        job["spec"] = spec;
        job["algorithm"] = json!({});
        let reply = site.post("/training-jobs", &job).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
}

#[tokio::test]
async fn members_of_a_role_that_no_document_has_are_only_named() {
    let site = Site::start().await;
    let mut worker = role(&site, "model", "worker", "import sys; sys.exit(len(sys.argv) > 1)");
    worker["algorithm"]["job_config"] = json!({"code_dir": "/none/", "boot_file": "/none/a.py"});
    worker["algorithm"]["policies"] = json!({"auto_search": {"reward_attrs": []}});
    worker["algorithm"]["parameters"] = json!([{"name": "a", "value": "1"}]);
    let mut shell = role(&site, "model", "shell", "");
    shell["algorithm"] = json!({"engine": {"image_url": "org/image:1"}, "command": "true"});
    let reply = site.post("/training-jobs", &job("model", json!([worker, shell]))).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(
        reply.headers["x-emulator-ignored"],
        "metadata.annotations.job_template,tasks[].algorithm.job_config.boot_file,\
         tasks[].algorithm.job_config.code_dir,tasks[].algorithm.parameters"
    );
    let id = reply.json()["metadata"]["id"].as_str().unwrap().to_owned();
    site.emulator.wait_for(&id, "Completed").await.unwrap();
}

#[tokio::test]
async fn a_pool_has_nodes_for_all_roles_or_refuses() {
    let site = Site::with(|builder| builder.pool(Pool::new("two", PoolKind::Cpu, 2))).await;
    let tasks = ["learner", "worker"].map(|name| {
        let mut role = role(&site, "model", name, "");
        role["task_resource"] = json!({"pool_id": "two", "node_count": 2});
        role
    });
    let reply = site.post("/training-jobs", &job("model", json!(tasks))).await;
    reply.refused(400, "ModelArts.2793");
    let alone = site.post("/training-jobs", &job("model", json!([tasks[0]]))).await;
    assert_eq!(alone.status, 201, "{}", alone.text);
}

#[tokio::test]
async fn roles_whose_variables_have_one_name_are_refused() {
    let site = Site::start().await;
    let tasks = ["a-b", "a_b"].map(|name| role(&site, "model", name, ""));
    let reply = site.post("/training-jobs", &job("model", json!(tasks))).await;
    reply.refused(501, "Emulator.0501");
    let sentence = reply.json()["error_msg"].as_str().unwrap().to_owned();
    assert!(sentence.contains("the roles a-b and a_b"), "{sentence}");
    assert!(sentence.contains("tasks[1].role must"), "{sentence}");
}

//! Jobs that run to their end: one worker, several workers, GPUs, other clients.

use std::net::TcpListener;

use modelarts_emulator::jobs::Container;

use super::*;

/// Root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The job of the quick start, with the command of SLURM.md: code and data through OBS, log and
/// output. Without a configuration, the flavor asks for its own 8 CPUs, 64 GB and one GPU.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn the_tool_submits_follows_and_downloads() {
    let lab = Lab::start("").await;
    fs::create_dir(lab.site.emulator.obs_root().join("bucket")).unwrap();
    let sample = Path::new(ROOT).join("crates/modelarts-quickstart/sample");
    let out = lab.cluster.shared.join("download");
    let (sample, download) = (sample.display(), out.display());
    let text = lab
        .tool(&format!(
            "submit {sample}/code/train.py --bucket bucket --flavor modelarts.p3.large.public \
             --data {sample}/data --out train_url --param epochs=40 --download {download}"
        ))
        .await;
    for part in [
        "400 rows, 4 features",
        "accuracy 0.9083 on 120 rows",
        "[worker-0] training started.",
        "[worker-0] Training finished. Exit code 0.",
    ] {
        assert!(text.contains(part), "{part:?} must be in\n{text}");
    }
    let id = lab.tool("ls --output id").await;
    let id = id.trim();
    assert_eq!(lab.log(id, 0).await.lines().count(), 42);
    let metrics = fs::read_to_string(out.join("train_url/metrics.json")).unwrap();
    assert!(metrics.contains("\"accuracy\": 0.9083"), "{metrics}");
    assert!(out.join("train_url/model.json").is_file());
    lab.states(id, &["COMPLETED"]).await;
    assert_eq!(jobs_of(id, "%C %m %b").await, ["8 64G gres:gpu:1"]);
}

/// The first worker listens at the first of `VC_WORKER_HOSTS`. The others connect to it. Each
/// receives the sum of the indexes.
const MEETING: &str = "
import os, socket
hosts = os.environ['VC_WORKER_HOSTS'].split(',')
index = int(os.environ['VC_TASK_INDEX'])
address = (hosts[0], int(os.environ['MEETING_PORT']))
server = socket.create_server(address) if index == 0 else None
gate()
if server:
    others = [server.accept()[0] for _ in hosts[1:]]
    total = sum(int(other.recv(1)) for other in others)
    for other in others:
        other.sendall(str(total).encode())
else:
    connection = socket.create_connection(address)
    connection.sendall(str(index).encode())
    total = int(connection.recv(9))
print('worker', index, 'of', os.environ['MA_NUM_HOSTS'], 'received', total)
";

/// Three workers on three nodes meet over TCP.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn three_workers_meet_over_tcp() {
    let lab = Lab::start("").await;
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let port = free.unwrap().port();
    let mut job = lab.job("meeting", 3, MEETING);
    job["algorithm"]["environments"]["MEETING_PORT"] = port.to_string().into();
    let id = lab.site.create(&job).await;
    let_through(lab.reached(3).await).await;
    lab.reach(&id, "Completed").await;
    let tasks = &lab.status(&id).await["tasks"];
    assert_eq!(*tasks, json!(["worker-0", "worker-1", "worker-2"]));
    for index in 0..3 {
        let line = format!("worker {index} of 3 received 3\n");
        assert_eq!(lab.log(&id, index).await, line);
    }
    lab.states(&id, &["COMPLETED"]).await;
    assert_eq!(jobs_of(&id, "%N %C %m %b").await, ["n[1-3] 24 32G N/A"]);
}

/// Code that is written for a container of the service finds its paths, and the names of its workers.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn nodes_have_the_container_view() {
    if Container::check().await.is_err() {
        return;
    }
    let lab = Lab::with("", |builder| builder.container(Container::Auto)).await;
    let script = "
import os, socket
import moxing
print(os.getcwd(), os.path.isdir('/home/ma-user/modelarts/user-job-dir'), os.environ['HOME'])
for host in os.environ['VC_WORKER_HOSTS'].split(','):
    print(host.split('.')[0].rsplit('-', 2)[1:], socket.gethostbyname(host))
";
    let mut job = lab.job("view", 2, "");
    lab.site.put("bucket/view/code/train.py", script);
    job["algorithm"]["code_dir"] = "obs://bucket/view/code/".into();
    job["algorithm"]["boot_file"] = "obs://bucket/view/code/train.py".into();
    let id = lab.site.create(&job).await;
    lab.reach(&id, "Completed").await;
    let expected = "/home/ma-user/modelarts/user-job-dir/code True /home/ma-user\n\
                    ['worker', '0'] 127.0.0.1\n['worker', '1'] 127.0.0.1\n";
    for index in 0..2 {
        assert_eq!(lab.log(&id, index).await, expected);
    }
}

/// A worker exits with 7 when all have started: the job fails with its name, and the others end.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn the_exit_code_of_a_worker_is_that_of_the_job() {
    let lab = Lab::start("").await;
    let script = "
import os, time
gate()
if os.environ['VC_TASK_INDEX'] == '1':
    exit(7)
time.sleep(600)
";
    let id = lab.submit("exit", 3, script).await;
    let_through(lab.reached(3).await).await;
    lab.reach(&id, "Failed").await;
    let exit = json!([{"task": "worker-1", "exit_code": 7, "message": "exit with 7"}]);
    assert_eq!(lab.status(&id).await["task_statuses"], exit);
    let diagnosis = lab.explain(&id).await;
    assert_eq!(diagnosis["task"], "worker-1");
    assert_eq!(diagnosis["exit_code"], 7);
    assert_eq!(processes(&lab.cluster.shared), [""; 0]);
    // The accounting of the cluster has the exit code, too.
    lab.states(&id, &["FAILED"]).await;
    let job = jobs_of(&id, "%i").await;
    let details = slurm("scontrol", &["-o", "show", "job", &job[0]]).await;
    assert!(details.contains(" ExitCode=7:0 "), "{details}");
}

/// The flavor asks for two of the eight CPUs of a node, so that three jobs fit on it by CPUs, and
/// two by GPUs. All jobs run on the same node.
const ONE_NODE: &str = r#"
[default]
constraint = "n2"

[flavors."modelarts.p3.large.public"]
cpus-per-task = 2
mem = "1G"
gres = "gpu:1"

[flavors."modelarts.vm.cpu.8u"]
cpus-per-task = 1
mem = "1G"
"#;

const DEVICES: &str = "
import os
devices = os.environ.get('CUDA_VISIBLE_DEVICES', 'none')
print('devices', devices, flush=True)
if devices != 'none':
    gate()
";

/// Two jobs with one GPU each get different ones of a node. A third waits. A job without GPUs sees
/// none.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn jobs_on_a_node_get_different_gpus() {
    let lab = Lab::start(ONE_NODE).await;
    let submit = async |name: &str| {
        let mut job = lab.job(name, 1, DEVICES);
        job["spec"]["resource"]["flavor_id"] = "modelarts.p3.large.public".into();
        lab.site.create(&job).await
    };
    let ids = [submit("first").await, submit("second").await];
    let running = lab.reached(2).await;
    let mut devices = Vec::new();
    for id in &ids {
        // The line is on its way from the node.
        let log = until("a log", async || Some(lab.log(id, 0).await).filter(|log| !log.is_empty()));
        devices.push(log.await);
    }
    devices.sort();
    assert_eq!(devices, ["devices 0\n", "devices 1\n"]);
    let third = submit("third").await;
    lab.event(&third, "Slurm: Resources").await;
    let without = lab.submit("without", 1, DEVICES).await;
    lab.reach(&without, "Completed").await;
    assert_eq!(lab.log(&without, 0).await, "devices none\n");
    assert_eq!(lab.status(&third).await["phase"], "Pending");
    let_through(running).await;
    let_through(lab.reached(1).await).await;
    for id in ids.iter().chain([&third]) {
        lab.reach(id, "Completed").await;
        assert_eq!(jobs_of(id, "%N %C %m %b").await, ["n2 2 1G gres:gpu:1"]);
    }
}

/// The roles of a job get the hardware of their flavors, and reach each other.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn the_roles_of_a_job_have_different_hardware() {
    let lab = Lab::start("").await;
    let script = "
import os
print(os.environ.get('CUDA_VISIBLE_DEVICES', 'none'), os.cpu_count() > 0)
print(os.environ['VC_PS_NUM'], os.environ['VC_WORKER_NUM'], os.environ['VC_TASK_INDEX'])
gate()
";
    let job = lab.job("roles", 1, script);
    let task = |role: &str, flavor: &str, nodes: u32| {
        let algorithm = &job["algorithm"];
        let resource = json!({"flavor_id": flavor, "node_count": nodes});
        json!({"role": role, "algorithm": algorithm, "task_resource": resource})
    };
    let id = lab
        .site
        .create(&json!({
            "kind": "hetero_job",
            "metadata": {"name": "roles"},
            "algorithm": {},
            "tasks": [
                task("ps", "modelarts.vm.cpu.8u", 1),
                task("worker", "modelarts.p3.large.public", 2),
            ],
            "spec": {},
        }))
        .await;
    let_through(lab.reached(3).await).await;
    lab.reach(&id, "Completed").await;
    for (task, text) in [
        ("ps-0", "none True\n1 2 0\n"),
        ("worker-0", "0 True\n1 2 0\n"),
        ("worker-1", "0 True\n1 2 1\n"),
    ] {
        let path = format!("/training-jobs/{id}/tasks/{task}/logs/preview");
        let log = lab.site.get(&path).await.json();
        assert_eq!(log["content"], text, "{task}");
    }
    let hardware = jobs_of(&id, "%D %C %m %b").await;
    assert_eq!(hardware, ["1 8 32G N/A", "2 16 64G gres:gpu:1"]);
}

/// The official Python SDK creates, lists, follows, stops and deletes jobs.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn the_official_sdk_works() {
    let lab = Lab::start("").await;
    let code = "
import sys, time
given = dict(argument.lstrip('-').split('=') for argument in sys.argv[1:])
for epoch in range(int(given['epochs'])):
    print('epoch', epoch + 1, flush=True)
    time.sleep(float(given.get('pause', 0)))
";
    lab.site.put("example/code/train.py", code);
    let official = Path::new(ROOT).join("openapi/clients/official");
    let mut venv = Command::new(Path::new(ROOT).join(".ci/venv"));
    venv.arg("official").arg(official.join("requirements.txt"));
    let python = output(&mut venv).await;
    let mut driver = Command::new(python.trim());
    driver.arg("-B").arg(official.join("drive.py"));
    driver.envs(lab.site.emulator.envs());
    // The SDK writes an id into the home directory.
    driver.env("HOME", &lab.cluster.shared);
    output(driver.env("MODELARTS_OBS", "obs://example")).await;
    assert_eq!(queue().await, [""; 0]);
}

/// Tests of this program whose jobs copy, install, log, restart, search and end. They move no clock,
/// and inject no faults: the program on the nodes has its own.
const TESTS: [&str; 19] = [
    "execution::restart::a_failed_job_runs_again_and_gets_its_old_outputs",
    "execution::restart::a_job_that_is_stopped_does_not_run_again",
    "execution::restart::restarts_are_counted",
    "execution::running::output_of_python_and_bash_is_in_the_log",
    "execution::running::the_exit_code_decides_and_outputs_come_back_also_after_a_failure",
    "execution::stopping::a_running_job_can_be_deleted",
    "execution::stopping::processes_left_by_a_job_are_ended",
    "execution::trials::a_search_whose_trials_all_fail_has_failed_and_a_stopped_one_is_terminated",
    "execution::trials::searches_with_the_same_seed_try_the_same_points",
    "execution::trials::trials_are_listed_by_page_and_shown_by_report",
    "runner::copies::a_download_ends_with_a_request_to_stop",
    "runner::packages::a_missing_package_is_an_event_and_the_job_continues",
    "runner::packages::a_stop_ends_an_installation_with_all_its_programs",
    "runner::storage::a_log_has_a_cap",
    "runner::storage::data_sets_come_from_their_directory",
    "runner::storage::logs_of_libraries_are_copied_out_beside_that_of_the_worker",
    "runner::storage::the_cache_is_a_link_in_the_home_and_empty_in_the_end",
    "runner::storage::three_workers_of_the_example_sum_their_values",
    "runner::storage::volumes_are_directories_of_the_obs_root_and_of_the_nfs_root",
];

/// Tests of jobs on one machine pass with their jobs on the cluster.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn tests_of_one_machine_pass_on_the_cluster() {
    let cluster = Cluster::new().await;
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "--test-threads", "4"]).args(TESTS);
    let text = output(command.env(SHARED, &cluster.shared)).await;
    assert!(text.contains(&format!(" {} passed", TESTS.len())), "{text}");
}

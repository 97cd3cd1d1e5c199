//! The container view: paths, names, processes and the end of code that runs in it.

use std::{ffi::OsString, fs, path::Path, time::Duration};

use modelarts_emulator::{
    Builder, Timing,
    jobs::Container,
    quirks::{JobObsKeys, Quirks},
};
use serde_json::{Value, json};

#[cfg(feature = "cli")]
use crate::support::program::{self, Program};
use crate::support::{Gate, Site, Waiting};

/// Starts an emulator with the container view, or returns `None` where the machine cannot have one.
/// In CI, the view must work.
async fn viewed(set: impl FnOnce(Builder) -> Builder) -> Option<Site> {
    if let Err(reason) = Container::check().await {
        assert!(std::env::var_os("CI").is_none(), "no container view: {reason}");
        eprintln!("skipped, because this machine has no container view: {reason}");
        return None;
    }
    Some(Site::with(|builder| set(builder.container(Container::Bwrap))).await)
}

/// Returns a job with a custom image whose code directory has the script `run.sh`.
fn command_job(site: &Site, name: &str, script: &str) -> Value {
    site.put(&format!("bucket/{name}/my-Code/run.sh"), script);
    json!({
        "kind": "job",
        "metadata": {"name": name},
        "algorithm": {
            "code_dir": format!("obs://bucket/{name}/my-Code/"),
            "command": "bash /home/ma-user/modelarts/user-job-dir/my-Code/run.sh",
            "engine": {"image_url": "org/image:1"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    })
}

#[tokio::test]
async fn code_finds_the_paths_of_the_service() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let script = r#"
import getpass, os, socket
home = "/home/ma-user/modelarts"
assert getpass.getuser() == "ma-user", getpass.getuser()
assert os.path.expanduser("~ma-user") == "/home/ma-user"
assert os.path.abspath(__file__) == f"{home}/user-job-dir/code/train.py", __file__
assert os.getcwd() == f"{home}/user-job-dir/code", os.getcwd()
print(open(f"{home}/inputs/data_url_0/a.txt").read())
open(f"{home}/outputs/train_url_0/model.txt", "w").write("model")
open("/cache/scratch.txt", "w").write("x")
assert os.path.samefile("/cache", "/home/ma-user/cache")
assert os.listdir("/tmp") == [] and os.environ["TMPDIR"] == "/tmp"
for name, value in [
    ("HOME", "/home/ma-user"), ("MA_HOME", "/home/ma-user"),
    ("MA_MOUNT_PATH", home), ("MA_LOG_DIR", f"{home}/log"),
    ("MA_JOB_DIR", f"{home}/user-job-dir"), ("PYTHONPATH", f"{home}/user-job-dir"),
    ("MA_CODE_DIR", f"{home}/user-job-dir/code"),
    ("VC_WORKER_HOSTS", "{pod}.{job}".format(
        pod=os.environ["MA_CURRENT_INSTANCE_NAME"],
        job=os.environ["MA_VJ_NAME"].replace("ma-job", "modelarts-job"))),
]:
    assert os.environ[name] == value, (name, os.environ[name])
job = os.environ["MA_VJ_NAME"]
for host in [os.environ["VC_WORKER_HOSTS"], f"{job}-worker-0.{job}", socket.gethostname()]:
    assert socket.gethostbyname(host) == os.environ["MA_CURRENT_IP"], host
raise SystemExit(f"the home is {sorted(os.listdir(home))}")
"#;
    let mut job = site.script("paths", script);
    site.put("bucket/data/a.txt", "data");
    job["algorithm"]["inputs"] =
        json!([{"name": "data_url", "remote": {"obs": {"obs_url": "obs://bucket/data/"}}}]);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "obs://bucket/out/"}}}]);
    let id = site.run(&job).await;
    assert_eq!(
        site.log(&id).await,
        "data\nthe home is ['inputs', 'log', 'outputs', 'package', 'user-job-dir']\n"
    );
    assert_eq!(site.read("bucket/out/model.txt"), "model");
    // Nothing of the view stays on this machine.
    for path in ["/cache/scratch.txt", "/.modelarts-emulator", "/home/ma-user/modelarts/log"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
}

/// Body with the shape of a job that ran on the live service (`openapi/attested`). The service also
/// showed that the arguments of the command come before the appended ones, which have another order
/// than in the request.
const LIVE_JOB: &str =
    include_str!("../../../../../openapi/attested/bodies/ember-job-appended-arguments.json");

#[tokio::test]
async fn the_job_of_the_live_run_completes_with_ten_arguments() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let script = r#"
set -e
printf '%s\n' "$@"
[ "$MA_CODE_DIR" = /home/ma-user/modelarts/user-job-dir/Ember-Kit ]
cat "$EMBER_BASE" > /cache/result.txt
cat "$EMBER_ROWS" >> /cache/result.txt
python -c 'import moxing, os
moxing.file.copy_parallel("/cache", os.environ["EMBER_TARGET"])'
"#;
    let code = "heron-lab-4821/Ember-Kit";
    site.put(&format!("{code}/start.sh"), script);
    site.put(&format!("{code}/base/small"), "weights ");
    site.put(&format!("{code}/rows"), "rows");
    let own = ["--gamma=0.3", "--rate=2e-4", "--blend=1.5", "--rounds=2", "--seed=7"];
    let mut sorted = own;
    sorted.sort_unstable();
    let mut orders = std::collections::BTreeSet::new();
    let preset = json!({"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"});
    for (run, engine) in [None, Some(preset), None, None].into_iter().enumerate() {
        let mut job: Value = serde_json::from_str(LIVE_JOB).unwrap();
        job["metadata"]["name"] = format!("ember-{run}").into();
        if let Some(engine) = engine {
            job["algorithm"]["engine"] = engine;
        }
        let id = site.run(&job).await;
        let log = site.log(&id).await;
        assert_eq!(site.phase(&id).await, "Completed", "{log}");
        let mut arguments: Vec<&str> = log.lines().collect();
        let mut appended = arguments.split_off(5);
        assert_eq!(arguments, own);
        orders.insert(appended.join(" "));
        appended.sort_unstable();
        assert_eq!(appended, sorted);
        let target = "heron-lab-4821/ember-out/result.txt";
        assert_eq!(site.read(target), "weights rows");
        fs::remove_file(site.emulator.obs_root().join(target)).unwrap();
    }
    assert!(orders.len() > 1, "{orders:?}");
}

#[tokio::test]
async fn volumes_and_directories_below_home_are_at_their_paths() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let users = fs::read_dir("/home").unwrap().flatten();
    let user = users.map(|user| user.file_name().into_string().unwrap());
    let user = { user }.find(|user| user != "ma-user");
    let script = "cd /data/new/volume && cat a.txt && echo b > b.txt && pwd -P";
    let mut job = command_job(&site, "volumes", script);
    site.put("bucket/volume/a.txt", "a\n");
    job["algorithm"]["local_code_dir"] = "/home/view-test/elsewhere".into();
    job["algorithm"]["command"] = "bash /home/view-test/elsewhere/my-Code/run.sh".into();
    job["spec"]["volumes"] = json!([{"obs": {
        "obs_path": "obs://bucket/volume/", "local_path": "/data/new/volume"}}]);
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "a\n/data/new/volume\n");
    assert_eq!(site.read("bucket/volume/b.txt"), "b\n");
    assert!(!Path::new("/data/new").exists() && !Path::new("/home/view-test").exists());

    let Some(user) = user else { return };
    job["metadata"]["name"] = "of-a-user".into();
    job["algorithm"]["local_code_dir"] = format!("/home/{user}/code").into();
    let id = site.run(&job).await;
    assert_eq!(site.phase(&id).await, "Failed");
    assert_eq!(
        site.log(&id).await,
        format!(
            "[ModelArts Service Log] the code did not start: local_code_dir, working_dir and \
             local_dir \
             must not be in /home/{user}, which is a home directory of this machine: use a \
             directory \
             below /home/ma-user\n"
        )
    );
}

/// SIGTERM reaches the code and not bubblewrap, which would end the code before its handler does.
#[tokio::test]
async fn a_handler_of_sigterm_completes_and_decides_the_exit_code() {
    let mut timing = Timing::instant();
    timing.grace = Duration::from_secs(20);
    let Some(site) = viewed(|builder| builder.timing(timing)).await else {
        return;
    };
    let gate = Gate::new().await;
    let script = format!(
        r#"{}
import signal, sys
def save(*_):
    import time
    time.sleep(1)
    open("/home/ma-user/modelarts/outputs/train_url_0/checkpoint", "w").write("saved")
    print("saved", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
gate()
"#,
        gate.python()
    );
    let mut job = site.script("saves", &script);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "obs://bucket/saved/"}}}]);
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    assert_eq!(site.terminate(&id).await.status, 202);
    site.emulator.wait_until_settled(&id).await;
    drop(waiting);
    assert_eq!(site.phase(&id).await, "Terminated");
    assert_eq!(site.log(&id).await, "saved\n");
    assert_eq!(site.read("bucket/saved/checkpoint"), "saved");
}

#[tokio::test]
async fn exit_codes_and_signals_of_the_code_are_those_of_the_job() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    for (script, code) in [("exit 7", 7), ("kill -KILL $$", 137), ("no-such-command", 127)] {
        let id = site.run(&command_job(&site, &format!("exit-{code}"), script)).await;
        let status = &site.details(&id).await["status"];
        assert_eq!(status["task_statuses"][0]["exit_code"], code, "{script}");
    }
}

#[tokio::test]
async fn workers_of_all_roles_meet_by_their_host_names() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let mut job = site.script("reduce", include_str!("../../../examples/all_reduce/train.py"));
    job["spec"]["resource"]["node_count"] = 3.into();
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "rank 0 of 3: mine [1.0, 10.0], all [6.0, 60.0]\n");

    // The workers of one role connect to the other role.
    let script = r#"
import os, socket, time
job, role, rank = (os.environ[name] for name in ("MA_VJ_NAME", "MA_TASK_NAME", "VC_TASK_INDEX"))
name = f"{job}-learner-0.{job}"
if role == "learner":
    with socket.create_server((name, 6667)) as server:
        print(*sorted(server.accept()[0].makefile().readline().strip() for _ in range(2)))
else:
    learner = os.environ["VC_LEARNER_HOSTS"].split(",")[0]
    assert socket.gethostbyname(learner) == socket.gethostbyname(name)
    while True:
        try:
            peer = socket.create_connection((learner, 6667))
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    peer.sendall(f"{socket.gethostname()[-8:]}\n".encode())
"#;
    let roles = [("learner", 1), ("worker", 2)].map(|(role, nodes)| {
        let algorithm = site.script("roles", script)["algorithm"].clone();
        let resource = json!({"flavor_id": "modelarts.vm.cpu.8u", "node_count": nodes});
        json!({"role": role, "algorithm": algorithm, "task_resource": resource})
    });
    let id = site.run(&json!({"kind": "job", "metadata": {"name": "roles"}, "tasks": roles})).await;
    let path = format!("/training-jobs/{id}/tasks/learner-0/logs/preview");
    let log = site.get(&path).await.json();
    assert_eq!(log["content"], "worker-0 worker-1\n");
}

/// Returns the script `run.sh` of a job that starts a process and waits for a line in the file
/// `go`. The process has left the group and has emptied its environment, so that it can only be
/// found by its process ID namespace. It waits at the gate.
fn stray(gate: &Gate) -> String {
    format!(
        "cd ~; mkfifo go; cat > gate.py <<'END'\n{}\ngate()\nEND\n\
         setsid env -i \"$(command -v python3)\" gate.py >/dev/null 2>&1 & cat go >/dev/null",
        gate.python()
    )
}

async fn gone(process: Waiting) {
    let gone = tokio::time::timeout(Duration::from_secs(20), process.wait_until_gone());
    gone.await.expect("a process of the job lives on");
}

#[tokio::test]
async fn processes_without_group_and_environment_end_with_the_job() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let gate = Gate::new().await;
    let id = site.create(&command_job(&site, "ends", &stray(&gate))).await;
    let process = gate.reached().await;
    fs::write(site.worker(&id).join("home/ma-user/go"), "go").unwrap();
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Completed");
    gone(process).await;
}

/// Starts the program with the view, and creates a job that runs the script `run.sh`.
#[cfg(feature = "cli")]
async fn program(place: &Path, script: &str, path: Option<OsString>) -> (Program, String) {
    let code = place.join("obs/bucket/code");
    fs::create_dir_all(&code).unwrap();
    fs::write(code.join("run.sh"), script).unwrap();
    let mut command = program::command(place, &["--container", "bwrap"]);
    command.envs(path.map(|path| ("PATH", path)));
    let program = program::serve(command).await;
    let algorithm = json!({
        "code_dir": "/bucket/code/",
        "command": "bash $MA_CODE_DIR/run.sh",
        "engine": {"image_url": "org/image:1"},
    });
    let spec = json!({"resource": {"flavor_id": "modelarts.vm.cpu.2u"}});
    let metadata = json!({"name": "of-a-program"});
    let job = json!({"kind": "job", "metadata": metadata, "algorithm": algorithm, "spec": spec});
    let id = program.create(&job).await;
    (program, id)
}

#[cfg(feature = "cli")]
#[tokio::test]
async fn processes_without_group_and_environment_end_with_the_emulator() {
    if viewed(|builder| builder).await.is_none() {
        return;
    }
    for signal in ["TERM", "KILL"] {
        let place = tempfile::tempdir().unwrap();
        let gate = Gate::new().await;
        let (mut program, _) = program(place.path(), &stray(&gate), None).await;
        let process = gate.reached().await;
        let id = program.child.id().unwrap();
        let kill = tokio::process::Command::new("kill")
            .args([format!("-{signal}"), id.to_string()])
            .status();
        assert!(kill.await.unwrap().success());
        program.child.wait().await.unwrap();
        gone(process).await;
    }
}

/// The interpreter is in a directory that the view replaces, and does not read the home of its
/// user.
#[cfg(feature = "cli")]
#[tokio::test]
async fn a_virtual_environment_of_the_user_is_visible_and_has_moxing() {
    if viewed(|builder| builder).await.is_none() {
        return;
    }
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let venv = place.path().join("venv");
    let made = tokio::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status();
    assert!(made.await.unwrap().success());
    let packages = tokio::process::Command::new(venv.join("bin/python3"))
        .args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
        .output();
    let packages = String::from_utf8(packages.await.unwrap().stdout).unwrap();
    fs::write(Path::new(packages.trim()).join("of_the_user.py"), "").unwrap();
    let code = place.path().join("obs/bucket/code");
    fs::create_dir_all(&code).unwrap();
    // Without pip, nothing is installed, and the job goes on in its own virtual environment.
    fs::write(code.join("requirements.txt"), "anything\n").unwrap();
    let mut path = venv.join("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let gate = Gate::new().await;
    let script = format!(
        "cat > gate.py <<'END'\n{}\ngate()\nEND\n\
         python3 -c 'import moxing, of_the_user as own, sys; print(sys.prefix, own.__file__)'\n\
         python3 gate.py",
        gate.python()
    );
    let (program, id) = program(place.path(), &script, Some(path)).await;
    let _process = gate.reached().await;
    let url = format!("/training-jobs/{id}/tasks/worker-0/logs/preview");
    let log = program.client.get(&url).await.json();
    let log = log["content"].as_str().unwrap().to_owned();
    let end = format!("/home/ma-user/.venv {}/of_the_user.py\n", packages.trim());
    assert!(log.ends_with(&end), "{log}");
}

#[tokio::test]
async fn packages_are_installed_inside_the_view() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let script = "import sys, local_package\nprint(sys.prefix, local_package.WORD)\n";
    let job = site.script("packages", script);
    let code = "bucket/packages/code";
    site.put(&format!("{code}/requirements.txt"), "./local-package\n");
    let project = "from setuptools import setup\nsetup(name='local-package', version='1', \
                   py_modules=['local_package'])\n";
    site.put(&format!("{code}/local-package/setup.py"), project);
    site.put(&format!("{code}/local-package/local_package.py"), "WORD = 'installed'\n");
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    assert!(log.ends_with("/home/ma-user/.venv installed\n"), "{log}");
}

#[tokio::test]
async fn jobs_have_no_keys_for_clients_of_s3_unless_a_switch_sets_them() {
    let names = r#"
import os
names = sorted(name for name in os.environ if name.startswith(("AWS_", "S3_")))
print(*names)
"#;
    for (keys, expected) in [
        (JobObsKeys::Absent, "S3_ENDPOINT\n"),
        (
            JobObsKeys::Environment,
            "AWS_ACCESS_KEY_ID AWS_DEFAULT_REGION AWS_ENDPOINT_URL_S3 AWS_REGION \
             AWS_SECRET_ACCESS_KEY S3_ENDPOINT\n",
        ),
    ] {
        let mut quirks = Quirks::default();
        quirks.obs_keys = keys;
        let site = Site::with(|builder| builder.quirks(quirks)).await;
        let id = site.run(&site.script("keys", names)).await;
        let expected = if cfg!(feature = "obs") { expected } else { "\n" };
        assert_eq!(site.log(&id).await, expected);
    }
}

#[tokio::test]
async fn the_variables_of_debug_jobs_are_set_in_debug_jobs_only() {
    let site = Site::start().await;
    let script = "import os\nprint(os.environ.get('MA_JOB_RUNTIME_TYPE'))\n";
    for (runtime_type, value) in [("debug", "debug\n"), ("production", "None\n")] {
        let mut job = site.script(runtime_type, script);
        job["spec"]["runtime_type"] = runtime_type.into();
        let id = site.run(&job).await;
        assert_eq!(site.log(&id).await, value);
    }
}

/// Script that uses MoXing without any preparation, with PYTHONPATH of its own.
const MOXING: &str = r#"
import moxing as mox
from moxing.framework import file
mox.file.copy_parallel("obs://bucket/data/", "/cache/data")
with file.File("s3://bucket/out/result.txt", "w") as result:
    result.write(open("/cache/data/a.txt").read() + " by MoXing")
assert mox.file.list_directory("obs://bucket/out") == ["result.txt"]
print(mox.__version__, mox.__file__.split("/modelarts/")[1])
"#;

#[tokio::test]
async fn moxing_reaches_obs_although_the_job_sets_pythonpath() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let mut job = site.script("moxing", MOXING);
    site.put("bucket/data/a.txt", "data");
    job["algorithm"]["environments"] = json!({"PYTHONPATH": "/home/ma-user/other"});
    let id = site.run(&job).await;
    let wheel = "package/moxing_framework-2.5.0+modelarts.emulator-py3-none-any.whl";
    let version = "2.5.0+modelarts-emulator";
    assert_eq!(site.log(&id).await, format!("{version} {wheel}/moxing/__init__.py\n"));
    assert_eq!(site.read("bucket/out/result.txt"), "data by MoXing");
}

#[tokio::test]
async fn moxing_exists_without_a_view() {
    let site = Site::start().await;
    site.put("bucket/data/a.txt", "data");
    let script = MOXING.replace("/cache/data", "data");
    let id = site.run(&site.script("moxing", &script)).await;
    assert_eq!(site.phase(&id).await, "Completed", "{}", site.log(&id).await);
    assert_eq!(site.read("bucket/out/result.txt"), "data by MoXing");
}

/// The wheel replaces nothing in the Python of this machine.
#[tokio::test]
async fn the_wheel_of_moxing_is_installed_in_the_home_of_the_job() {
    let Some(site) = viewed(|builder| builder).await else {
        return;
    };
    let script = "set -e
python3 -m pip install --no-index --quiet --disable-pip-version-check \
    /home/ma-user/modelarts/package/moxing_framework-*.whl 2>&1 | grep -v WARNING || true
python3 -c 'import moxing; print(moxing.__file__)'
";
    let id = site.run(&command_job(&site, "wheel", script)).await;
    let log = site.log(&id).await;
    let place = "/site-packages/moxing/__init__.py\n";
    assert!(log.starts_with("/home/ma-user/.") && log.ends_with(place), "{log}");
}

/// The behaviour of each function, as the documents describe it (`openapi/SOURCES.md`, "MoXing").
#[test]
fn the_tests_of_moxing_pass() {
    let moxing = concat!(env!("CARGO_MANIFEST_DIR"), "/moxing/tests");
    let output = std::process::Command::new("python3")
        .args(["-B", "-m", "unittest", "discover", "-s", moxing])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

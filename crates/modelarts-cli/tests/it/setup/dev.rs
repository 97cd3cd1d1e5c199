//! `modelarts dev`.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use snapbox::cmd::{OutputAssert, cargo_bin};
use tempfile::TempDir;

use crate::support::{hangup_starter, isolated};

/// A running `modelarts dev`.
pub(crate) struct DevProcess {
    child: Child,
    pub(crate) ready: Value,
}

impl DevProcess {
    /// Starts it with the home directory, and waits until it is ready. The web page has a free
    /// port.
    pub(crate) fn start(directory: &Path, arguments: &str) -> Self {
        Self::start_with(hangup_starter(), directory, arguments)
    }

    /// Starts it like [`start`](Self::start), by a program with these arguments before.
    fn start_with(starter: &[&str], directory: &Path, arguments: &str) -> Self {
        let program = cargo_bin!("modelarts").as_os_str();
        let line: Vec<&OsStr> = starter.iter().map(OsStr::new).chain([program]).collect();
        let page: &[&str] = match arguments.contains("console") {
            true => &[],
            false => &["--console-listen", "127.0.0.1:0"],
        };
        let mut child = Command::new(line[0])
            .args(&line[1..])
            .args(["dev", "-o", "json"])
            .args(page)
            .args(arguments.split_whitespace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", directory)
            .env("MODELARTS_CONFIG", directory.join("config.toml"))
            .current_dir(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.as_mut().unwrap());
        stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut stderr = String::new();
            let mut errors = child.stderr.take().unwrap();
            errors.read_to_string(&mut stderr).unwrap();
            panic!("dev has not started: {stderr}");
        }
        let ready = serde_json::from_str(&line).unwrap();
        Self { child, ready }
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Sends a signal, waits for the end, and returns exit code and stderr.
    pub(crate) fn end(mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        let mut stderr = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }
}

impl Drop for DevProcess {
    fn drop(&mut self) {
        // The process has ended unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(directory: &Path, arguments: &str) -> OutputAssert {
    isolated(directory).args(arguments.split_whitespace()).assert()
}

/// Returns the message of a command that fails with this exit code.
fn refusal(directory: &Path, arguments: &str, code: i32) -> String {
    let output = run(directory, arguments).code(code).stdout_eq("");
    let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    text.replace(&*directory.to_string_lossy(), "[DIR]")
}

#[test]
fn another_shell_uses_the_emulator_by_its_context() {
    let home = TempDir::new().unwrap();
    let file = "# Mine.\ncurrent = \"team\"\n\n[context.team]\nregion = \"eu-de\" # Germany\n";
    fs::write(home.path().join("config.toml"), file).unwrap();
    let dev = DevProcess::start(home.path(), "--timing instant");
    let data = home.path().join(".local/share/modelarts/dev");
    let (url, obs_url) = (dev.ready["url"].clone(), dev.ready["obs_url"].clone());
    let project = dev.ready["project_id"].clone();
    let page = dev.ready["console_url"].clone();
    assert_eq!(
        dev.ready,
        json!({
            "schema_version": 1,
            "url": url,
            "obs_url": obs_url,
            "project_id": project,
            "data_dir": data,
            "bucket": "dev",
            "context": "dev",
            "console_url": page,
        })
    );
    assert_eq!(
        fs::read_to_string(home.path().join("config.toml")).unwrap(),
        format!(
            "{file}\n[context.dev]\ndata_dir = \"{}\"\nbucket = \"dev\"\nflavor = \
             \"modelarts.vm.cpu.8u\"\n",
            data.display()
        )
    );
    let connection = data.join("connection.json");
    let metadata = fs::metadata(&connection).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let variables: Value = serde_json::from_str(&fs::read_to_string(&connection).unwrap()).unwrap();
    assert_eq!(variables["MODELARTS_ENDPOINT"], url);
    assert_eq!(variables["HUAWEICLOUD_SDK_PROJECT_ID"], project);
    // Keys of a cloud in the environment are not sent to the emulator.
    let command = isolated(home.path())
        .env("HUAWEICLOUD_SDK_AK", "of-a-cloud")
        .env("HUAWEICLOUD_SDK_SK", "of-a-cloud")
        .args(["--context", "dev", "ls", "-o", "json"]);
    let output = command.assert().code(0);
    let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(document, json!({"schema_version": 1, "jobs": []}));
    run(home.path(), "context show dev -o json --jq .current").code(0).stdout_eq("false\n");

    let (code, stderr) = dev.end("INT");
    assert_eq!(code, Some(130));
    let login = stderr.lines().find(|line| line.contains("token="));
    let (address, token) = login.unwrap().trim().split_once("/login?token=").unwrap();
    assert_eq!((address, token.len()), (page.as_str().unwrap(), 64));
    assert_eq!(
        stderr.replace(token, "[TOKEN]"),
        format!(
            "ModelArts emulator on {}, OBS on {}\nData in {}, bucket dev\nWeb page, by a link that \
             is \
             valid once:\n  {address}/login?token=[TOKEN]\nIn another shell:\n  \
             modelarts --context dev submit train.py    one command on the emulator\n  modelarts \
             context use dev                  all commands on the emulator\nCtrl-C ends it and \
             stops its jobs\nending with all jobs\n",
            url.as_str().unwrap(),
            obs_url.as_str().unwrap(),
            data.display()
        )
    );
    assert!(!connection.exists());
    assert_eq!(
        refusal(home.path(), "--context dev ls", 2),
        "error: the emulator of the context dev is not running; start it with `modelarts dev \
         --name dev --data-dir [DIR]/.local/share/modelarts/dev`\n"
    );
}

#[test]
fn other_programs_get_its_variables_from_a_file() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "--timing instant --cloud otc --env-file dev.env");
    let path = home.path().join("dev.env");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(path).unwrap();
    let endpoint = format!("export MODELARTS_ENDPOINT='{}'\n", dev.ready["url"].as_str().unwrap());
    assert!(text.contains(&endpoint) && text.contains("export HUAWEICLOUD_SDK_AK='"), "{text}");
    // The emulated cloud has no tags.
    let stderr = refusal(home.path(), "--context dev api ShowTrainJobTags training_job_id=x", 1);
    assert!(stderr.contains("HTTP 404"), "{stderr}");
    // Without settings, the error names the emulator that runs.
    let stderr = refusal(home.path(), "ls", 1);
    let advice = "the emulator of the context dev runs; --context dev selects it for one command, \
                  and `modelarts context use dev` for all";
    assert_eq!(stderr.lines().last(), Some(advice), "{stderr}");
    dev.end("TERM");
}

#[test]
fn an_emulator_that_was_killed_is_named_in_the_errors_of_all_commands() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "--timing instant");
    fs::write(home.path().join("train.py"), "").unwrap();
    let ports = ["url", "obs_url"].map(|field| {
        let url = dev.ready[field].as_str().unwrap();
        url.trim_start_matches("http://").parse::<SocketAddr>().unwrap()
    });
    dev.end("KILL");
    // Sockets that do not listen keep other tests from the ports.
    let _sockets = ports.map(|port| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(port).unwrap();
        socket
    });
    let advice = "the emulator of the context dev does not respond; start it with `modelarts dev \
                  --name dev --data-dir [DIR]/.local/share/modelarts/dev`";
    for command in ["ls", "show leaves", "flavors", "sync obs://dev/in data"] {
        let stderr = refusal(home.path(), &format!("--context dev {command}"), 1);
        let lines: Vec<&str> = stderr.lines().collect();
        assert!(lines[0].starts_with("error: "), "{command}: {stderr}");
        assert_eq!(lines.last(), Some(&advice), "{command}: {stderr}");
        assert!(!stderr.contains("doctor"), "{command}: {stderr}");
    }
    let stderr = refusal(home.path(), "--context dev ls -o json", 1);
    let document: Value = serde_json::from_str(&stderr).unwrap();
    assert_eq!(document["error"]["advice"], advice);
    assert_eq!(document["error"]["kind"], "Connection");
}

#[test]
fn keys_project_and_settings_survive_a_restart() {
    let home = TempDir::new().unwrap();
    let keys = |home: &Path| {
        let path = home.join("emulator/connection.json");
        let mut variables: Value =
            serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        variables["HUAWEICLOUD_SDK_SK"].take()
    };
    let dev = DevProcess::start(home.path(), "--data-dir emulator --name lab --bucket mine");
    let (project, key) = (dev.ready["project_id"].clone(), keys(home.path()));
    assert_eq!(dev.end("TERM").0, Some(130));
    run(home.path(), "context set lab flavor= prefix=mine").code(0);
    let dev = DevProcess::start(home.path(), "--data-dir emulator --name lab --on-stop leave");
    assert_eq!(dev.ready["project_id"], project);
    assert_eq!(dev.ready["bucket"], "mine");
    assert_eq!(keys(home.path()), key);
    for (field, value) in [("flavor", "null\n"), ("prefix", "mine\n")] {
        let show = format!("context show lab --jq .{field}");
        run(home.path(), &show).code(0).stdout_eq(value);
    }
    let (code, stderr) = dev.end("TERM");
    assert_eq!(code, Some(130));
    assert!(stderr.ends_with(
        "Ctrl-C ends it; the next start runs its jobs again\nending; the next start runs the jobs \
         again\n"
    ));
}

#[test]
fn a_hangup_ends_the_emulator_like_ctrl_c() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "--data-dir emulator");
    let connection = home.path().join("emulator/connection.json");
    assert!(connection.exists());
    let (code, stderr) = dev.end("HUP");
    assert_eq!(code, Some(130));
    assert!(stderr.ends_with("ending with all jobs\n"), "{stderr}");
    assert!(!connection.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_the_parent_ignores_has_no_effect() {
    let home = TempDir::new().unwrap();
    let program = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let dev = DevProcess::start_with(&program, home.path(), "");
    dev.signal("HUP");
    run(home.path(), "--context dev ls -o id").code(0);
    let (code, stderr) = dev.end("TERM");
    assert_eq!(code, Some(130));
    assert!(stderr.ends_with("ending with all jobs\n"), "{stderr}");
}

#[test]
fn a_second_start_on_the_same_data_is_refused() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "--data-dir emulator");
    assert_eq!(
        refusal(home.path(), "dev --data-dir emulator", 1),
        "error: cannot start the emulator in [DIR]/emulator: cannot use state.sqlite3 in the data \
         directory [DIR]/emulator/data: another emulator runs on it: end that one, or choose \
         another data directory\n"
    );
    assert_eq!(
        refusal(home.path(), "dev --data-dir other", 2),
        "error: the context dev belongs to the emulator in [DIR]/emulator, which is running; end \
         that one, or give another --name\n"
    );
    // The first one is not affected.
    run(home.path(), "--context dev ls -o id").code(0);
    assert_eq!(dev.end("INT").0, Some(130));
}

#[test]
fn wrong_settings_are_refused_before_the_start() {
    let home = TempDir::new().unwrap();
    let file = "[context.dev]\nregion = \"eu-de\"\n";
    fs::write(home.path().join("config.toml"), file).unwrap();
    assert_eq!(
        refusal(home.path(), "dev", 2),
        "error: the context dev in [DIR]/config.toml is not one of an emulator, and is not \
         overwritten; --name must give another name\n"
    );
    assert_eq!(
        refusal(home.path(), "dev --name lab --pool p", 2),
        "error: --pool `p` has no number of nodes, 1 or more, behind the id\n"
    );
    assert_eq!(
        refusal(home.path(), "dev --name lab --listen 0.0.0.0:0", 1),
        "error: cannot start the emulator in [DIR]/.local/share/modelarts/lab: cannot listen on \
         0.0.0.0:0: the emulator executes what it is sent, so it listens on loopback addresses \
         only, for example 127.0.0.1:0\n"
    );
    for (arguments, expected) in [
        ("dev --speed 0", "it must be a number above 0, such as 4 or 0.5"),
        ("dev --speed 4 --timing quick", "cannot be used with"),
        ("dev --bucket A_b --name lab", "A_b"),
        ("dev --no-console --console-listen 127.0.0.1:0", "cannot be used with"),
        (
            "dev --name lab --console-listen 10.0.0.1:80",
            "--console-listen 10.0.0.1:80: it must be a loopback address",
        ),
    ] {
        let message = isolated(home.path()).args(arguments.split_whitespace());
        let output = message.assert();
        let code = output.get_output().status.code().unwrap();
        let message = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        assert!(message.contains(expected) && code > 0, "{arguments}: {message}");
    }
    assert_eq!(fs::read_to_string(home.path().join("config.toml")).unwrap(), file);
    fs::write(home.path().join("config.toml"), "[context.dev").unwrap();
    assert_eq!(
        refusal(home.path(), "dev", 2),
        "error: [DIR]/config.toml, line 1: unclosed table, expected `]`; edit the file, or delete \
         it\n"
    );
}

#[test]
fn a_manual_clock_is_moved_by_requests_only() {
    let home = TempDir::new().unwrap();
    let clock = |dev: &DevProcess| -> bool {
        let address = dev.ready["url"].as_str().unwrap().replace("http://", "");
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!(
            "GET /_emulator/clock HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        body["manual"].as_bool().unwrap()
    };
    for (arguments, expected) in [("--clock manual", true), ("", false)] {
        let dev = DevProcess::start(home.path(), arguments);
        assert_eq!(clock(&dev), expected);
        assert_eq!(dev.end("INT").0, Some(130));
    }
}

#[test]
fn without_the_page_there_is_no_address_of_it() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "--no-console");
    assert_eq!(dev.ready["console_url"], Value::Null);
    let (code, stderr) = dev.end("INT");
    assert_eq!(code, Some(130));
    assert!(!stderr.contains("token="), "{stderr}");
}

#[test]
fn an_address_of_the_page_that_is_taken_ends_the_emulator() {
    let home = TempDir::new().unwrap();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let message = refusal(home.path(), &format!("dev --console-listen {address}"), 1);
    let expected = format!("error: --console-listen: cannot listen on {address} for the page: ");
    assert!(message.contains(&expected), "{message}");
    // The files of the emulator are withdrawn.
    let connection = home.path().join(".local/share/modelarts/dev/connection.json");
    assert!(!connection.exists());
}

/// Submits a job that runs for a long time, and waits until it runs.
fn start_job(home: &Path) {
    let work = home.join("work");
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join("train.py"), "import time\ntime.sleep(3600)\n").unwrap();
    run(home, "--context dev submit work/train.py --name long --detach").code(0);
    wait_until_running(home);
}

/// Waits until the only job runs.
fn wait_until_running(home: &Path) {
    loop {
        match phase(home).as_str() {
            "Running\n" => return,
            phase => assert!(["Creating\n", "Pending\n"].contains(&phase), "{phase}"),
        }
    }
}

/// Returns the phase of the only job.
fn phase(home: &Path) -> String {
    let output = run(home, "--context dev ls --jq .jobs[0].phase").code(0);
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

#[test]
fn jobs_are_stopped_at_the_end() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "--timing instant");
    start_job(home.path());
    assert_eq!(dev.end("INT").0, Some(130));
    let dev = DevProcess::start(home.path(), "--timing instant");
    assert_eq!(phase(home.path()), "Terminated\n");
    // The port of the emulator is another one now.
    run(home.path(), "--context dev show @last -o id").code(0);
    assert_eq!(dev.end("INT").0, Some(130));
}

#[test]
fn jobs_run_again_at_the_next_start() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "--timing instant --on-stop leave");
    start_job(home.path());
    assert_eq!(dev.end("TERM").0, Some(130));
    let dev = DevProcess::start(home.path(), "--timing instant");
    wait_until_running(home.path());
    assert_eq!(dev.end("TERM").0, Some(130));
}

#[test]
fn a_kill_is_reported_and_does_not_prevent_the_next_start() {
    let home = TempDir::new().unwrap();
    let dev = DevProcess::start(home.path(), "");
    assert_eq!(dev.end("KILL").0, None);
    let output = run(home.path(), "--context dev doctor -o json").code(1);
    let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let mut service = checks.filter(|check| check["check"] == "service");
    assert_eq!(
        service.next().unwrap()["advice"],
        "the emulator has ended; start it with `modelarts dev`"
    );
    // The file with the old address is replaced.
    let dev = DevProcess::start(home.path(), "--data-dir other");
    run(home.path(), "--context dev ls -o id").code(0);
    assert_eq!(dev.end("INT").0, Some(130));
}

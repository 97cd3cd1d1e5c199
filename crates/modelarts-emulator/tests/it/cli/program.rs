//! The program `modelarts-emulator serve`, run as a process.

use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, process::Command};

use crate::support::{
    Gate, is_alive,
    program::{cpu_job, serve_with},
};

#[tokio::test]
async fn it_prints_one_line_and_ends_with_its_jobs_on_a_signal() {
    for signal in ["TERM", "INT"] {
        let place = tempfile::tempdir().unwrap();
        // In a container view, the code knows another process ID than this test.
        let mut program = serve_with(place.path(), &["--container", "none"]).await;
        let gate = Gate::new().await;
        let code = place.path().join("obs/bucket/code");
        std::fs::create_dir_all(&code).unwrap();
        let script = format!(
            "{}import os\nprint(os.getpid(), 'A_SECRET_OF_THE_USER' in os.environ)\ngate()\n",
            gate.python()
        );
        std::fs::write(code.join("train.py"), script).unwrap();
        let id = program.create(&cpu_job("from-outside")).await;
        let waiting = gate.reached().await;
        let log =
            program.client.get(&format!("/training-jobs/{id}/tasks/worker-0/logs/preview")).await;
        let log = log.json()["content"].as_str().unwrap().to_owned();
        let (pid, secret_seen) = log.trim().split_once(' ').unwrap();
        assert_eq!(secret_seen, "False");
        assert!(is_alive(pid));

        let own = program.child.id().unwrap().to_string();
        let kill = Command::new("kill").args([&format!("-{signal}"), &own]).status().await.unwrap();
        assert!(kill.success());
        let status = program.child.wait().await.unwrap();
        assert!(status.success(), "{signal}: {status}");
        waiting.wait_until_gone().await;
        assert!(!is_alive(pid));

        let mut rest = String::new();
        program.stdout.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "", "stdout has one line");
        let mut stderr = String::new();
        program.child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
        assert!(stderr.contains("ready") && stderr.contains("/training-jobs"), "{stderr}");
        assert!(!stderr.contains(&program.client.secret_key), "{stderr}");
    }
}

#[tokio::test]
async fn it_refuses_an_invalid_speed() {
    for speed in ["-1", "0", "NaN", "inf", "fast"] {
        let output = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"))
            .args(["serve", &format!("--speed={speed}")])
            .output()
            .await
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{speed}");
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!(
            "error: invalid value '{speed}' for '--speed <FACTOR>': the factor is a number above \
             0, such as 4 or 0.5\n"
        );
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn it_refuses_addresses_other_than_loopback() {
    let output = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"))
        .args(["serve", "--listen", "0.0.0.0:0"])
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "modelarts-emulator: cannot listen on 0.0.0.0:0: the emulator executes what it is sent, \
         so it listens on loopback addresses only, for example 127.0.0.1:0\n"
    );
}

#[tokio::test]
async fn simulated_jobs_follow_the_script_in_a_file() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script.json");
    let hour = json!({"default": [{"seconds": 3600, "exit_code": 7}]});
    std::fs::write(&script, hour.to_string()).unwrap();
    let script = script.to_str().unwrap();
    let flags = ["--runner", "simulated", "--script", script, "--clock", "manual"];
    let program = serve_with(place.path(), &flags).await;
    let client = &program.client;
    let job = json!({
        "kind": "job",
        "metadata": {"name": "hour"},
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "never run"},
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    });
    let created = client.post("/training-jobs", &job).await.json();
    let path = format!("/training-jobs/{}", created["metadata"]["id"].as_str().unwrap());
    let pass = async |seconds: u32| {
        let body = json!({"advance_seconds": seconds}).to_string();
        let url = format!("{}/_emulator/clock", client.url);
        let moved = client.http.post(url).body(body).send().await.unwrap();
        assert_eq!(moved.status(), 200);
    };
    // Requests are signed with the system clock, which may differ from the emulator's clock by up
    // to 15 minutes.
    pass(600).await;
    assert_eq!(client.get(&path).await.json()["status"]["phase"], "Running");
    pass(3000).await;
    let now = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    let target = format!("/v2/{}{path}", client.project_id);
    let request = client.signed(reqwest::Method::GET, &target, Vec::new(), now);
    let shown: Value =
        serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap();
    assert_eq!(shown["status"]["phase"], "Failed");
    assert_eq!(shown["status"]["duration"], 3_600_000);
    assert_eq!(shown["status"]["task_statuses"][0]["exit_code"], 7);
}

#[tokio::test]
async fn an_unusable_file_is_named_in_the_error() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script.json");
    std::fs::write(&script, r#"{"default": [{"second": 1}]}"#).unwrap();
    for (runner, reason) in [
        ("simulated", "unknown field `second`"),
        ("process", "only --runner simulated follows a script"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"))
            .args(["serve", "--runner", runner, "--script"])
            .arg(&script)
            .current_dir(place.path())
            .output()
            .await
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        let named = format!("modelarts-emulator: cannot use {}: {reason}", script.display());
        assert!(stderr.starts_with(&named), "{stderr}");
    }
}

#[tokio::test]
async fn flags_may_stand_in_a_file_and_those_of_the_command_line_win() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, content: Value| {
        let path = place.path().join(name);
        std::fs::write(&path, content.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let seeds = file("seeds.json", json!({"jobs": [{"name": "old"}]}));
    let config = file(
        "config.json",
        json!({
            "project-id": "of-the-file", "access-key": "of-the-file", "token": ["a", "b"],
            "pool": ["own:3:gpu"], "runner": "simulated", "job-quota": 5, "seed": seeds,
            "choose": "jobs-count=page", "one-job-per-output": true,
        }),
    );
    let flags = ["--config", &config, "--access-key", "of-the-line"];
    let program = serve_with(place.path(), &flags).await;
    let client = &program.client;
    assert_eq!(client.project_id, "of-the-file");
    assert_eq!(client.access_key, "of-the-line");
    let quota = client.get("/training-quotas").await;
    assert!(quota.text.contains("\"quota\":5"), "{}", quota.text);
    let list = client.post("/training-job-searches", &json!({"offset": 1})).await.json();
    assert_eq!((&list["total"], &list["count"]), (&json!(1), &json!(0)));
    for token in ["a", "b"] {
        let url = format!("{}/v2/of-the-file/training-job-engines", client.url);
        let reply = client.http.get(url).header("x-auth-token", token).send().await;
        assert_eq!(reply.unwrap().status(), 200);
    }
    drop(program);

    for (content, reason) in [
        (json!({"token": {}}), "token must be a text"),
        (json!({"choose": "x=y"}), "cannot choose: unknown field `x`"),
        (json!({"tokens": "a"}), "unexpected argument '--tokens'"),
        (
            json!({"seed": "none.json"}),
            "cannot use none.json: there is no such file: name one that exists, as seen from the \
             current directory",
        ),
        (json!({"pool": "p"}), "`p` has no number of nodes"),
        (
            json!({"seed": file("bad.json", json!({"jobs": [{}]}))}),
            "jobs[0] must have `name` or `job`",
        ),
    ] {
        let config = file("config.json", content);
        let mut command = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"));
        let command = command.args(["serve", "--config", &config]).current_dir(place.path());
        let output = command.output().await.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && stderr.contains(reason), "{stderr}");
    }
}

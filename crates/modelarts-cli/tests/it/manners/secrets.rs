//! No command prints a secret, `-vv` included.

use std::collections::BTreeSet;

use modelarts_emulator::User;
use serde_json::{Value, json};

use crate::{
    setup::dev::DevProcess,
    support::{Fixture, assert},
};

const PASSWORD: &str = "hunter2-of-the-database";
const TOKEN: &str = "security-token-of-the-test";
/// Variable of the program whose value a job takes. Its name is not that of a secret.
const INHERITED: &str = "OF_THE_SHELL";
/// Flags with which each command is run.
const VERBOSITIES: [&str; 3] = ["", "-v", "-vv"];

/// Returns a job whose environment has a secret.
fn job_file() -> String {
    let job = json!({
        "metadata": {"name": "from-file"},
        "algorithm": {
            "engine": {"image_url": "org/image:1"}, "command": "true",
            "environments": {"DB_PASSWORD": PASSWORD},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    });
    job.to_string()
}

/// Texts that no output may have.
struct Secrets(Vec<String>);

impl Secrets {
    /// Fails if an output has one of them.
    fn assert_absent(&self, command: &str, stream: &[u8]) {
        let text = String::from_utf8_lossy(stream);
        for secret in &self.0 {
            assert!(!text.contains(secret), "{command} prints {secret}:\n{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_prints_a_secret() {
    let mut user = User::new("ann");
    user.security_token = Some(TOKEN.to_owned());
    let fixture = Fixture::with(|builder| builder.user(user)).await;
    let variables = fixture.emulator.envs();
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.unwrap().1.clone()
    };
    assert_eq!(variable("HUAWEICLOUD_SDK_SECURITY_TOKEN"), TOKEN);
    let secrets = Secrets(vec![
        variable("HUAWEICLOUD_SDK_SK"),
        variable("HUAWEICLOUD_SDK_AK"),
        TOKEN.to_owned(),
        PASSWORD.to_owned(),
        "Signature=".to_owned(),
        "Credential=".to_owned(),
    ]);
    let seed = |name: &str, phase: &str| {
        json!({
            "name": name, "phase": phase, "logs": {"worker-0": "epoch 1\nKilled\n"},
            "job": {
                "kind": "job", "metadata": {},
                "algorithm": {
                    "engine": {"image_url": "seeds/image:1"}, "command": "true",
                    "environments": {"DB_PASSWORD": PASSWORD},
                },
                "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
            },
        })
    };
    let mut seeds = vec![seed("leaves", "Completed"), seed("bert", "Failed")];
    for verbosity in VERBOSITIES {
        seeds.push(seed(&format!("stopped{verbosity}"), "Running"));
        seeds.push(seed(&format!("deleted{verbosity}"), "Completed"));
    }
    let id = fixture.seed(seeds.into()).await.remove(0);
    fixture.emulator.put("obs://my-bucket/x", "x").unwrap();
    fixture.write("code/train.py", "print('epoch 1')\n");
    fixture.write("data/a.csv", "1\n");
    let show = format!("training_job_id={id}");
    fixture.write("job.yaml", &job_file());
    let job = format!(
        "--flavor modelarts.vm.cpu.8u --bucket my-bucket --env DB_PASSWORD={PASSWORD} --env \
         {INHERITED}"
    );
    let commands = [
        (0, "submit", format!("code/train.py {job} --dry-run")),
        (0, "submit", format!("code/train.py {job} --dry-run -o json")),
        (0, "submit", "-f job.yaml --dry-run".to_owned()),
        (0, "submit", "--from leaves --dry-run".to_owned()),
        (0, "check", "--from leaves -o json".to_owned()),
        (0, "submit", format!("code/train.py {job} -d")),
        (0, "submit", format!("code/train.py {job} -o ndjson")),
        (2, "submit", format!("code/train.py {job} --notify foo")),
        (3, "submit", format!("code/train.py {job} --engine Wrong:1")),
        (0, "run", format!("--local code/train.py {job}")),
        (0, "sweep", format!("code/train.py {job} -p lr=0.1,0.2")),
        (0, "sweep", format!("code/train.py {job} -p lr=0.1,0.2 --local")),
        (0, "check", format!("code/train.py {job}")),
        (0, "check", format!("code/train.py {job} --service -o json")),
        (3, "check", format!("code/train.py {job} --nodes 0 -o json")),
        (0, "init", "code/train.py --force --flavor modelarts.vm.cpu.8u".to_owned()),
        (0, "ls", "-o wide".to_owned()),
        (0, "ls", "-o json".to_owned()),
        (0, "show", "leaves".to_owned()),
        (0, "show", "leaves -o json".to_owned()),
        (0, "show", "leaves -o yaml".to_owned()),
        (0, "show", "leaves -o job".to_owned()),
        (0, "diff", "leaves bert".to_owned()),
        (0, "diff", "leaves bert -o json".to_owned()),
        (0, "trials", "leaves".to_owned()),
        (0, "metrics", "leaves --log epoch -o json".to_owned()),
        (0, "logs", "leaves".to_owned()),
        (0, "logs", "leaves -o ndjson".to_owned()),
        (0, "events", "leaves -o json".to_owned()),
        (0, "watch", "leaves -o json".to_owned()),
        (0, "top", "-o json".to_owned()),
        (0, "wait", "leaves -o json".to_owned()),
        (0, "update", "leaves --description new".to_owned()),
        (0, "stop", "stopped[VERBOSITY] --yes".to_owned()),
        (0, "rm", "deleted[VERBOSITY] --yes".to_owned()),
        (0, "explain", "bert -o json".to_owned()),
        (0, "download", "leaves".to_owned()),
        (0, "cp", "data/a.csv obs://my-bucket/data/".to_owned()),
        (0, "ls", "obs://my-bucket -o json".to_owned()),
        (0, "sync", "data obs://my-bucket/data".to_owned()),
        (4, "sync", "data obs://no-such-bucket/data -o json".to_owned()),
        (0, "data", "ls --bucket my-bucket".to_owned()),
        (0, "flavors", "-o json".to_owned()),
        (0, "engines", "-o json".to_owned()),
        (0, "algorithms", "-o json".to_owned()),
        (0, "api", format!("ShowTrainingJobDetails {show}")),
        (0, "api", format!("ShowObsUrlOfTrainingJobLogs {show} task_id=worker-0")),
        (0, "api", format!("ShowTrainingJobDetails {show} --dry-run -o json")),
        (0, "api", "ListTrainingJobs --all -o ndjson".to_owned()),
        (
            0,
            "api",
            format!("CreateTrainingJob -f algorithm.environments.DB_PASSWORD={PASSWORD} --dry-run"),
        ),
        (0, "record", "session.json".to_owned()),
        (0, "context", "set team region=eu-de".to_owned()),
        (2, "context", format!("set team sk={PASSWORD}")),
        (0, "context", "list -o json".to_owned()),
        (0, "doctor", "-o json".to_owned()),
        (0, "doctor", String::new()),
        (0, "completion", "bash".to_owned()),
        (0, "man", String::new()),
        (0, "help", "--json".to_owned()),
    ];
    for (code, name, arguments) in &commands {
        for verbosity in VERBOSITIES {
            let arguments = arguments.replace("[VERBOSITY]", verbosity);
            let line = format!("{name} {arguments} {verbosity}");
            let command = fixture.command(&line).env(INHERITED, PASSWORD);
            let output = assert(command).await;
            let output = output.get_output();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(*code), "{line}: {stderr}");
            secrets.assert_absent(&line, &output.stdout);
            secrets.assert_absent(&line, &output.stderr);
        }
    }
    let mut tested: BTreeSet<&str> = commands.iter().map(|(_, name, _)| *name).collect();
    // The tests below.
    tested.extend(["console", "dev"]);
    for command in modelarts_cli::command().get_subcommands() {
        assert!(tested.contains(command.get_name()), "{} is not tested", command.get_name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_console_prints_no_secret() {
    let fixture = Fixture::start().await;
    let mut running = fixture.spawn("console -o json -vv --no-browser --listen 127.0.0.1:0");
    let ready = running.line();
    running.signal("TERM");
    let (code, stdout, stderr) = running.end();
    assert_eq!(code, Some(130), "{stderr}");
    let variables = fixture.emulator.envs().into_iter();
    let keys = ["HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK"];
    let secrets = variables.filter(|(name, _)| keys.contains(name));
    let secrets = Secrets(secrets.map(|(_, value)| value).collect());
    for text in [ready, stdout, stderr] {
        secrets.assert_absent("console", text.as_bytes());
    }
}

#[test]
fn the_emulator_of_dev_prints_no_secret() {
    let directory = tempfile::TempDir::new().unwrap();
    let process = DevProcess::start(directory.path(), "-vv");
    let data_dir = process.ready["data_dir"].as_str().unwrap();
    let path = std::path::Path::new(data_dir).join("connection.json");
    let connection: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let secret = connection["HUAWEICLOUD_SDK_SK"].as_str().unwrap().to_owned();
    let secrets = Secrets(vec![secret]);
    secrets.assert_absent("dev", process.ready.to_string().as_bytes());
    let (_, stderr) = process.end("TERM");
    secrets.assert_absent("dev", stderr.as_bytes());
}

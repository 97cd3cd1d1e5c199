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
    let names = ["leaves", "bert", "stopped", "deleted"];
    let phases = ["Completed", "Failed", "Running", "Completed"];
    let seeds: Vec<Value> = names
        .iter()
        .zip(phases)
        .map(|(name, phase)| seed(name, phase))
        .collect();
    let id = fixture.seed(seeds.into()).await.remove(0);
    fixture.emulator.put("obs://my-bucket/x", "x").unwrap();
    fixture.write("train.py", "print('epoch 1')\n");
    fixture.write("data/a.csv", "1\n");
    let show = format!("training_job_id={id}");
    let job =
        format!("--flavor modelarts.vm.cpu.8u --image org/image:1 --env DB_PASSWORD={PASSWORD}");
    let commands = [
        ("submit", format!("train.py {job} --dry-run")),
        ("submit", format!("train.py {job} --dry-run -o json")),
        ("submit", format!("train.py {job} -d")),
        ("run", format!("--local train.py {job}")),
        ("check", format!("train.py {job}")),
        ("check", format!("train.py {job} -o json")),
        ("ls", "-o wide".to_owned()),
        ("ls", "-o json".to_owned()),
        ("show", "leaves".to_owned()),
        ("show", "leaves -o json".to_owned()),
        ("show", "leaves -o yaml".to_owned()),
        ("logs", "leaves".to_owned()),
        ("logs", "leaves -o ndjson".to_owned()),
        ("events", "leaves -o json".to_owned()),
        ("wait", "leaves -o json".to_owned()),
        ("stop", "stopped --yes".to_owned()),
        ("rm", "deleted --yes".to_owned()),
        ("explain", "bert -o json".to_owned()),
        ("sync", "data obs://my-bucket/data".to_owned()),
        ("sync", "data obs://no-such-bucket/data -o json".to_owned()),
        ("flavors", "-o json".to_owned()),
        ("engines", "-o json".to_owned()),
        ("algorithms", "-o json".to_owned()),
        ("api", format!("ShowTrainingJobDetails {show}")),
        (
            "api",
            format!("ShowObsUrlOfTrainingJobLogs {show} task_id=worker-0"),
        ),
        (
            "api",
            format!("ShowTrainingJobDetails {show} --dry-run -o json"),
        ),
        ("api", "ListTrainingJobs --all -o ndjson".to_owned()),
        (
            "api",
            format!("CreateTrainingJob -f algorithm.environments.DB_PASSWORD={PASSWORD} --dry-run"),
        ),
        ("context", "--help".to_owned()),
        ("doctor", "-o json".to_owned()),
        ("doctor", String::new()),
        ("completion", "bash".to_owned()),
        ("man", String::new()),
    ];
    for (name, arguments) in &commands {
        for verbosity in ["", "-v", "-vv"] {
            let line = format!("{name} {arguments} {verbosity}");
            // The command succeeds or fails; its output is what counts here.
            let output = assert(fixture.command(&line)).await;
            let output = output.get_output();
            secrets.assert_absent(&line, &output.stdout);
            secrets.assert_absent(&line, &output.stderr);
        }
    }
    let mut tested: BTreeSet<&str> = commands.iter().map(|(name, _)| *name).collect();
    // The test below, and the help.
    tested.extend(["dev", "help"]);
    for command in modelarts_cli::command().get_subcommands() {
        assert!(
            tested.contains(command.get_name()),
            "{} is not tested",
            command.get_name()
        );
    }
}

#[test]
fn the_emulator_of_dev_prints_no_secret() {
    let directory = tempfile::TempDir::new().unwrap();
    let process = DevProcess::start(directory.path(), "-vv");
    let data_dir = process.ready["data_dir"].as_str().unwrap();
    let path = std::path::Path::new(data_dir).join("connection.json");
    let connection: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let secret = connection["HUAWEICLOUD_SDK_SK"]
        .as_str()
        .unwrap()
        .to_owned();
    let secrets = Secrets(vec![secret]);
    secrets.assert_absent("dev", process.ready.to_string().as_bytes());
    let (_, stderr) = process.end("TERM");
    secrets.assert_absent("dev", stderr.as_bytes());
}

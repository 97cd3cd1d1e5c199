//! The program as a user starts it, against an emulator.
// clippy knows tests by their attribute; what they call has none.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use modelarts_emulator::{Emulator, Fault, FaultRule, Seeds, Timing};
use modelarts_ext::{Client, Credentials, types};
use serde_json::{Value, json};
use tempfile::TempDir;

/// All that belongs to the user, and must not be in a transcript.
const NAMES: [&str; 34] = [
    "jackdaw",
    "rookery",
    "nuthatch",
    "redstart",
    "treecreeper",
    "AKWALRUS7731",
    "sk-walrus-9931",
    "Otterson",
    "walrus-merger",
    "walrus-merger-2",
    "herons",
    "spotted_owls",
    "lapwing",
    "kittiwake",
    "puffins",
    "GANNET_HOME",
    "gannetry",
    "curlew.yaml",
    "fulmar",
    "smew-set",
    "pochard",
    "teal-budget",
    "wigeon",
    "shrike",
    "dunlin",
    "sanderling",
    "whimbrel",
    "turnstone",
    "plovers",
    "ptarmigan",
    "dotterel",
    "bittern",
    "quartz-secret",
    "godwit",
];

struct Session {
    emulator: Emulator,
    directory: TempDir,
    project: String,
}

impl Session {
    async fn start() -> Self {
        let emulator = Emulator::builder()
            .timing(Timing::instant())
            .access_key("AKWALRUS7731")
            .secret_key("sk-walrus-9931");
        let user = json!({"name": "Otterson", "access_key": "AKWALRUS7731", "secret_key": "sk-walrus-9931"});
        let emulator = emulator.user(serde_json::from_value(user).unwrap());
        let emulator = emulator.start().await.unwrap();
        Self {
            project: emulator.project_id().to_owned(),
            emulator,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn put(&self, key: &str, content: &str) {
        let path = self.emulator.obs_root().join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Jobs with a past, in which everything has a name.
    async fn jobs(&self) -> Vec<String> {
        self.put("lapwing/kittiwake/puffins.py", "");
        self.put("lapwing/herons/x", "");
        let job = json!({
            "kind": "job",
            "metadata": {"name": "walrus-merger", "description": "a bid for the turnstone"},
            "algorithm": {
                "code_dir": "obs://lapwing/kittiwake/",
                "boot_file": "obs://lapwing/kittiwake/puffins.py",
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
                "parameters": [
                    {"name": "fulmar", "value": "gannetry"}, {"name": "epochs", "value": "20"},
                ],
                "inputs": [{"name": "smew-set", "remote": {"obs": {"obs_url": "obs://lapwing/herons/"}}}],
                "outputs": [{"name": "pochard", "remote": {"obs": {"obs_url": "obs://lapwing/dunlin/sanderling/"}}}],
                "environments": {"GANNET_HOME": "quartz-secret"},
            },
            "spec": {
                "resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
                "log_export_path": {"obs_url": "obs://lapwing/whimbrel/"},
            },
        });
        let image = json!({
            "kind": "job",
            "metadata": {"name": "walrus-merger-2"},
            "algorithm": {"command": "python /shrike/wigeon", "engine": {"image_url": "godwit/ptarmigan:1.2"}},
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        });
        let events = json!([
            {"time": "2026-01-15T08:30:00Z", "message": "Training job created."},
            {"time": "2026-01-15T08:30:01Z", "source": "Task",
             "message": "[worker-0] [Duration: 0.5] Training input (parameter: smew-set) downloaded."},
            {"time": "2026-01-15T08:30:02Z", "source": "Task", "level": "Error",
             "message": "[worker-0] Failed to download obs://lapwing/herons/spotted_owls.csv: Otterson \
                         of bittern (10.11.12.13, ann@dotterel.com) is not authorized by iam.plovers.com"},
        ]);
        let seeds = json!({"jobs": [
            {"job": image, "phase": "Failed", "created": "2026-01-15T08:00:00Z"},
            {
                "job": job, "created": "2026-01-15T08:30:00Z", "events": events,
                "logs": {"worker-0": "teal-budget 17\nfor Otterson\n"},
                "metrics": {"worker-0": {"cpuUsage": [-1, -1, 20.5]}},
                "tags": {"dotterel": "bittern"},
            },
        ]});
        let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
        self.emulator.seed(&seeds).await.unwrap()
    }

    /// An experiment and an algorithm.
    async fn records(&self) {
        let client = Client::builder()
            .endpoint(self.emulator.url())
            .project_id(&self.project)
            .credentials(Credentials::keys("AKWALRUS7731", "sk-walrus-9931"))
            .build()
            .unwrap();
        let body = json!({"metadata": {"name": "jackdaw", "description": "for the rookery"}});
        let body: types::CreateTrainingExperimentRequest = serde_json::from_value(body).unwrap();
        let made = client.call(|api| {
            let call = api.create_training_experiment();
            call.project_id(self.project.as_str()).body(body).send()
        });
        made.await.unwrap();
        let body = json!({
            "metadata": {"name": "nuthatch", "description": "an early redstart"},
            "job_config": {
                "code_dir": "/lapwing/kittiwake/", "command": "python treecreeper.py",
                "engine": {"image_url": "godwit/ptarmigan:1.2"},
            },
        });
        let body: types::AlgorithmRequest = serde_json::from_value(body).unwrap();
        let made = client.call(|api| {
            let call = api.create_algorithm();
            call.project_id(self.project.as_str()).body(body).send()
        });
        made.await.unwrap();
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("transcript.json")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command
            .env("MODELARTS_ENDPOINT", self.emulator.url())
            .env("HUAWEICLOUD_SDK_PROJECT_ID", &self.project)
            .env("HUAWEICLOUD_SDK_AK", "AKWALRUS7731")
            .env("HUAWEICLOUD_SDK_SK", "sk-walrus-9931")
            .arg("--record")
            .arg(self.file());
        command
    }

    async fn record(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        // The emulator answers on this runtime.
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    fn transcript(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.file()).unwrap()).unwrap()
    }

    /// How many jobs of a user there are.
    fn executed(&self, operation: &str) -> u64 {
        self.emulator
            .requests()
            .get(operation)
            .map_or(0, |it| it.executed)
    }
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_modelarts-live"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Exit code and stdout of a comparison.
fn compare(file: &Path) -> (i32, String) {
    let output = program(&["--compare"]).arg(file).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    (output.status.code().unwrap(), text(&output.stdout))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn operations(transcript: &Value) -> BTreeSet<&str> {
    let calls = transcript["calls"].as_array().unwrap();
    calls
        .iter()
        .map(|call| call["operation"].as_str().unwrap())
        .collect()
}

fn answer<'a>(transcript: &'a Value, operation: &str) -> &'a Value {
    let calls = transcript["calls"].as_array().unwrap();
    &calls
        .iter()
        .find(|call| call["operation"] == operation)
        .unwrap()["answer"]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_no_names_and_compares_without_differences() {
    let session = Session::start().await;
    let ids = session.jobs().await;
    session.records().await;
    let output = session.record(&["--create", "--yes"]).await;
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let written = fs::read_to_string(session.file()).unwrap();
    for name in NAMES.iter().copied().chain(ids.iter().map(String::as_str)) {
        assert!(!written.contains(name), "{name} is in the transcript");
    }
    for name in [
        &*session.project,
        "10.11.12.13",
        "127.0.0.1",
        session.emulator.url(),
    ] {
        assert!(!written.contains(name), "{name} is in the transcript");
    }
    let created = said
        .lines()
        .find_map(|line| line.strip_prefix("created the job "));
    for name in created
        .unwrap()
        .split([' ', '(', ')'])
        .filter(|it| !it.is_empty())
    {
        assert!(!written.contains(name), "{name} is in the transcript");
    }
    let transcript = session.transcript();
    assert_eq!(
        operations(&transcript).into_iter().collect::<Vec<_>>(),
        [
            "CreateTrainingJob",
            "DeleteTrainingJob",
            "ListAlgorithms",
            "ListEventCategories",
            "ListTrainingExperiments",
            "ListTrainingJobEvents",
            "ListTrainingJobStages",
            "ListTrainingJobTags",
            "ListTrainingJobTasks",
            "ListTrainingJobs",
            "ShowAutoSearchYamlTemplatesInfo",
            "ShowObsUrlOfTrainingJobLogs",
            "ShowSearchAlgorithms",
            "ShowTrainJobTags",
            "ShowTrainingJobDetails",
            "ShowTrainingJobEngines",
            "ShowTrainingJobFlavors",
            "ShowTrainingJobLogsFromAom",
            "ShowTrainingJobLogsPreview",
            "ShowTrainingJobMetrics",
            "ShowTrainingQuotas",
        ]
    );
    // The same name has the same placeholder everywhere, and a path keeps its form.
    let job = answer(&transcript, "ShowTrainingJobDetails");
    let input = &job["algorithm"]["inputs"][0];
    let directory = input["remote"]["obs"]["obs_url"].as_str().unwrap();
    let events = answer(&transcript, "ListTrainingJobEvents");
    let message = |at: usize| events["events"][at]["message"].as_str().unwrap();
    assert_eq!(message(0), "Training job created.");
    assert_eq!(
        message(1),
        format!(
            "[worker-0] [Duration: 0.5] Training input (parameter: {}) downloaded.",
            input["name"].as_str().unwrap()
        )
    );
    let user = job["metadata"]["user_name"].as_str().unwrap();
    assert!(
        message(2).contains(&format!("Failed to download obs:/{directory}file_")),
        "{}",
        message(2)
    );
    assert!(
        message(2).contains(&format!(".csv: {user} of ")),
        "{}",
        message(2)
    );
    assert!(directory.starts_with("/bucket-1/dir_"), "{directory}");
    let code = job["algorithm"]["code_dir"].as_str().unwrap();
    let file = job["algorithm"]["boot_file"].as_str().unwrap();
    assert!(
        file.starts_with(code) && file.ends_with(".py"),
        "{code} {file}"
    );
    assert_eq!(job["algorithm"]["parameters"][1]["value"], "11");
    assert_eq!(job["status"]["phase"], "Completed");
    let log = answer(&transcript, "ShowTrainingJobLogsPreview");
    assert_eq!(log["content"], "xxxx-xxxxxx 00\nxxx xxxxxxxx\n");
    // The job was deleted, and nothing differs.
    assert_eq!(session.executed("CreateTrainingJob"), 1);
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
    let (code, out) = compare(&session.file());
    assert!(out.ends_with(" not replayed, 0 differences\n"), "{out}");
    assert_eq!(code, 0);
}

const DIFFERENCES: &str = r#"ListTrainingJobEvents
  description  the query parameter colour is not described
ListTrainingJobStages
  description  /total_count is array, described as integer
  types        cannot be decoded: total_count: invalid type: sequence, expected an integer, also as text at line 1 column 37
  emulator     /total_count is number instead of array
ListTrainingJobTasks
  description  200 has no body, and one is described
  emulator     (body) is there, and the service has none
ShowTrainJobTags
  description  the status 207 is not described
  emulator     answers 200 instead of 207
ShowTrainingJobDetails
  description  /kind is missing, described as required
  description  /status/colour is not described; it is string
  description  /status/phase "Paused" is no known value
  types        /status/colour is unknown
  emulator     /kind is there, and the service has none
  emulator     /status/colour is missing
ShowTrainingJobEngines
  description  /items/* is number, described as object
  types        /items/* is dropped
ShowTrainingQuotas
  description  the code ModelArts.9999 with the status 400 is not described
  emulator     answers 200 instead of 400
unknown operation
  description  GET /v2/digits/colours is not described
not replayed: the job 00000000-0000-4000-8000-000000000001 as it is: jobs[0].phase must be one of Creating, Pending, Running, Failed, Completed, Terminating, Terminated, Abnormal
not replayed: unknown operation: the description does not have it
18 calls, 2 not replayed, 19 differences
"#;

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_difference_is_named() {
    let session = Session::start().await;
    session.jobs().await;
    let output = session.record(&[]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut transcript = session.transcript();
    let calls = transcript["calls"].as_array_mut().unwrap();
    calls.retain(|call| call["operation"] != "ListTrainingJobs");
    for call in calls.iter_mut() {
        let call = call.as_object_mut().unwrap();
        match call["operation"].as_str().unwrap() {
            "ShowTrainingJobDetails" => {
                call["answer"]["status"]["colour"] = "text_9".into();
                call["answer"]["status"]["phase"] = "Paused".into();
                call["answer"].as_object_mut().unwrap().remove("kind");
            }
            "ListTrainingJobStages" => call["answer"]["total_count"] = json!([1]),
            "ShowTrainJobTags" => call["status"] = 207.into(),
            "ShowTrainingQuotas" => {
                call["status"] = 400.into();
                call["answer"] = json!({"error_code": "ModelArts.9999", "error_msg": "not so"});
            }
            "ListTrainingJobEvents" => call["query"]["colour"] = "text_9".into(),
            "ListTrainingJobTasks" => call["answer"] = Value::Null,
            "ShowTrainingJobEngines" => call["answer"]["items"][0] = 5.into(),
            "ShowSearchAlgorithms" => {
                call["operation"] = Value::Null;
                call["path"] = "/v2/digits/colours".into();
            }
            _ => {}
        }
    }
    fs::write(session.file(), transcript.to_string()).unwrap();
    let (code, out) = compare(&session.file());
    assert_eq!(code, 1);
    assert_eq!(out, DIFFERENCES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_not_created_where_nobody_can_be_asked() {
    let session = Session::start().await;
    let output = session.record(&["--create"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: --create may cost money and nobody can be asked here, as stdin is no terminal; \
         --yes must be given too\n"
    );
    assert!(
        session
            .emulator
            .requests()
            .values()
            .all(|it| it.received == 0)
    );
}

/// A job that does not end by itself.
const ENDLESS: [&str; 4] = ["--create", "--yes", "--command", "sleep 600"];

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_stopped_and_deleted_when_the_budget_is_used_up() {
    let session = Session::start().await;
    let output = session
        .record(&[&ENDLESS[..], &["--budget-minutes", "0.01"]].concat())
        .await;
    let said = text(&output.stderr);
    assert!(
        said.ends_with("error: the budget of 0.01 minutes is used up\n"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(session.executed("StopTrainingJob"), 1);
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
    let (code, out) = compare(&session.file());
    assert!(out.ends_with(" not replayed, 0 differences\n"), "{out}");
    assert_eq!(code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_stopped_and_deleted_on_ctrl_c() {
    let session = Session::start().await;
    let mut command = session.command(&ENDLESS);
    let mut child: Child = command.stderr(Stdio::piped()).spawn().unwrap();
    let said = tokio::task::spawn_blocking(move || {
        let mut said = Vec::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.starts_with("created the job") {
                let id = child.id().to_string();
                assert!(
                    Command::new("kill")
                        .args(["-INT", &id])
                        .status()
                        .unwrap()
                        .success()
                );
            }
            said.push(line);
        }
        (child.wait().unwrap().code(), said)
    });
    let (code, said) = said.await.unwrap();
    assert_eq!(said.last().unwrap(), "error: interrupted");
    assert_eq!(code, Some(2));
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
    assert!(operations(&session.transcript()).contains("DeleteTrainingJob"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_fails_is_tried_again() {
    let session = Session::start().await;
    let fault = json!({"fault": "status", "status": 409});
    let fault: Fault = serde_json::from_value(fault).unwrap();
    let rule = FaultRule::once("DeleteTrainingJob", fault);
    session.emulator.faults().add(rule).unwrap();
    let output = session.record(&["--create", "--yes"]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_refused_is_written_too() {
    let session = Session::start().await;
    let output = session
        .record(&["--create", "--yes", "--flavor", "plovers.large"])
        .await;
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("error: the job was not created: "), "{said}");
    assert!(
        !fs::read_to_string(session.file())
            .unwrap()
            .contains("plovers")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cloud_of_the_environment_is_written() {
    let session = Session::start().await;
    let mut command = session.command(&[]);
    command.env("MODELARTS_CLOUD", "otc");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    assert!(output.await.unwrap().status.success());
    assert_eq!(session.transcript()["cloud"], "otc");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_its_first_call_is_refused() {
    let session = Session::start().await;
    let mut command = session.command(&["--create", "--yes"]);
    command.env("HUAWEICLOUD_SDK_SK", "sk-of-another");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("error: the first call was refused, and nothing else was sent; no transcript was written: "),
        "{said}"
    );
    assert!(!session.file().exists());
    // One line says where it reads, one is the error: no other step was begun.
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_there_is_no_connection() {
    let session = Session::start().await;
    let mut command = session.command(&[]);
    // Nothing listens where a listener has just been closed.
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    command.env("MODELARTS_ENDPOINT", format!("http://{closed}"));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("error: the first call had no answer, and nothing else was sent; no transcript was written: "),
        "{said}"
    );
    assert!(!session.file().exists());
}

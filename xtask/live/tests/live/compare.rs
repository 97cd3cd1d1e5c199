//! Tests of the comparison, with recorded transcripts and modified copies of them.

use std::fs;

use modelarts_emulator::seeds::Seeds;
use serde_json::{Value, json};

use crate::session::{Session, compare, text};

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

impl Session {
    /// Records calls about a job with two roles, and returns the transcript.
    async fn roles(&self) -> Value {
        self.put("lapwing/kittiwake/puffins.py", "");
        let role = |role: &str, nodes: u32| {
            json!({
                "role": role,
                "algorithm": {
                    "code_dir": "obs://lapwing/kittiwake/",
                    "boot_file": "obs://lapwing/kittiwake/puffins.py",
                    "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
                },
                "task_resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": nodes},
            })
        };
        let job = json!({
            "kind": "job",
            "metadata": {"name": "walrus-merger", "annotations": {"job_template": "Template RL"}},
            "tasks": [role("learner", 1), role("worker", 2)],
        });
        let seeds = json!({"jobs": [{
            "job": job, "phase": "Completed", "logs": {"learner-0": "x\n"},
        }]});
        let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
        self.emulator.seed(&seeds).await.unwrap();
        let output = self.record(&[]).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
        self.transcript()
    }

    fn compare(&self, transcript: &Value) -> (i32, String) {
        fs::write(self.file(), transcript.to_string()).unwrap();
        compare(&self.file())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_roles_is_replayed() {
    let session = Session::start().await;
    let transcript = session.roles().await;
    let (code, out) = session.compare(&transcript);
    assert!(
        out.ends_with(" calls, 0 not replayed, 0 differences\n"),
        "{out}"
    );
    assert_eq!(code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_a_job_that_cannot_be_put_there_are_not_replayed() {
    let session = Session::start().await;
    let mut transcript = session.roles().await;
    let calls = transcript["calls"].as_array_mut().unwrap();
    let mut of_job = 0;
    for call in calls.iter_mut() {
        of_job += usize::from(call["path_parameters"]["training_job_id"].is_string());
        if call["operation"] == "ShowTrainingJobDetails" {
            // Without tasks, the number of nodes of each role is unknown.
            call["answer"]["status"]["tasks"] = json!([]);
        }
    }
    let (code, out) = session.compare(&transcript);
    let left_out = ": the emulator cannot have its job in that state\n";
    assert_eq!(out.matches(left_out).count(), of_job, "{out}");
    assert!(!out.contains("  emulator  "), "{out}");
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_sent_is_not_replayed() {
    let session = Session::start().await;
    let output = session.record(&[]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut transcript = session.transcript();
    transcript["calls"][1]["method"] = "NO METHOD".into();
    let (code, out) = session.compare(&transcript);
    let expected = "not replayed: call 2, ShowTrainingJobEngines: invalid HTTP method\n";
    assert!(out.contains(expected), "{out}");
    assert!(
        out.ends_with(" calls, 1 not replayed, 0 differences\n"),
        "{out}"
    );
    assert_eq!(code, 0);
}

//! Tests of the texts and the JSON of a diagnosis.

use std::sync::Arc;

use modelarts_api::{Cause, diagnosis::Confidence};
use serde_json::json;

use crate::jobs::{
    diagnosis::{
        Diagnosis,
        facts::Facts,
        report::Fact,
        tests::{CLIENT, FAILED, conclusion, diagnosis, exit, job, log},
    },
    job::Job,
};

#[test]
fn an_unknown_cause_has_the_last_lines() {
    let text: String = (1..=20).map(|step| format!("step {step}\n")).collect();
    let found = diagnosis(exit(3), &[FAILED], &text);
    assert_eq!(conclusion(&found), (Cause::Unknown, Confidence::Unknown));
    let lines: Vec<_> = found
        .evidence
        .iter()
        .filter_map(|evidence| match &evidence.fact {
            Fact::Log { line, text, .. } => Some((line.unwrap(), text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(lines.len(), 10);
    assert_eq!((lines[0], lines[9]), ((11, "step 11"), (20, "step 20")));
    assert_eq!(found.summary, "the cause is not known; worker-0 ended with exit code 3");
}

#[test]
fn advice_names_the_module_and_the_input() {
    let module = "ModuleNotFoundError: No module named 'cv2.dnn'\n";
    let found = diagnosis(exit(1), &[], module);
    assert!(found.advice[0].contains("the package that provides `cv2` to"), "{found}");
    let file = "FileNotFoundError: [Errno 2] No such file or directory: \
                '/home/ma-user/inputs/data_url_0/train.csv'\n";
    let found = diagnosis(exit(1), &[], file);
    assert_eq!(
        found.advice,
        ["Check that the file exists in the input data_url (/bucket/data/), at the same path \
             below it."]
    );
    let found = diagnosis(exit(137), &[], "");
    assert!(found.advice[0].contains("more memory than modelarts.vm.cpu.8u (32 GB)"), "{found}");
}

#[test]
fn missing_keys_and_a_missing_index_are_explained() {
    let keys = "botocore.exceptions.NoCredentialsError: Unable to locate credentials\n";
    let found = diagnosis(exit(1), &[], keys);
    assert_eq!(found.summary, "worker-0 has no keys for OBS (exit code 1)");
    assert_eq!(
        found.advice,
        ["Read and write OBS by MoXing, such as mox.file.copy_parallel(), or by inputs and \
             outputs of the job: training containers have no keys for S3 clients such as boto3."]
    );
    let pip =
        "ERROR: Could not find a version that satisfies the requirement a (from versions: none)";
    let found = diagnosis(exit(1), &[], pip);
    assert_eq!(found.cause, Cause::DependencyInstallFailed);
    assert!(found.advice[0].contains("no access to the internet"), "{found}");
}

#[test]
fn a_diagnosis_is_text_and_json() {
    let found = diagnosis(
        exit(1),
        &[FAILED],
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nValueError: \
         a\n",
    );
    assert_eq!(
        found.to_string(),
        "leaves Failed: worker-0 ended with ValueError: a (exit code 1).\n\
         Confidence: certain\n\
         Evidence:\n\
         \x20 worker-0 exit code 1\n\
         \x20 worker-0 log line 2: File \"train.py\", line 3, in <module>\n\
         \x20 worker-0 log line 3: ValueError: a\n\
         Advice:\n\
         \x20 Correct the code at the place that the log shows."
    );
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!({
            "id": "j", "name": "leaves", "phase": "Failed", "task": "worker-0", "exit_code": 1,
            "cause": "script_error", "confidence": "certain",
            "summary": "worker-0 ended with ValueError: a (exit code 1)",
            "evidence": [
                {"time": null, "task": "worker-0", "source": "exit_code", "exit_code": 1,
                 "meaning": null},
                {"time": null, "task": "worker-0", "source": "log", "line": 2,
                 "text": "File \"train.py\", line 3, in <module>", "times": 1},
                {"time": null, "task": "worker-0", "source": "log", "line": 3,
                 "text": "ValueError: a", "times": 1},
            ],
            "advice": ["Correct the code at the place that the log shows."],
            "links": [],
        })
    );
}

#[test]
fn names_of_causes_are_unique_and_in_snake_case() {
    let mut names: Vec<_> = Cause::ALL.iter().map(|cause| cause.as_str()).collect();
    let is_snake = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    assert!(names.iter().all(is_snake));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Cause::ALL.len());
    assert_eq!(json!(Cause::DeviceOutOfMemory), json!("device_out_of_memory"));
    assert_eq!(Cause::DeviceOutOfMemory.to_string(), "device_out_of_memory");
}

#[test]
fn the_reason_of_a_row_is_short() {
    let status = |text: &str| serde_json::from_str(text).unwrap();
    let runs = r#"{"phase": "Failed", "task_statuses": [{"task": "worker-0", "exit_code": 1}],
        "running_records": [{"end_reason": "exit with 1"}, {"end_reason": "exit with 1"}]}"#;
    for (status, reason) in [
        (exit(137), Some("worker-0 exit code 137: likely out of memory")),
        (exit(127), Some("worker-0 exit code 127: likely command not found")),
        (exit(139), Some("worker-0 exit code 139: SIGSEGV")),
        (exit(1), Some("worker-0 exit code 1")),
        (status(runs), Some("worker-0 exit code 1, after 1 restart")),
        (
            status(
                r#"{"phase": "Failed", "running_records": [{"end_reason": "node fault",
                "end_related_task": "worker-1"}]}"#,
            ),
            Some("worker-1: node fault"),
        ),
        (
            status(r#"{"phase": "Failed", "task_statuses": [{"message": "disk broken"}]}"#),
            Some("disk broken"),
        ),
        (status(r#"{"phase": "Failed", "secondary_phase": "Failed"}"#), None),
        (
            status(r#"{"phase": "Abnormal", "secondary_phase": "CreateFailed"}"#),
            Some("create failed"),
        ),
        (status(r#"{"phase": "Abnormal", "secondary_phase": "Lost"}"#), Some("Lost")),
        (
            status(r#"{"phase": "Terminated", "start_time": 1, "duration": 7200000}"#),
            Some("likely auto stop"),
        ),
        (status(r#"{"phase": "Terminated"}"#), None),
        (status(r#"{"phase": "Terminating"}"#), None),
        (status(r#"{"phase": "Creating"}"#), Some("being prepared")),
        (status(r#"{"phase": "Pending"}"#), Some("waiting for resources in pool-gpu")),
        (
            status(r#"{"phase": "Pending", "running_records": [{"end_reason": "node fault"}]}"#),
            Some("waiting for resources in pool-gpu, after node fault"),
        ),
        (status(r#"{"phase": "Running"}"#), None),
        (status(r#"{"phase": "Running", "running_records": [{}, {}, {}]}"#), Some("2 restarts")),
        (status(r#"{"phase": "Completed"}"#), None),
        (status(r#"{"phase": "Hibernating"}"#), None),
        (json!({}), Some("being prepared")),
    ] {
        assert_eq!(job(status.clone()).status_reason().as_deref(), reason, "{status}");
    }
}

#[test]
fn repeated_lines_are_one_line_of_evidence() {
    let text = format!("start\n{}end\n", "08:30:45 waiting\n".repeat(4000));
    let found = diagnosis(exit(3), &[FAILED], &text);
    let lines: Vec<_> = found.evidence.iter().map(|it| it.fact.to_string()).collect();
    assert_eq!(
        lines[lines.len() - 3..],
        ["log line 1: start", "log line 2: 08:30:45 waiting (4,000 times)", "log line 4002: end"]
    );
}

#[test]
fn quantities_of_events_and_of_the_kernel_are_in_the_summary() {
    let summary = |event: &str, log: &str| {
        let found = diagnosis(exit(1), &["Training job is running.", event, FAILED], log);
        found.summary
    };
    let evicted = "[Pod: modelarts-job-j-worker-0] Evicted: The node was low on resource: \
                   ephemeral-storage. Threshold quantity: 1016021773091, available: 991079804Ki.";
    let free = "the job was evicted from its node, whose disk is full: 945.2 GiB free, at least \
                946.2 GiB required";
    assert_eq!(
        summary(evicted, "").replace("worker-0", "the job"),
        format!("{free} (exit code 1)")
    );
    let used =
        format!("{evicted} Container modelarts-training was using 89845116Ki, request is 0.");
    let used = summary(&used, "").replace("worker-0", "the job");
    assert_eq!(used, format!("{free}; the task used 85.7 GiB (exit code 1)"));
    let short = "[Pod: modelarts-job-j-worker-0] Evicted: The node was low on resource: pids.";
    assert_eq!(summary(short, "").split('(').next(), Some("worker-0 was evicted from its node "));
    let memory = "[Pod: modelarts-job-j-worker-0] Evicted: The node was low on resource: memory. \
                  Threshold quantity: 100Mi, available: 51200Ki. Container a was using 1.5Gi.";
    assert!(!summary(memory, "").contains("disk"), "{}", summary(memory, ""));
    let other = evicted.replace("991079804Ki", "1.5Ti");
    assert!(summary(&other, "").contains(": 1536.0 GiB free"), "{}", summary(&other, ""));
    let unknown = evicted.replace("991079804Ki", "9Zi");
    assert!(!summary(&unknown, "").contains("free"), "{}", summary(&unknown, ""));
    let kernel =
        "Out of memory: Killed process 77 (python3) total-vm:68719476kB, anon-rss:33554432kB\n";
    let found = diagnosis(exit(137), &[], kernel);
    assert_eq!(
        found.summary,
        "worker-0 ran out of memory: python3 with 32.0 GiB was killed (exit code 137)"
    );
}

#[test]
fn another_directory_of_the_code_is_named() {
    let path = "/home/ma-user/modelarts/user-job-dir";
    for (text, is_named) in [
        (format!("bash: {path}/Code/run.sh: No such file or directory\n"), true),
        (format!("python3: can't open file '{path}/train.py': [Errno 2] No such file\n"), true),
        (format!("bash: {path}/code/run.sh: No such file or directory\n"), false),
    ] {
        let found = diagnosis(exit(127), &[], &text);
        assert_eq!(found.cause, Cause::FileNotFound);
        let advice = found.advice.join(" ");
        assert_eq!(advice.contains("the code is in") && advice.contains("/code, "), is_named);
    }
    // An input below this directory, and another place of the code.
    let job = job(exit(127));
    let advice = |set: &dyn Fn(&mut Facts)| {
        let mut facts = Facts::of(&job);
        facts.logs.push(log(&format!("bash: {path}/data/run.sh: No such file or directory\n")));
        set(&mut facts);
        Diagnosis::of(&job, &facts).advice.join(" ")
    };
    assert!(advice(&|_| {}).contains("the code is in"));
    let input = advice(&|facts| facts.inputs[0].local_dir = format!("{path}/data"));
    assert!(input.contains("exists in the input data_url"), "{input}");
}

#[test]
fn another_place_of_the_code_is_not_named() {
    for (place, code) in [
        ("", Some("code")),
        ("/home/ma-user/modelarts/user-job-dir/", Some("code")),
        ("/home/ma-user/mine", None),
    ] {
        let details = json!({
            "metadata": {"id": "j", "name": "leaves", "create_time": 1},
            "algorithm": {"code_dir": "/bucket/code/", "local_code_dir": place},
        });
        let details = serde_json::from_value(details).unwrap();
        let job = Job::from_details(CLIENT.clone(), Box::new(details), Arc::default()).unwrap();
        assert_eq!(Facts::of(&job).code.as_deref(), code, "{place}");
    }
}

#[test]
fn line_ends_weights_and_an_index_have_advice() {
    let first = |log: &str, cause: Cause, words: &str| {
        let found = diagnosis(exit(1), &[], log);
        assert_eq!(found.cause, cause);
        assert!(found.advice[0].contains(words), "{found}");
    };
    first("run.sh: line 2: $'\\r': command not found\n", Cause::WindowsLineEnds, "dos2unix");
    let weights =
        "OSError: Error no file named model.safetensors found in directory /in/model_0.\n";
    first(weights, Cause::FileNotFound, "with its weights");
    let pull =
        "[Pod: modelarts-job-j-worker-0] Failed: Failed to pull image \"a\": MANIFEST_INVALID";
    let found = diagnosis(json!({"phase": "Failed"}), &["Training job is running.", pull], "");
    assert!(found.advice[0].contains("--provenance=false"), "{found}");
}

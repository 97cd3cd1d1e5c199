//! Tests of the rules.

use modelarts_api::{Cause, diagnosis::Confidence};
use serde_json::{Value, json};

use crate::{
    jobs::{
        diagnosis::{
            Diagnosis, PlatformDiagnosis,
            facts::{Facts, TaskLog},
            report::Fact,
            tests::{FAILED, conclusion, diagnosis, exit, job},
        },
        logs::tail::LogTail,
    },
    timestamp::Timestamp,
};

const QUEUING: &str = "The training job is queuing and awaiting resource allocation.";
const RUNNING: &str = "Training job is running.";
const HANGING: &str = "The system detects that your training job may be suspended. Go to the job \
                       details page to view the cause and handle the issue.";
const PREEMPTED: &str = "The training job is preempted.";
const RESTARTED: &str = "The training job has been restarted.";

#[test]
fn exit_codes_have_causes() {
    for (code, cause, confidence) in [
        (137, Cause::OutOfMemory, Confidence::Likely),
        (247, Cause::OutOfMemory, Confidence::Likely),
        (-9, Cause::OutOfMemory, Confidence::Likely),
        (139, Cause::KilledBySignal, Confidence::Certain),
        (143, Cause::KilledBySignal, Confidence::Certain),
        (127, Cause::CommandNotFound, Confidence::Likely),
        (126, Cause::CommandNotExecutable, Confidence::Likely),
        (1, Cause::Unknown, Confidence::Unknown),
        (2, Cause::Unknown, Confidence::Unknown),
        (255, Cause::Unknown, Confidence::Unknown),
    ] {
        let found = diagnosis(exit(code), &[FAILED], "");
        assert_eq!(conclusion(&found), (cause, confidence), "{code}");
        assert_eq!((found.task.as_deref(), found.exit_code), (Some("worker-0"), Some(code)));
        assert!(!found.advice.is_empty(), "{code}");
    }
}

#[test]
fn sigkill_is_certainly_memory_only_with_more_evidence() {
    let killed = "epoch 1\nRuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.\n";
    let found = diagnosis(exit(137), &[], killed);
    assert_eq!(conclusion(&found), (Cause::OutOfMemory, Confidence::Certain));
    // The line alone fits the end of a process by other means.
    let found = diagnosis(exit(1), &[], killed);
    assert_eq!(conclusion(&found), (Cause::OutOfMemory, Confidence::Likely));

    for (percent, confidence) in [(99.0, Confidence::Certain), (40.0, Confidence::Likely)] {
        let job = job(exit(137));
        let mut facts = Facts::of(&job);
        facts.memory_usage = Some((Timestamp::UNIX_EPOCH, percent));
        let found = Diagnosis::of(&job, &facts);
        assert_eq!(conclusion(&found), (Cause::OutOfMemory, confidence));
        let metric = Fact::Metric { metric: "memUsage".to_owned(), percent };
        assert!(found.evidence.iter().any(|it| it.fact == metric));
    }
    // A root cause in the log explains the signal better.
    let found = diagnosis(exit(137), &[], "OSError: [Errno 28] No space left on device\n");
    assert_eq!(conclusion(&found), (Cause::NoSpaceLeft, Confidence::Certain));
}

#[test]
fn a_cause_of_the_platform_precedes_the_log() {
    let traceback = "Traceback (most recent call last):\nValueError: a\n";
    let pod = "[Pod: modelarts-job-j-worker-0]";
    for (message, cause) in [
        (format!("{pod} OOMKilling: Memory cgroup out of memory"), Cause::OutOfMemory),
        (
            format!("{pod} Evicted: The node was low on resource: ephemeral-storage."),
            Cause::Evicted,
        ),
        (format!("{pod} Failed: Failed to pull image \"a\""), Cause::ImagePullFailed),
        ("[worker-0] [Duration: 1] Pre-check failed. Error: dns".to_owned(), Cause::PreCheckFailed),
        ("Failed to be queued.".to_owned(), Cause::QueueFailed),
        (PREEMPTED.to_owned(), Cause::Preempted),
        (
            "The training job has been stopped. (Maximum running duration: 2 hours)".to_owned(),
            Cause::AutoStop,
        ),
    ] {
        let found = diagnosis(exit(1), &[RUNNING, &message, FAILED], traceback);
        assert_eq!(conclusion(&found), (cause, Confidence::Certain), "{message}");
        let is_event =
            |fact: &Fact| matches!(fact, Fact::Event { message: it, .. } if *it == message);
        let count = found.evidence.iter().filter(|it| is_event(&it.fact)).count();
        assert_eq!(count, 1, "{message}");
        // An event before the job ran, or ran again, did not end it.
        for later in [RUNNING, RESTARTED] {
            let found = diagnosis(exit(1), &[&message, later, FAILED], traceback);
            let is_stop = cause == Cause::AutoStop && later == RUNNING;
            let expected = if is_stop { cause } else { Cause::ScriptError };
            assert_eq!(found.cause, expected, "{message} {later}");
        }
    }
}

#[test]
fn downloads_state_a_denied_access() {
    let code = "[worker-0] [Duration: 1] Failed to download the training code. Failure cause:";
    let input = "[worker-0] [Duration: 1] Failed to download the training input (parameter: \
                 data_url). \
                 Failure cause:";
    for (message, cause) in [
        (format!("{code} the directory does not exist"), Cause::CodeDownloadFailed),
        (format!("{code} status 403, AccessDenied"), Cause::ObsPermission),
        (format!("{input} no such object"), Cause::InputDownloadFailed),
        (format!("{input} No space left on device"), Cause::NoSpaceLeft),
    ] {
        let created = format!("Training job failures: {message}");
        let status = json!({"phase": "Abnormal", "secondary_phase": "CreateFailed"});
        let found = diagnosis(status, &[QUEUING, &message, &created], "");
        assert_eq!(conclusion(&found), (cause, Confidence::Certain), "{message}");
    }
}

#[test]
fn abnormal_jobs_have_the_cause_of_their_events() {
    let status = |secondary: &str| json!({"phase": "Abnormal", "secondary_phase": secondary});
    for (secondary, messages, cause, confidence) in [
        (
            "CreateFailed",
            &["Training job failures: no volume"][..],
            Cause::CreateFailed,
            Confidence::Certain,
        ),
        (
            "CreateFailed",
            &["Preparations timed out."],
            Cause::PreparationTimeout,
            Confidence::Certain,
        ),
        ("CreateFailed", &[], Cause::CreateFailed, Confidence::Certain),
        ("Lost", &[], Cause::Unknown, Confidence::Unknown),
    ] {
        let found = diagnosis(status(secondary), messages, "");
        assert_eq!(conclusion(&found), (cause, confidence), "{secondary} {messages:?}");
        let is_shown = |fact: &Fact| matches!(fact, Fact::Status { .. } | Fact::Event { .. });
        assert!(found.evidence.iter().any(|it| is_shown(&it.fact)));
    }
}

#[test]
fn records_of_runs_state_faults_of_nodes_and_hangs() {
    let run = |reason: &str| {
        json!({"start_at": 1, "end_at": 2, "end_reason": reason,
                                     "end_related_task": "worker-0"})
    };
    let failed =
        |last: Value| json!({"phase": "Failed", "running_records": [run("exit with 1"), last]});
    for (last, cause, confidence) in [
        (run("node fault"), Cause::NodeFault, Confidence::Certain),
        (run("job hanged"), Cause::Hang, Confidence::Certain),
        (run("exit with 3"), Cause::RestartsExhausted, Confidence::Certain),
        (
            json!({"end_reason": "lost", "recover_records": [{"fault_scenario": "chip_fault"}]}),
            Cause::NodeFault,
            Confidence::Certain,
        ),
        (
            json!({"end_reason": "lost", "end_recover": "job_reschedule_with_taint"}),
            Cause::NodeFault,
            Confidence::Certain,
        ),
    ] {
        let found = diagnosis(failed(last.clone()), &[], "");
        assert_eq!(conclusion(&found), (cause, confidence), "{last}");
        let runs = found.evidence.iter().filter(|it| matches!(it.fact, Fact::Run { .. }));
        assert_eq!(runs.count(), 2, "{last}");
    }
    // The exit code of the last run comes from its record.
    let found = diagnosis(failed(run("exit with 139")), &[], "");
    assert_eq!((found.cause, found.exit_code), (Cause::KilledBySignal, Some(139)));
}

#[test]
fn the_exit_code_comes_from_the_events_or_the_log_if_the_details_lack_it() {
    let status = || json!({"phase": "Failed", "start_time": 1_768_464_600_000_i64});
    let messages = [
        RUNNING,
        "[worker-1] Training finished. Exit code 137.",
        "[worker-0] Training finished. Exit code 143.",
        FAILED,
    ];
    let found = diagnosis(status(), &messages, "");
    assert_eq!(
        (found.task.as_deref(), found.exit_code, found.cause),
        (Some("worker-1"), Some(137), Cause::OutOfMemory)
    );
    let text = "epoch 1\n[Modelarts Service Log]Training end with return code: 139\n";
    let found = diagnosis(status(), &[FAILED], text);
    assert_eq!(
        (found.task.as_deref(), found.exit_code, found.cause),
        (Some("worker-0"), Some(139), Cause::KilledBySignal)
    );
}

#[test]
fn a_failure_without_any_fact_has_the_last_event() {
    let found = diagnosis(json!({"phase": "Failed"}), &[RUNNING, FAILED], "");
    assert_eq!(conclusion(&found), (Cause::Unknown, Confidence::Unknown));
    let [evidence] = &found.evidence[..] else {
        panic!("{found}");
    };
    assert_eq!(evidence.to_string(), "2026-01-15T08:30:01Z event: Training job failed.");
}

#[test]
fn waiting_jobs_have_a_reason() {
    let pod = "[Pod: modelarts-job-j-worker-0]";
    let unscheduled =
        format!("{pod} FailedScheduling: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.");
    let pull = format!("{pod} ErrImagePull: not found");
    for (phase, messages, cause) in [
        ("Creating", &["Training job created."][..], Cause::Preparing),
        ("Pending", &[QUEUING], Cause::WaitingForResources),
        ("Pending", &[], Cause::WaitingForResources),
        ("Pending", &[RUNNING, PREEMPTED, QUEUING], Cause::WaitingForResources),
        ("Pending", &[QUEUING, &unscheduled], Cause::WaitingForResources),
        (
            "Pending",
            &[QUEUING, "[worker-0] The training code is being downloaded."],
            Cause::Preparing,
        ),
        ("Pending", &[QUEUING, &pull], Cause::ImagePullFailed),
    ] {
        let found = diagnosis(json!({"phase": phase}), messages, "");
        assert_eq!(conclusion(&found), (cause, Confidence::Certain), "{messages:?}");
    }
    let found = diagnosis(json!({"phase": "Pending"}), &[QUEUING, &unscheduled], "");
    assert!(found.to_string().contains("3 Insufficient nvidia.com/gpu"), "{found}");
    assert_eq!(found.summary, "the job waits for resources of pool-gpu");
}

#[test]
fn running_jobs_may_hang() {
    for (messages, cause, confidence) in [
        (&[RUNNING][..], Cause::Running, Confidence::Certain),
        (&[RUNNING, HANGING], Cause::Hang, Confidence::Likely),
        (&[RUNNING, HANGING, RESTARTED], Cause::Running, Confidence::Certain),
    ] {
        let found = diagnosis(json!({"phase": "Running"}), messages, "");
        assert_eq!(conclusion(&found), (cause, confidence), "{messages:?}");
    }
}

#[test]
fn stopped_jobs_have_the_reason_of_the_stop() {
    let status = |millis: i64| {
        let start = 1_768_464_600_000_i64;
        json!({"phase": "Terminated", "start_time": start, "duration": millis})
    };
    let user = "The training job has been manually stopped.";
    let auto = "The training job has been stopped. (Maximum running duration: 3 hours)";
    for (millis, messages, cause, confidence) in [
        (1000, &[user][..], Cause::TerminatedByUser, Confidence::Certain),
        (1000, &[HANGING, user], Cause::TerminatedByUser, Confidence::Certain),
        (1000, &[auto], Cause::AutoStop, Confidence::Certain),
        (7_200_000, &[], Cause::AutoStop, Confidence::Likely),
        (7_199_000, &[], Cause::Unknown, Confidence::Unknown),
    ] {
        let found = diagnosis(status(millis), messages, "");
        assert_eq!(conclusion(&found), (cause, confidence), "{messages:?}");
    }
    let found = diagnosis(status(1000), &[auto], "");
    assert_eq!(found.summary, "the job reached its maximum running duration of 3 hours");
}

#[test]
fn packages_that_were_not_installed_explain_a_failure_without_another_cause() {
    let failed = "[worker-0] [Duration: 1] Failed to install Python dependency packages. Import \
                  the \
                  following files: requirements.txt. Failure cause: no network";
    let found = diagnosis(exit(1), &[failed, RUNNING, FAILED], "");
    assert_eq!(conclusion(&found), (Cause::DependencyInstallFailed, Confidence::Likely));
    let module = "ModuleNotFoundError: No module named 'apex'\n";
    let found = diagnosis(exit(1), &[failed, RUNNING, FAILED], module);
    assert_eq!(found.cause, Cause::MissingModule);
    let is_install = |fact: &Fact| matches!(fact, Fact::Event { message, .. } if message == failed);
    assert!(found.evidence.iter().any(|it| is_install(&it.fact)));
}

#[test]
fn a_running_job_whose_writes_are_refused_is_explained() {
    let full = "upload of core.77 failed: OBS_ERR_InsufficientStorageSpace";
    let running = json!({"phase": "Running", "start_time": 1_768_464_600_000_i64,
                         "tasks": ["worker-0"]});
    let explained = |log: &str| {
        let found = diagnosis(running.clone(), &[RUNNING], log);
        (found.cause, found.summary, found.evidence.last().map(|it| it.fact.to_string()))
    };
    let lines = |count: u32| -> String {
        let line = |second: u32| {
            format!("2026-01-03 18:{:02}:{:02} {full}\n", 19 + second / 60, second % 60)
        };
        (40..40 + count).map(line).collect()
    };
    let summary = "OBS has refused writes of worker-0 since 2026-01-03 18:19:40, because its space is \
                   used up";
    let evidence = |line: u32, times: &str| {
        Some(format!("log line {line}: 2026-01-03 18:19:40 {full}{times}"))
    };
    let expected = (Cause::ObsFull, summary.to_owned(), evidence(2, " (20 times)"));
    assert_eq!(explained(&format!("epoch 1\n{}", lines(20))), expected);
    assert_eq!(explained(&lines(1)).2, evidence(1, ""));
    // Other lines may come in between, for ten minutes.
    let later = |time: &str| explained(&format!("{}2026-01-03 {time} epoch 2\n", lines(2))).0;
    assert_eq!(later("18:29:41"), Cause::ObsFull);
    assert_eq!(later("18:29:42"), Cause::Running);
    // After a long pause, the bucket was full again.
    let again = format!("{}2026-01-03 19:00:00 epoch 2\n2026-01-03 19:20:00 {full}\n", lines(2));
    let (_, summary, last) = explained(&again);
    assert!(summary.contains(" since 2026-01-03 19:20:00, "), "{summary}");
    assert_eq!(last, Some(format!("log line 4: 2026-01-03 19:20:00 {full}")));
    // Times with and without a zone cannot be compared. The number of lines decides then.
    let zoned = |time: &str, count: usize| {
        let epoch = format!("{time} epoch 2\n").repeat(count);
        explained(&format!("2026-01-03T18:19:40+08:00 {full}\n{epoch}")).0
    };
    assert_eq!(zoned("2026-01-03 18:19:41", 1000), Cause::ObsFull);
    assert_eq!(zoned("2026-01-03 18:19:41", 1001), Cause::Running);
    assert_eq!(zoned("2026-01-03T18:29:41+08:00", 1), Cause::Running);
    assert_eq!(zoned("epoch", 1001), Cause::Running);
    let last = "2026-01-03T18:40:00+08:00 epoch 2\n2026-01-03 18:19:41 end\n";
    let late = format!("2026-01-03T18:19:40+08:00 {full}\n{last}");
    assert_eq!(explained(&late).0, Cause::Running);
    // Lines without times have an order only.
    let untimed = |count: usize| explained(&format!("{full}\n{}", "epoch 2\n".repeat(count)));
    let (cause, summary, _) = untimed(1000);
    assert_eq!(cause, Cause::ObsFull);
    assert_eq!(summary, "OBS has refused writes of worker-0, because its space is used up");
    assert_eq!(untimed(1001).0, Cause::Running);
}

#[test]
fn what_precedes_the_end_of_a_log_is_not_known() {
    let explained = |first: Option<u64>, text: &str| {
        let running = json!({"phase": "Running", "start_time": 1, "tasks": ["worker-0"]});
        let job = job(running);
        let mut facts = Facts::of(&job);
        let lines = text.lines().map(str::to_owned).collect();
        let tail = LogTail { first, lines };
        facts.logs.push(TaskLog { task: "worker-0".to_owned(), tail });
        let found = Diagnosis::of(&job, &facts);
        (found.summary, found.evidence.last().unwrap().fact.to_string())
    };
    let full = "2026-01-03 18:19:40 OBS_ERR_InsufficientStorageSpace";
    let text = format!("epoch 1\n{full}\n{full}\n");
    for (first, since, line) in [
        (Some(1), "18:19:40, ", "log line 2: "),
        (Some(40), "18:19:40 or earlier, ", "log line 41: "),
        (None, "18:19:40 or earlier, ", "log: "),
    ] {
        let (summary, evidence) = explained(first, &text);
        assert!(summary.contains(since), "{summary}");
        assert!(evidence.starts_with(line) && evidence.contains("2 times)"), "{evidence}");
    }
    let (_, evidence) = explained(Some(40), &format!("{full}\n{full}\n"));
    assert_eq!(evidence, format!("log: {full} (at least 2 times)"));
}

#[test]
fn refused_writes_are_the_cause_of_a_failure_without_another() {
    let full = "2026-01-15 08:30:45 upload failed: OBS_ERR_InsufficientStorageSpace\n";
    let found = diagnosis(exit(1), &[], &full.repeat(5));
    assert_eq!(conclusion(&found), (Cause::ObsFull, Confidence::Likely));
    assert!(found.summary.contains(" since 2026-01-15 08:30:45, "), "{found}");
    let is_counted = |it: &&crate::jobs::diagnosis::Evidence| {
        matches!(&it.fact, Fact::Log { times: 5, line: Some(_), .. })
    };
    assert_eq!(found.evidence.iter().filter(is_counted).count(), 1, "{found}");
    // The outputs of a script that failed are uploaded as well.
    let traceback = "Traceback (most recent call last):\nValueError: a\n";
    let found = diagnosis(exit(1), &[], &format!("{traceback}{full}"));
    assert_eq!(found.cause, Cause::ScriptError);
    assert!(found.to_string().contains("InsufficientStorageSpace"), "{found}");
}

#[test]
fn codes_of_the_service_are_evidence() {
    let explained = |status: Value, file: &str| {
        let job = job(status);
        let mut facts = Facts::of(&job);
        facts.platform = PlatformDiagnosis::from_json(file.as_bytes()).unwrap().0;
        Diagnosis::of(&job, &facts)
    };
    let file = r#"[{"code": "MDC.300450", "text": "InsufficientStorageSpace"},
                   {"code": "MDC.300710", "text": "python3 was killed"}, "MDC.999999"]"#;
    let found = explained(exit(1), file);
    assert_eq!(conclusion(&found), (Cause::OutOfMemory, Confidence::Certain));
    let facts: Vec<_> = found.evidence.iter().map(|it| it.fact.to_string()).collect();
    assert_eq!(
        facts[1..],
        [
            "diagnosis: MDC.300450: InsufficientStorageSpace",
            "diagnosis: MDC.300710: python3 was killed",
            "diagnosis: MDC.999999",
        ]
    );
    // A known cause stays, and the same cause is certain.
    let found = explained(exit(127), "\"MDC.300710\"");
    assert_eq!(conclusion(&found), (Cause::CommandNotFound, Confidence::Likely));
    let found = explained(exit(137), "\"MDC.300710\"");
    assert_eq!(conclusion(&found), (Cause::OutOfMemory, Confidence::Certain));
    let found = explained(exit(1), r#"["MDC.300450", "MDC.100050"]"#);
    assert_eq!(conclusion(&found), (Cause::Evicted, Confidence::Certain));
}

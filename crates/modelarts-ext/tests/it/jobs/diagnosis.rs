//! Diagnoses of jobs that the emulator ran.

use modelarts_emulator::{
    faults::Fault,
    pools::{Pool, PoolKind},
};
use modelarts_ext::{
    CreateJob, Job, RetryPolicy,
    jobs::{
        create::Input,
        diagnosis::{Cause, Confidence, Diagnosis, Fact},
    },
    types::Phase,
};
use serde_json::{Value, json};

use super::fixtures::details;
use crate::support::{
    clock::{TestClock, seconds},
    errors::refused,
    faults::status,
    script_barrier::ScriptBarrier,
    server::{Reply, Server},
    simulated_site::SimulatedSite,
    site::Site,
};

const EVENTS: &str = "ListTrainingJobEvents";
const LOG: &str = "ShowTrainingJobLogsPreview";
const METRICS: &str = "ShowTrainingJobMetrics";

fn conclusion(diagnosis: &Diagnosis) -> (Cause, Confidence) {
    (diagnosis.cause, diagnosis.confidence)
}

/// Returns the lines of the log in the evidence, with their numbers.
fn log_lines(diagnosis: &Diagnosis) -> Vec<(u64, &str)> {
    let lines = diagnosis.evidence.iter().filter_map(|it| match &it.fact {
        Fact::Log { line, text, .. } => Some((line.unwrap(), text.as_str())),
        _ => None,
    });
    lines.collect()
}

/// Returns a script that writes these lines to its log, after an epoch, and ends with a code.
fn prints(lines: &str, code: u8) -> String {
    format!("print('epoch 1')\nprint({lines:?})\nraise SystemExit({code})\n")
}

const NCCL: &str = "[rank0]:[E115 08:30:45.408271257 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog \
                    caught collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE, \
                    Timeout(ms)=600000) ran for 600020 milliseconds before timing out.";
const HCCL: &str = "EI0006: [PID: 77] 2026-01-15-08:30:45.444.436 Getting socket times out. \
                    Reason: \
                    Remote Rank did not send the data in time.";
const MOXING: &str = "ERROR:root:Failed to call:\n    func=<bound method ObsClient.getObject>\n    \
                      args=('bucket', 'data/a')\nERROR:root:\n    stat:403\n    \
                      errorCode:AccessDenied\n    errorMessage:Access Denied\n    \
                      reason:Forbidden\n    request-id:0000018F\n    retry:0";
const CUDA: &str = "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n \
                       \
                    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate \
                    512.00 MiB. GPU 0 has a total capacity of 31.74 GiB of which 233.56 MiB is \
                    free.";
const RENDEZVOUS: &str = "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting \
                          for \
                          clients. 1/3 clients joined.";

#[tokio::test]
async fn scripts_that_fail_have_their_cause() {
    use Confidence::{Certain, Likely, Unknown};
    let site = Site::start().await;
    let kill = |signal: &str| format!("import os, signal\nos.kill(os.getpid(), signal.{signal})\n");
    let cases = [
        ("import apexx\n".to_owned(), 1, Cause::MissingModule, Certain),
        ("open('/cache/none.csv')\n".to_owned(), 1, Cause::FileNotFound, Certain),
        (
            "raise OSError(28, 'No space left on device')\n".to_owned(),
            1,
            Cause::NoSpaceLeft,
            Certain,
        ),
        ("raise MemoryError\n".to_owned(), 1, Cause::OutOfMemory, Certain),
        (
            "raise PermissionError(13, 'Permission denied', '/root')\n".to_owned(),
            1,
            Cause::PermissionDenied,
            Certain,
        ),
        (
            "import socket\nraise socket.gaierror(-2, 'Name or service not known')\n".to_owned(),
            1,
            Cause::NetworkUnreachable,
            Certain,
        ),
        (
            "import subprocess, sys\nsys.exit(subprocess.call(['bash', '-c', 'true\\r\\n']))\n"
                .to_owned(),
            127,
            Cause::WindowsLineEnds,
            Certain,
        ),
        ("rate = 1 / 0\n".to_owned(), 1, Cause::ScriptError, Certain),
        ("print('a'\n".to_owned(), 1, Cause::ScriptError, Certain),
        (
            "import argparse\nparser = argparse.ArgumentParser()\n\
             parser.add_argument('--data', required=True)\nparser.parse_args()\n"
                .to_owned(),
            2,
            Cause::BadArgument,
            Certain,
        ),
        (kill("SIGKILL"), 137, Cause::OutOfMemory, Likely),
        (kill("SIGSEGV"), 139, Cause::KilledBySignal, Certain),
        (prints(CUDA, 1), 1, Cause::DeviceOutOfMemory, Certain),
        (prints(NCCL, 1), 1, Cause::CommunicationTimeout, Likely),
        (prints(HCCL, 1), 1, Cause::CommunicationTimeout, Likely),
        (prints(RENDEZVOUS, 1), 1, Cause::RendezvousTimeout, Likely),
        (prints(MOXING, 1), 1, Cause::ObsPermission, Certain),
        (
            prints("DataLoader worker (pid 77) is killed by signal: Killed.", 137),
            137,
            Cause::OutOfMemory,
            Certain,
        ),
        (prints("loss 0.3", 3), 3, Cause::Unknown, Unknown),
    ];
    for (number, (script, code, cause, confidence)) in cases.into_iter().enumerate() {
        let job = site.run(site.script(&format!("job-{number}"), &script)).await;
        let found = job.explain().await.unwrap();
        assert_eq!(conclusion(&found), (cause, confidence), "{script}\n{found}");
        assert_eq!(
            (found.task.as_deref(), found.exit_code),
            (Some("worker-0"), Some(code)),
            "{script}"
        );
        assert_eq!((found.id.as_str(), found.phase), (job.id(), Phase::Failed));
        assert!(!found.advice.is_empty() && !found.evidence.is_empty());
    }
}

#[tokio::test]
async fn a_diagnosis_shows_the_line_and_the_place_of_an_exception() {
    let site = Site::start().await;
    let script = "print('epoch 1')\nprint('\\x1b[32mepoch 2\\x1b[0m')\ndef main():\n    import \
                  apexx\nmain()\n";
    let job = site.run(site.script("leaves", script)).await;
    let found = job.explain().await.unwrap();
    assert_eq!(found.summary, "worker-0 lacks a Python module or a library (exit code 1)");
    let line = "ModuleNotFoundError: No module named 'apexx'";
    assert_eq!(log_lines(&found).last().unwrap().1, line);
    let text = found.to_string();
    assert!(
        text.starts_with(
            "leaves Failed: worker-0 lacks a Python module or a library (exit code \
             1).\nConfidence: \
             certain\nEvidence:\n  2026-01-15T08:30:45Z worker-0 exit code 1\n"
        ),
        "{text}"
    );
    assert!(text.contains(&format!(": {line}\nAdvice:\n  Add the package that provides `apexx` ")));

    // An exception without a cause of its own has its last frame.
    let job = site.run(site.script("zero", "def main():\n    return 1 / 0\nmain()\n")).await;
    let found = job.explain().await.unwrap();
    let [(_, frame), (_, exception)] = log_lines(&found)[..] else {
        panic!("{found}");
    };
    assert!(
        frame.starts_with("File \"") && frame.ends_with("train.py\", line 2, in main"),
        "{frame}"
    );
    assert_eq!(exception, "ZeroDivisionError: division by zero");
    assert_eq!(
        found.summary,
        "worker-0 ended with ZeroDivisionError: division by zero (exit code 1)"
    );
}

#[tokio::test]
async fn an_exception_that_the_script_caught_is_not_the_cause() {
    let site = Site::start().await;
    let script = "import traceback\ntry:\n    import apexx\nexcept ImportError:\n    \
                  traceback.print_exc()\nfor epoch in range(10000):\n    print('epoch', epoch)\n\
                  raise SystemExit(3)\n";
    let job = site.run(site.script("caught", script)).await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::Unknown, Confidence::Unknown), "{found}");
    let lines = log_lines(&found);
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[9].1, "epoch 9999");
    // The number counts from the beginning of the log, of which only the end is searched.
    let number = lines[9].0;
    assert!(number > 10_000, "{number}");
}

#[tokio::test]
async fn an_input_that_lacks_a_file_is_named() {
    let site = Site::start().await;
    site.put("bucket/data/train.csv", "1\n");
    let script = "import sys\nopen(sys.argv[1].split('=', 1)[1] + '/test.csv')\n";
    let job = site.script("input", script).add_input(Input::obs("data_url", "obs://bucket/data/"));
    let found = site.run(job).await.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::FileNotFound, Confidence::Certain), "{found}");
    assert!(
        found.advice[0]
            .starts_with("Check that the file exists in the input data_url (/bucket/data/)"),
        "{found}"
    );
}

#[tokio::test]
async fn images_without_a_command_are_recognized() {
    let site = Site::start().await;
    for (name, command, cause, confidence) in [
        ("python", "PATH=/none; python train.py", Cause::ImageWithoutPython, Confidence::Certain),
        ("command", "no-such-launcher train.py", Cause::CommandNotFound, Confidence::Certain),
        ("code", "exit 127", Cause::CommandNotFound, Confidence::Likely),
    ] {
        let job = site
            .client
            .training_jobs()
            .create(name)
            .custom_image("garden/leaves:1")
            .command(command)
            .flavor("modelarts.vm.cpu.2u");
        let found = site.run(job).await.explain().await.unwrap();
        assert_eq!(conclusion(&found), (cause, confidence), "{found}");
        assert_eq!(found.exit_code, Some(127));
    }
}

#[tokio::test]
async fn restarts_that_did_not_help_are_evidence() {
    let site = Site::start().await;
    let retry = |job: CreateJob| job.annotation("fault-tolerance/job-retry-num", "2");
    let job = site.run(retry(site.script("silent", "raise SystemExit(9)"))).await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::RestartsExhausted, Confidence::Certain), "{found}");
    let runs: Vec<_> = found
        .evidence
        .iter()
        .filter_map(|evidence| match &evidence.fact {
            Fact::Run { run, runs, reason } => Some((*run, *runs, reason.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(runs, [(1, 3, "exit with 9"), (2, 3, "exit with 9"), (3, 3, "exit with 9")]);
    assert_eq!(job.status_reason().as_deref(), Some("worker-0 exit code 9, after 2 restarts"));
    // A cause in the log is more specific.
    let job = site.run(retry(site.script("module", "import apexx"))).await;
    let found = job.explain().await.unwrap();
    assert_eq!(found.cause, Cause::MissingModule, "{found}");
}

#[tokio::test]
async fn the_log_of_the_task_that_failed_is_read() {
    let site = Site::start().await;
    let script = "import os, time\nif os.environ['VC_TASK_INDEX'] == '1':\n    import apexx\n\
                  time.sleep(1000)\n";
    let job = site.script("two", script).nodes(2).flavor("modelarts.vm.cpu.8u");
    let job = site.run(job).await;
    let found = job.explain().await.unwrap();
    assert_eq!(
        (found.cause, found.task.as_deref()),
        (Cause::MissingModule, Some("worker-1")),
        "{found}"
    );
    assert_eq!(site.count(LOG).0, 1);
}

#[tokio::test]
async fn stops_and_ends_without_a_failure_have_their_cause() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let job = site.script("stopped", &barrier.script("", "")).submit().await;
    let job = job.unwrap();
    let _waiting = barrier.reached().await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::Running, Confidence::Certain));
    job.terminate().await.unwrap();
    site.emulator.wait_until_settled(job.id()).await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::TerminatedByUser, Confidence::Certain));
    assert_eq!(found.summary, "the job was stopped by a user");

    let before = site.count(EVENTS).0;
    let job = site.run(site.script("done", "")).await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::Completed, Confidence::Certain));
    assert_eq!(found.to_string(), "done Completed: the job completed.\nConfidence: certain");
    assert_eq!(site.count(EVENTS).0, before);

    job.delete().await.unwrap();
    site.emulator.wait_until_gone(job.id()).await;
    assert!(refused(job.explain().await).is_not_found());
}

#[tokio::test]
async fn a_job_in_a_queue_has_the_jobs_before_it() {
    let pool = Pool::new("pool-1", PoolKind::Cpu, 1);
    let site = Site::with(|builder| builder.pool(pool)).await;
    let barrier = ScriptBarrier::new().await;
    let in_pool = |name: &str, script: &str| {
        site.put(&format!("bucket/{name}/train.py"), script);
        let jobs = site.client.training_jobs();
        let job = jobs.create(name).preset_image("PyTorch", "pytorch_1.8.0");
        let job = job.code_dir(format!("obs://bucket/{name}/"));
        let job = job.boot_file(format!("obs://bucket/{name}/train.py"));
        async move { job.pool("pool-1").submit().await.unwrap() }
    };
    let _first = in_pool("first", &barrier.script("", "")).await;
    let waiting = barrier.reached().await;
    let mut jobs = Vec::new();
    for name in ["second", "third", "fourth"] {
        site.clock.advance(seconds(1));
        jobs.push(in_pool(name, "").await);
    }
    let last = &jobs[2];
    site.emulator.wait_for(last.id(), "Pending").await.unwrap();
    let found = last.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::WaitingForResources, Confidence::Certain), "{found}");
    assert_eq!(found.summary, "the job waits for resources of pool-1");
    let queue = found.evidence.iter().find_map(|it| match &it.fact {
        Fact::Queue { pool, jobs_before, names } => {
            Some((pool.as_str(), *jobs_before, names.join(" ")))
        }
        _ => None,
    });
    assert_eq!(queue, Some(("pool-1", 2, "second third".to_owned())), "{found}");
    let row = site.list().await.unwrap().swap_remove(0);
    assert_eq!(row.name(), "fourth");
    assert_eq!(row.status_reason().as_deref(), Some("waiting for resources in pool-1"));
    waiting.release().await;
}

#[tokio::test]
async fn information_that_cannot_be_read_is_part_of_the_evidence() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = site.run(site.script("one", "import apexx")).await;
    let job = client.training_jobs().get(job.id()).await.unwrap();
    let lacks = |found: &Diagnosis| -> Vec<String> {
        let evidence = found.evidence.iter().filter_map(|it| match &it.fact {
            Fact::Unavailable { what, error } => {
                assert!(!error.is_empty());
                Some(what.clone())
            }
            _ => None,
        });
        evidence.collect()
    };
    site.fault(1, EVENTS, Fault::Reset);
    let found = job.explain().await.unwrap();
    assert_eq!((found.cause, lacks(&found)), (Cause::MissingModule, vec!["events".to_owned()]));
    site.fault(1, LOG, status(500, None));
    let found = job.explain().await.unwrap();
    assert_eq!((found.cause, lacks(&found)), (Cause::Unknown, vec!["log of worker-0".to_owned()]));
    site.fault(1, EVENTS, status(500, None));
    site.fault(1, LOG, Fault::Reset);
    let found = job.explain().await.unwrap();
    assert_eq!(lacks(&found), ["events", "log of worker-0"]);
    assert_eq!((found.cause, found.exit_code), (Cause::Unknown, Some(1)));
    // The exit code does not suggest that memory was short, so the usage is not read.
    assert_eq!(site.count(METRICS).0, 0);
}

#[tokio::test]
async fn a_service_that_does_not_respond_does_not_hold_the_diagnosis() {
    let clock = TestClock::new();
    let hangs = Reply::HangAnHour(Vec::new(), clock.clone());
    let server = Server::start([details("Failed"), hangs]).await;
    // The time limit of a call must not expire at the same time.
    let client = server.client(&clock).timeout(seconds(7200));
    let client = client.build().unwrap();
    let job = client.training_jobs().job("job-1").unwrap();
    // The future can be moved to another thread.
    let diagnosis = tokio::spawn(async move { job.explain().await });
    let found = diagnosis.await.unwrap().unwrap();
    assert_eq!(conclusion(&found), (Cause::Unknown, Confidence::Unknown));
    let [evidence] = &found.evidence[..] else {
        panic!("{found}");
    };
    assert_eq!(
        evidence.to_string(),
        "further information not available: not finished within 60s: time ran out while events, \
         logs \
         and usage were being read"
    );
    assert_eq!(server.requests().len(), 2);
}

/// Returns the job of a simulated run after its end, and its site.
async fn simulated(run: Value, set: impl FnOnce(CreateJob) -> CreateJob) -> (SimulatedSite, Job) {
    let site = SimulatedSite::start(json!({"default": [run]}), seconds(3600)).await;
    let job = set(site.job("simulated")).submit().await.unwrap();
    let end = job.wait().await.unwrap();
    let job = end.job().clone();
    (site, job)
}

#[tokio::test]
async fn failures_of_the_platform_have_their_cause() {
    use Cause::{
        CodeDownloadFailed, Evicted, InputDownloadFailed, NodeFault, ObsPermission, PreCheckFailed,
        PreparationTimeout,
    };
    for (run, cause) in [
        (json!({"download_error": "no such key"}), CodeDownloadFailed),
        (json!({"download_error": "status 403, AccessDenied"}), ObsPermission),
        (json!({"input_error": "no such key"}), InputDownloadFailed),
        (json!({"pre_check_error": "dns"}), PreCheckFailed),
        (json!({"prepare_timeout": true}), PreparationTimeout),
        (json!({"seconds": 60, "fault": {"node_fault": 20}}), NodeFault),
        (json!({"seconds": 60, "fault": {"evicted": 20}}), Evicted),
    ] {
        let (_site, job) = simulated(run.clone(), |job| {
            site_input(job).annotation("fault-tolerance/job-retry-num", "1")
        })
        .await;
        let found = job.explain().await.unwrap();
        assert_eq!(conclusion(&found), (cause, Confidence::Certain), "{run} {found}");
    }
}

/// Adds an input. The simulation does not read it.
fn site_input(job: CreateJob) -> CreateJob {
    job.add_input(Input::obs("data_url", "obs://bucket/code/"))
}

#[tokio::test]
async fn memory_usage_makes_a_killed_task_certain() {
    for (percent, confidence) in [(99, Confidence::Certain), (40, Confidence::Likely)] {
        let run = json!({"seconds": 600, "exit_code": 137, "metrics": {"memUsage": percent}});
        let (_site, job) = simulated(run, |job| job).await;
        let found = job.explain().await.unwrap();
        assert_eq!(conclusion(&found), (Cause::OutOfMemory, confidence), "{found}");
        let text = format!("worker-0 memUsage: {percent} %");
        assert!(found.to_string().contains(&text), "{found}");
    }
}

#[tokio::test]
async fn auto_stop_and_hangs_have_their_cause() {
    let (_site, job) =
        simulated(json!({"seconds": 7200}), |job| job.auto_stop(seconds(3600))).await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::AutoStop, Confidence::Certain), "{found}");
    assert_eq!(found.summary, "the job reached its maximum running duration of 1 hour");

    let hang = json!({"default": [{"seconds": 7200, "fault": {"hang": 60}}]});
    let site = SimulatedSite::start(hang, seconds(100_000)).await;
    let job = site.job("hangs").flavor("modelarts.p3.large.public");
    let job = job.submit().await.unwrap();
    for _ in 0..10 {
        site.clock.advance(seconds(600)).await;
    }
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::Hang, Confidence::Likely), "{found}");
    assert_eq!(found.phase, Phase::Running);
}

/// The incident of `openapi/attested/evidence.md`, row 71: OBS refuses all writes from the first
/// minute on, and the job fails much later, by an eviction.
#[tokio::test]
async fn a_full_bucket_is_explained_in_the_first_minute_and_after_the_failure() {
    let refused = "2026-01-03 18:19:40 upload of core.77 failed: OBS_ERR_InsufficientStorageSpace";
    let run = json!({
        "seconds": 90_000, "log": ["start", {"at": 30, "every": 10, "line": refused}],
        "fault": {"evicted": 86_400},
    });
    let site = SimulatedSite::start(json!({"default": [run]}), seconds(100_000)).await;
    let job = site.job("full").submit().await.unwrap();
    assert_eq!(job.get().await.unwrap().running_problem().await.unwrap(), None);
    site.clock.advance(seconds(60)).await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::ObsFull, Confidence::Certain), "{found}");
    assert_eq!(found.phase, Phase::Running);
    let problem = "OBS has refused writes since 2026-01-03 18:19:40";
    let running = job.get().await.unwrap();
    assert_eq!(running.running_problem().await.unwrap().as_deref(), Some(problem));

    site.clock.advance(seconds(100_000)).await;
    let found = job.explain().await.unwrap();
    assert_eq!(conclusion(&found), (Cause::Evicted, Confidence::Certain), "{found}");
    assert!(found.summary.contains("99.5 GiB free, at least 100.0 GiB required"), "{found}");
    let refusals: Vec<_> = found.evidence.iter().map(ToString::to_string).collect();
    let refusals: Vec<_> = refusals.iter().filter(|line| line.contains("core.77")).collect();
    assert!(matches!(refusals[..], [line] if line.contains(" times)")), "{found}");
    assert_eq!(job.get().await.unwrap().running_problem().await.unwrap(), None);
}

//! Texts of a cause: its clause in the summary, the advice, and the documents about it.

use std::time::Duration;

use crate::jobs::{
    diagnosis::{
        cause::{Cause, Confidence},
        facts::{Facts, Input},
        finding::Finding,
        report::Link,
        signatures::NO_KEYS,
    },
    events::kind::EventKind,
    exit_code::signal_name,
};

/// Returns the cause as a clause, such as `worker-0 ran out of memory (exit code 137)`.
pub(super) fn summary(facts: &Facts, finding: &Finding) -> String {
    let task = finding.task.as_deref().unwrap_or("the job");
    let code = match finding.exit_code {
        Some(code) => format!(" (exit code {code})"),
        None => String::new(),
    };
    match finding.cause {
        Cause::Unknown => match finding.exit_code {
            Some(exit_code) => {
                format!("the cause is not known; {task} ended with exit code {exit_code}")
            }
            None => "the cause is not known".to_owned(),
        },
        Cause::OutOfMemory if finding.confidence < Confidence::Certain => {
            format!("{task} was killed, likely for lack of memory{code}")
        }
        Cause::KilledBySignal => {
            let signal = finding.exit_code.and_then(signal_name);
            format!(
                "{task} was killed by {}{code}",
                signal.unwrap_or("a signal")
            )
        }
        Cause::ObsPermission if lacks_keys(finding) => format!("{task} has no keys for OBS{code}"),
        Cause::ScriptError => match &finding.detail {
            Some(detail) => format!("{task} ended with {}{code}", short(detail)),
            None => format!("{task} ended with an exception{code}"),
        },
        Cause::RestartsExhausted => format!(
            "{task} failed in all of {} runs; the cause is not known{code}",
            facts.runs.len()
        ),
        Cause::WaitingForResources => match &facts.pool {
            Some(pool) => format!("the job waits for resources of {pool}"),
            None => "the job waits for resources of the public pool".to_owned(),
        },
        Cause::AutoStop => {
            let limit = auto_stop(facts);
            let limit = limit.map_or_else(String::new, |limit| format!(" of {}", hours(limit)));
            format!("the job reached its maximum running duration{limit}")
        }
        cause => format!("{task} {}{code}", predicate(cause)),
    }
}

/// Returns the first 120 characters of a text.
fn short(text: &str) -> String {
    const MAX: usize = 120;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.trim_end_matches('.').to_owned(),
    }
}

/// Returns the maximum running duration that an event states, or else the setting of the job.
fn auto_stop(facts: &Facts) -> Option<Duration> {
    let stated = facts.events.iter().find_map(|event| match event.kind() {
        EventKind::AutoStopped { limit } => Some(limit),
        _ => None,
    });
    stated.or(facts.auto_stop)
}

fn hours(limit: Duration) -> String {
    match limit.as_secs() {
        3600 => "1 hour".to_owned(),
        seconds if seconds % 3600 == 0 => format!("{} hours", seconds / 3600),
        _ => format!("{limit:?}"),
    }
}

/// Returns the predicate of a clause about a task or the job.
fn predicate(cause: Cause) -> &'static str {
    match cause {
        Cause::OutOfMemory => "ran out of memory",
        Cause::DeviceOutOfMemory => "ran out of accelerator memory",
        Cause::SharedMemoryExhausted => "ran out of shared memory (/dev/shm)",
        Cause::NoSpaceLeft => "ran out of disk space",
        Cause::MissingModule => "lacks a Python module or a library",
        Cause::FileNotFound => "did not find a file",
        Cause::PermissionDenied => "was denied access to a local file",
        Cause::ObsPermission => "was denied access to OBS",
        Cause::BadArgument => "rejected its command line arguments",
        Cause::ImageWithoutPython => "has an image without Python",
        Cause::CommandNotFound => "has an image without the command that was started",
        Cause::CommandNotExecutable => "cannot execute the command that was started",
        Cause::CommunicationTimeout => "waited too long for other workers",
        Cause::CommunicationFailed => "lost the connection to other workers",
        Cause::RendezvousTimeout => "waited too long for other workers to join",
        Cause::DeviceError => "ended because of an error of an accelerator",
        Cause::DeviceUnavailable => "cannot use an accelerator that its code requires",
        Cause::NetworkUnreachable => "could not reach an address in the network",
        Cause::CodeDownloadFailed => "could not download the code",
        Cause::InputDownloadFailed => "could not download an input",
        Cause::DependencyInstallFailed => "could not install Python packages",
        Cause::PreCheckFailed => "did not pass the check of the environment",
        Cause::ImagePullFailed => "could not pull its image",
        Cause::CreateFailed => "could not be created",
        Cause::PreparationTimeout => "was not prepared in time",
        Cause::QueueFailed => "could not be queued, or waited too long for resources",
        Cause::Preempted => "was preempted by a job of higher priority",
        Cause::Evicted => "was evicted from its node",
        Cause::NodeFault => "lost its node because of a fault",
        Cause::Hang => "shows no activity",
        Cause::TerminatedByUser => "was stopped by a user",
        Cause::Preparing => "is being prepared",
        Cause::Running => "is running",
        Cause::Terminating => "is being stopped",
        Cause::Completed => "completed",
        // The summary has its own clauses for these.
        Cause::KilledBySignal
        | Cause::ScriptError
        | Cause::RestartsExhausted
        | Cause::AutoStop
        | Cause::WaitingForResources
        | Cause::Unknown => "ended",
    }
}

/// Returns the next steps.
pub(super) fn advice(facts: &Facts, finding: &Finding) -> Vec<String> {
    let detail = finding.detail.as_deref().unwrap_or_default();
    let one = |text: &str| vec![text.to_owned()];
    match finding.cause {
        Cause::OutOfMemory => {
            let flavor = match (&facts.flavor, &facts.memory) {
                (Some(flavor), Some(memory)) => format!(" than {flavor} ({memory})"),
                (Some(flavor), None) => format!(" than {flavor}"),
                _ => String::new(),
            };
            let mut advice = vec![format!(
                "Choose a flavor with more memory{flavor}, or lower the batch size and the number of data \
                 loader processes."
            )];
            if finding.confidence < Confidence::Certain {
                advice.push(
                    "The evidence is the signal; compare it with the memory usage before the end."
                        .to_owned(),
                );
            }
            advice
        }
        Cause::DeviceOutOfMemory => one(
            "Lower the batch size of each device, accumulate gradients, use mixed precision, or choose a \
             flavor whose accelerators have more memory.",
        ),
        Cause::SharedMemoryExhausted => one(
            "Lower the number of data loader processes, or set it to 0; in a dedicated pool, choose a \
             flavor with more memory, of which shared memory is a part.",
        ),
        Cause::NoSpaceLeft => one(
            "Write temporary files and checkpoints to /cache, delete old checkpoints, or choose a flavor \
             with a larger disk.",
        ),
        Cause::MissingModule => module_advice(detail),
        Cause::FileNotFound => file_advice(facts, detail),
        Cause::PermissionDenied => one(
            "Write to directories of the user of the container, such as /cache and the directories of \
             outputs; run_user of a custom image sets this user.",
        ),
        // `openapi/SOURCES.md`, D-136.
        Cause::ObsPermission if lacks_keys(finding) => one(
            "Read and write OBS by MoXing, such as mox.file.copy_parallel(), or by inputs and outputs of \
             the job: training containers have no keys for S3 clients such as boto3.",
        ),
        Cause::ObsPermission => vec![
            "Grant the agency of ModelArts, or the keys that the script uses, read and write access to \
             the bucket."
                .to_owned(),
            "Compare bucket and path with those in OBS: OBS also denies access to the bucket of another \
             account."
                .to_owned(),
        ],
        Cause::BadArgument => vec![
            "Compare the parameters, inputs and outputs of the job with the arguments of the script; each \
             of them is passed as --name=value."
                .to_owned(),
            "A script that calls parse_known_args() of argparse accepts arguments that it does not define."
                .to_owned(),
        ],
        Cause::ImageWithoutPython => one(
            "Install Python in the image, add its directory to PATH, or start it by its full path in the \
             command of the job.",
        ),
        Cause::CommandNotFound => one(
            "Install the command in the image, or use its full path; check the spelling in the command of \
             the job and in its scripts.",
        ),
        Cause::CommandNotExecutable => one(
            "Start scripts by their interpreter, such as `bash run.sh`: files from OBS are not executable.",
        ),
        Cause::CommunicationTimeout => vec![
            "Search the logs of all workers for the first error: a worker that fails or is slow lets the \
             others wait."
                .to_owned(),
            "If all workers are healthy, raise the timeout (`timeout` of init_process_group, \
             HCCL_CONNECT_TIMEOUT, HCCL_EXEC_TIMEOUT), and give each worker the same number of batches."
                .to_owned(),
        ],
        Cause::CommunicationFailed => vec![
            "Search the logs of all workers for the first error: the connections of a worker close when it \
             ends."
                .to_owned(),
            "Set NCCL_DEBUG=INFO in the environment of the job to see which connection failed.".to_owned(),
        ],
        Cause::RendezvousTimeout => vec![
            "Check that each node starts the same number of processes with the same address and port: \
             VC_WORKER_HOSTS lists the hosts, and VC_TASK_INDEX is the rank of the node."
                .to_owned(),
            "Search the logs of the other workers for an error before they joined.".to_owned(),
        ],
        Cause::DeviceError => match detail {
            text if text.contains("ECC") => one(
                "Submit the job again: the accelerator is faulty. With restarts \
                 (`fault-tolerance/job-retry-num`), the service isolates the node.",
            ),
            text if text.contains("device-side assert") => one(
                "Run with CUDA_LAUNCH_BLOCKING=1 to see the failing operation; the usual reason is an index \
                 or a label outside of its range.",
            ),
            _ => one(
                "Run with CUDA_LAUNCH_BLOCKING=1 (Ascend: ASCEND_LAUNCH_BLOCKING=1) to see the failing \
                 operation; if the job fails on one node only, submit it again.",
            ),
        },
        Cause::DeviceUnavailable => one(
            "Choose a flavor with accelerators, and an image whose framework is built for their driver and \
             architecture.",
        ),
        Cause::NetworkUnreachable => one(
            "Put models, data and packages into OBS and pass them as inputs: a job has no access to the \
             internet unless its pool has.",
        ),
        Cause::ScriptError => one("Correct the code at the place that the log shows."),
        Cause::KilledBySignal => signal_advice(finding.exit_code),
        Cause::CodeDownloadFailed => one(
            "Check that the code directory exists in OBS, in the region of the job and in a bucket without \
             encryption, and is not larger than 5 GB.",
        ),
        Cause::InputDownloadFailed => one(
            "Check that the path of the input exists in OBS, in the region of the job and in a bucket \
             without encryption, and fits on the disk of the flavor.",
        ),
        Cause::DependencyInstallFailed => one(
            "Correct the names and versions of the packages; if pip finds no version of any package, it \
             does not reach its index, because training containers have no access to the internet unless \
             their pool has: put the wheels into the code directory, or the packages into the image.",
        ),
        Cause::PreCheckFailed => one(
            "Submit the job again, so that it gets other nodes; if the check fails again, choose a flavor \
             or a pool that meets the checked limit.",
        ),
        Cause::ImagePullFailed => one(
            "Check the address of the image, that it exists in SWR in the region of the job, and that the \
             project may pull it.",
        ),
        Cause::CreateFailed | Cause::PreparationTimeout => one(
            "Submit the job again; if it fails again, check image, code directory, volumes and pool, or \
             contact support with the id of the job.",
        ),
        Cause::QueueFailed => one(
            "Request fewer nodes or a smaller flavor, use another pool, or submit the job when the pool has \
             free nodes.",
        ),
        Cause::Preempted => one(
            "Submit the job with a higher priority or without `preemptible`, and save checkpoints to an \
             output.",
        ),
        Cause::Evicted => one(
            "Use less of the resource that the event names: disks count as full at 90 %. Write large files \
             to /cache, and delete those that are not needed.",
        ),
        Cause::NodeFault => one(
            "Submit the job again. With the annotation `fault-tolerance/job-retry-num`, the service isolates \
             the node and runs the job again itself.",
        ),
        Cause::Hang => vec![
            "Search the logs of all workers for the last line before the pause; a long sleep or a long \
             download is also reported."
                .to_owned(),
            "With the annotation `fault-tolerance/hang-retry`, the service restarts a hanging job.".to_owned(),
        ],
        Cause::RestartsExhausted => vec![
            "Read the complete log of the first run: later runs may fail because of what it left."
                .to_owned(),
        ],
        Cause::AutoStop => one("Raise `auto_stop`, or save checkpoints and continue from the last one."),
        Cause::WaitingForResources => match facts.pool.is_some() {
            true => one(
                "A pool starts jobs in the order of their creation, so a large job can hold back smaller \
                 ones: wait, raise the priority of the job, or use another pool.",
            ),
            false => one(
                "Wait, or choose a flavor with fewer resources; the public pool is shared by all projects.",
            ),
        },
        Cause::Unknown => match facts.logs.is_empty() {
            true => one("Read the events and the complete logs of the job."),
            false => one("Read the complete log; its last lines are part of the evidence."),
        },
        Cause::TerminatedByUser
        | Cause::Preparing
        | Cause::Running
        | Cause::Terminating
        | Cause::Completed => Vec::new(),
    }
}

fn module_advice(detail: &str) -> Vec<String> {
    let Some(module) = detail
        .split_once("No module named ")
        .map(|(_, name)| name.trim_matches(['\'', '"', ' ']))
    else {
        return vec![
            "Install the library in the image, or pin a version of the package that fits the others in \
             pip-requirements.txt of the code directory."
                .to_owned(),
        ];
    };
    let package = module.split('.').next().unwrap_or(module);
    vec![
        format!(
            "Add the package that provides `{package}` to pip-requirements.txt in the code directory, or \
             install it in the image."
        ),
        format!(
            "If `{package}` is part of the code, put it into the code directory beside the boot file, or add \
             its directory to PYTHONPATH."
        ),
    ]
}

fn file_advice(facts: &Facts, detail: &str) -> Vec<String> {
    let holds = |input: &&Input| {
        let dir = input.local_dir.trim_end_matches('/');
        !dir.is_empty() && detail.contains(dir)
    };
    if let Some(input) = facts.inputs.iter().find(holds) {
        let place = match &input.remote {
            Some(remote) => format!(" ({remote})"),
            None => String::new(),
        };
        return vec![format!(
            "Check that the file exists in the input {}{place}, at the same path below it.",
            input.name
        )];
    }
    if is_of_obs(detail) {
        return vec![
            "Check that the object exists in OBS, in the region of the job: open() does not read obs:// \
             addresses, so pass the data as an input of the job."
                .to_owned(),
        ];
    }
    vec![
        "Check the path: code is in the last directory of the code directory, below \
         /home/ma-user/modelarts/user-job-dir, and inputs are where the arguments or variables of their \
         names point to."
            .to_owned(),
    ]
}

/// Returns `true` if a client of OBS found no keys in its environment.
fn lacks_keys(finding: &Finding) -> bool {
    let detail = finding.detail.as_deref();
    detail.is_some_and(|detail| detail.contains(NO_KEYS))
}

/// Returns `true` for a message about an object in OBS.
fn is_of_obs(detail: &str) -> bool {
    ["obs://", "MoxFile", "errorCode"]
        .iter()
        .any(|text| detail.contains(text))
}

fn signal_advice(code: Option<i64>) -> Vec<String> {
    let text = match code.and_then(signal_name) {
        Some("SIGSEGV" | "SIGILL") => {
            "Check the versions of native packages for conflicts, such as those of the framework, numpy \
             and CUDA; faulthandler of Python prints the place in the code."
        }
        Some("SIGABRT") => {
            "Read the message that the library printed before it aborted the process, in the last lines of \
             the log."
        }
        Some("SIGBUS") => {
            "Lower the number of data loader processes: the usual reason is full shared memory."
        }
        Some("SIGTERM") => {
            "Search for what stopped the process: another worker that failed, or a launcher with a time \
             limit."
        }
        _ => "Read the last lines of the log.",
    };
    vec![text.to_owned()]
}

const EXITS: Link = Link {
    title: "Training Job Process Exits Unexpectedly",
    url: "https://support.huaweicloud.com/intl/en-us/trouble-modelarts/modelarts_13_0074.html",
};
const MEMORY: Link = Link {
    title: "Running a Job Failed Due to Persistently Rising Memory Usage",
    url: "https://support.huaweicloud.com/intl/en-us/trouble-modelarts/modelarts_trouble_0127.html",
};
const CACHE: Link = Link {
    title: "Sizes of the /cache Directories",
    url: "https://support.huaweicloud.com/intl/en-us/modelarts_faq/modelarts_05_0090.html",
};
const MODULE: Link = Link {
    title: "Error Message \"No module named .*\" Is Displayed in Training Job Logs",
    url: "https://support.huaweicloud.com/intl/en-us/trouble-modelarts/modelarts_trouble_0015.html",
};
const PACKAGES: Link = Link {
    title: "How Do I Create a Training Job That References a Third-Party Dependency Package",
    url: "https://support.huaweicloud.com/intl/en-us/modelarts_faq/modelarts_05_0063.html",
};
const MOXING: Link = Link {
    title: "Error Occurs When MoXing Is Used to Copy Data",
    url: "https://support.huaweicloud.com/intl/en-us/trouble-modelarts/modelarts_13_0036.html",
};
const PERMISSIONS: Link = Link {
    title: "A Message Indicating Insufficient Permissions Is Displayed",
    url: "https://support.huaweicloud.com/intl/en-us/modelarts_faq/modelarts_05_0148.html",
};
const FAILURE: Link = Link {
    title: "Troubleshooting a Training Job Failure",
    url: "https://support.huaweicloud.com/intl/en-us/trouble-modelarts/modelarts_trouble_0124.html",
};
const SUSPENSION: Link = Link {
    title: "Detecting Training Job Suspension",
    url: "https://support.huaweicloud.com/intl/en-us/develop-modelarts/modelarts_trouble_0108.html",
};
const QUEUE: Link = Link {
    title: "How Are Training Jobs Queued?",
    url: "https://support.huaweicloud.com/intl/en-us/modelarts_faq/modelarts_05_3133.html",
};
const EVENTS: Link = Link {
    title: "Viewing Training Job Events",
    url: "https://support.huaweicloud.com/intl/en-us/develop-modelarts/develop-modelarts-0092.html",
};

/// Returns the documents about a cause.
pub(super) fn links(finding: &Finding) -> &'static [Link] {
    let detail = finding.detail.as_deref().unwrap_or_default();
    match finding.cause {
        Cause::OutOfMemory => &[EXITS, MEMORY],
        Cause::KilledBySignal => &[EXITS],
        Cause::NoSpaceLeft | Cause::Evicted => &[CACHE],
        Cause::MissingModule => &[MODULE],
        Cause::DependencyInstallFailed => &[PACKAGES],
        Cause::FileNotFound if is_of_obs(detail) => &[MOXING],
        Cause::ObsPermission => &[PERMISSIONS, MOXING],
        Cause::DeviceUnavailable => &[FAILURE],
        Cause::Hang | Cause::CommunicationTimeout => &[SUSPENSION],
        Cause::WaitingForResources | Cause::QueueFailed => &[QUEUE],
        Cause::CreateFailed | Cause::PreparationTimeout => &[EVENTS],
        _ => &[],
    }
}

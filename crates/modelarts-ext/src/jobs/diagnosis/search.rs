//! Search for the cause of a failure in the end of a log.
//!
//! A program that fails writes a report last: a traceback, or messages of a library. The report can
//! be followed by the output of launchers and of other workers. The rules are:
//!
//! 1. A line counts only if the process ended soon after it: at most [`MAX_ORDINARY`] lines may
//!    follow that do not belong to an error report, and at most [`MAX_FOLLOWING`] lines in total.
//!    An error after which the run continued is not the cause.
//! 2. If the last exception has no signature, an earlier line counts only if it belongs to the same
//!    report, with no ordinary line in between. Otherwise the earlier exception was caught.
//! 3. A root cause takes precedence over a consequence: if one worker runs out of memory, the
//!    others report a timeout later.
//! 4. Of lines of the same class, the last line counts.

use std::time::Duration;

use modelarts_api::{
    Cause, SIGNATURES,
    diagnosis::{Class, Confidence, Signature},
};

use crate::jobs::logs::{LogItem, LogTime, repeats::is_same, tail::LogTail};

/// Maximum number of ordinary lines after an error. Other workers may print them before they end.
const MAX_ORDINARY: usize = 10;
const MAX_FOLLOWING: usize = 1000;
/// Maximum time between two refused writes, and between the last one and the last line.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Maximum number of lines instead, if times are missing or cannot be compared.
const MAX_LATER: usize = 1000;

#[derive(Debug)]
pub(super) struct Match {
    pub(super) line: usize,
    pub(super) cause: Cause,
    pub(super) confidence: Confidence,
    pub(super) class: Class,
    pub(super) frame: Option<usize>,
}

pub(super) fn search(lines: &[String]) -> Option<Match> {
    let start = lines.len().saturating_sub(MAX_FOLLOWING);
    let lines: Vec<&str> = lines.iter().map(|line| without_prefix(line)).collect();
    let exceptions = exceptions(&lines, start);
    let mut ordinary = 0;
    let mut found: Vec<(usize, usize, &Signature)> = Vec::new();
    let mut last_exception = None;
    for (index, line) in lines.iter().enumerate().skip(start).rev() {
        let is_exception = exceptions.contains(&index);
        let signature = find_signature(line);
        if let Some(signature) = signature {
            found.push((index, ordinary, signature));
        } else if is_exception && last_exception.is_none() && !is_of_launcher(line) {
            last_exception = Some((index, ordinary));
        }
        if signature.is_none() && !is_exception && !is_of_report(line) {
            ordinary += 1;
        }
        if ordinary > MAX_ORDINARY {
            break;
        }
    }
    // Rule 2: earlier lines count only if no ordinary line separates them from the last exception.
    if let Some((exception, after)) = last_exception {
        found.retain(|(index, ordinary, _)| *index > exception || *ordinary == after);
    }
    // Rules 3 and 4: the lines are in reverse order, and `min_by_key` returns the first minimum.
    let best = found.iter().min_by_key(|(_, _, row)| row.class);
    // An exception that is followed only by consequences is more specific than the consequences.
    let best = best.filter(|(_, _, row)| row.class == Class::Root || last_exception.is_none());
    let capped = |confidence: Confidence, ordinary: usize| match ordinary {
        0 => confidence,
        _ => confidence.min(Confidence::Likely),
    };
    let (line, cause, class, confidence) = match best {
        Some((line, ordinary, row)) => {
            (*line, row.cause, row.class, capped(row.confidence, *ordinary))
        }
        None => {
            let (line, ordinary) = last_exception?;
            let confidence = capped(Confidence::Certain, ordinary);
            (line, Cause::ScriptError, Class::Root, confidence)
        }
    };
    let frame = frame_before(&lines, line);
    // Semaphores of processes are files in /dev/shm.
    let is_semaphore =
        frame.is_some_and(|frame| lines[frame].contains("/multiprocessing/synchronize.py\""));
    let cause = match cause {
        Cause::NoSpaceLeft if is_semaphore => Cause::SharedMemoryExhausted,
        cause => cause,
    };
    Some(Match { line, cause, confidence, class, frame })
}

/// Returns the indexes of the exceptions: the first line of each traceback that is not indented.
fn exceptions(lines: &[&str], start: usize) -> Vec<usize> {
    let mut exceptions = Vec::new();
    let mut is_in_traceback = false;
    for (index, line) in lines.iter().enumerate().skip(start) {
        if line.trim_start().starts_with("Traceback (most recent call last)") {
            is_in_traceback = true;
        } else if is_in_traceback && !line.is_empty() && !is_indented(line) {
            exceptions.push(index);
            is_in_traceback = false;
        }
    }
    exceptions
}

fn frame_before(lines: &[&str], line: usize) -> Option<usize> {
    for (index, line) in lines.get(..line)?.iter().enumerate().rev() {
        if is_indented(line) && line.trim_start().starts_with("File \"") {
            return Some(index);
        }
        if !line.is_empty() && !is_indented(line) {
            return None;
        }
    }
    None
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

fn is_of_launcher(line: &str) -> bool {
    const LAUNCHERS: [&str; 6] = [
        "ChildFailedError",
        "CalledProcessError",
        "ProcessExitedException",
        "ProcessRaisedException",
        "RayTaskError",
        "exited unexpectedly",
    ];
    LAUNCHERS.iter().any(|text| line.contains(text))
}

fn is_of_report(line: &str) -> bool {
    const STARTS: [&str; 22] = [
        "Traceback",
        "During handling of the above",
        "The above exception was",
        "Exception raised from",
        "frame #",
        "terminate called",
        "====",
        "----",
        "____",
        "****",
        "Root Cause",
        "<NO_OTHER_FAILURES>",
        "For debugging consider",
        "Compile with `TORCH_USE",
        "errorMessage:",
        "errorCode:",
        "reason:",
        "request-id:",
        "retry:",
        "wandb:",
        "usage:",
        "time=\"",
    ];
    const MARKS: [&str; 24] = [
        "ERROR",
        "Exception",
        "Failed",
        "failed",
        "FAILED",
        "FATAL",
        "Fatal",
        "fatal",
        "WARNING",
        "Warning:",
        "exitcode",
        "exit code",
        "return code",
        "SIGTERM",
        "SIGKILL",
        "SIGABRT",
        "Killed",
        "Killing",
        "Aborted",
        "core dumped",
        "torch.distributed",
        "ProcessGroup",
        "Service Log]",
        "NCCL",
    ];
    line.trim().is_empty()
        || is_indented(line)
        || STARTS.iter().any(|start| line.starts_with(start))
        || MARKS.iter().any(|mark| line.contains(mark))
        || is_glog(line)
        || names_exception(line)
}

/// Returns `true` for glog lines, such as `[E115 08:30:45.1 a.cpp:616]`, but not for `[Epoch 1]`.
fn is_glog(line: &str) -> bool {
    let after = line.strip_prefix("[E").or_else(|| line.strip_prefix("[W"));
    after.is_some_and(|after| after.starts_with(|next: char| next == ' ' || next.is_ascii_digit()))
}

/// Returns `true` if a line names an exception, such as `ValueError: a`, unlike `Test Error: 0.3`.
fn names_exception(line: &str) -> bool {
    line.match_indices("Error").any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + "Error".len()..]);
        before.ends_with(|last: char| last.is_ascii_alphanumeric())
            && (after.is_empty() || after.starts_with([':', '(']))
    })
}

/// Refused writes to OBS in the end of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Index of the first line.
    pub(super) line: usize,
    /// Number of lines with this text.
    pub(super) times: u64,
    /// Time of the first line, if it begins with a time.
    pub(super) since: Option<String>,
}

/// Finds the lines that report refused writes to OBS, unless the last of them is old: the bucket
/// may have space again. Earlier refusals count if no long pause separates them.
pub(super) fn find_refusal(tail: &LogTail) -> Option<Refusal> {
    let lines = &tail.lines;
    let rows = SIGNATURES.iter().filter(|row| row.cause == Cause::ObsFull);
    let is_refusal = |line: &String| rows.clone().any(|row| row.matches(line));
    let refusals = lines.iter().enumerate().filter(|(_, line)| is_refusal(line));
    let mut refusals = refusals.map(|(index, _)| index).rev();
    let last = refusals.next()?;
    let time = |index: usize| time_of(lines.get(index)?);
    let is_comparable =
        |other: &LogTime| time(last).is_some_and(|it| it.has_zone == other.has_zone);
    let newest = (last + 1..lines.len())
        .rev()
        .find(|index| time(*index).is_some_and(|time| is_comparable(&time)));
    if is_apart(lines, last, newest.unwrap_or(lines.len() - 1)) {
        return None;
    }
    let (mut first, mut is_paused) = (last, false);
    for refusal in refusals {
        is_paused = is_apart(lines, refusal, first);
        if is_paused {
            break;
        }
        first = refusal;
    }
    let since = time(first).map(|LogTime { time, has_zone, .. }| {
        let text = match has_zone {
            true => time.to_string(),
            false => time.to_string().trim_end_matches('Z').replace('T', " "),
        };
        // Lines before the end of the log, which were not read, may be refusals as well.
        let is_first = tail.first == Some(1) || is_paused || is_apart(lines, 0, first);
        if is_first { text } else { format!("{text} or earlier") }
    });
    let equal = lines.iter().skip(first).filter(|line| is_same(&lines[first], line));
    Some(Refusal { line: first, times: equal.count() as u64, since })
}

/// Returns `true` if two lines are further apart than successive refusals usually are: by their
/// times, if these can be compared, otherwise by the number of lines between them.
fn is_apart(lines: &[String], one: usize, other: usize) -> bool {
    let [first, second] = [one, other].map(|index| time_of(lines.get(index)?));
    match (first, second) {
        (Some(first), Some(second)) if first.has_zone == second.has_zone && one != other => {
            second.time.duration_since(first.time) > MAX_AGE
        }
        _ => other.saturating_sub(one) > MAX_LATER,
    }
}

fn time_of(line: &str) -> Option<LogTime> {
    LogItem::Line(line.to_owned()).time()
}

/// Returns the first of the successive lines that equal a line, and their number.
pub(super) fn repetition(lines: &[String], index: usize) -> (usize, u64) {
    let is_equal = |other: &&String| lines.get(index).is_some_and(|line| is_same(line, other));
    let before = lines[..index].iter().rev().take_while(is_equal).count();
    let after = lines[index..].iter().take_while(is_equal).count();
    (index - before, (before + after) as u64)
}

pub(super) fn find_signature(line: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|row| row.matches(line))
}

/// Removes prefixes of launchers, such as `[rank0]: `, `(main pid=77) ` and `0: ` of srun.
pub(super) fn without_prefix(line: &str) -> &str {
    let mut rest = line;
    loop {
        let prefix = rest
            .strip_prefix('[')
            .and_then(|inner| inner.split_once("]:"))
            .filter(|(name, _)| {
                let name = name.trim_start_matches("rank");
                let name = name.trim_start_matches("default");
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
            })
            .or_else(|| {
                let inner = rest.strip_prefix('(')?.split_once(')')?;
                inner.0.contains("pid=").then_some(inner)
            })
            .or_else(|| {
                let (number, after) = rest.split_once(": ")?;
                let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
                is_number.then_some((number, after))
            });
        match prefix {
            Some((_, after)) => rest = after.strip_prefix(' ').unwrap_or(after),
            None => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the cause, the confidence and the line of the match.
    fn found(text: &str) -> Option<(Cause, Confidence, String)> {
        let lines = lines(text);
        let found = search(&lines)?;
        Some((found.cause, found.confidence, lines[found.line].clone()))
    }

    fn traceback(exception: &str) -> String {
        format!(
            "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    \
             main()\n{exception}\n"
        )
    }

    #[test]
    fn the_last_exception_is_the_cause() {
        let text = format!("epoch 1\n{}", traceback(OOM));
        assert_eq!(found(&text), Some((Cause::DeviceOutOfMemory, Confidence::Certain, OOM.into())));
        let text = format!("epoch 1\n{}", traceback("mine.Oops: 3"));
        let (cause, confidence, line) = found(&text).unwrap();
        assert_eq!(
            (cause, confidence, line.as_str()),
            (Cause::ScriptError, Confidence::Certain, "mine.Oops: 3")
        );
        let frame = |text: &str| search(&lines(text)).unwrap().frame;
        assert_eq!(frame(&text), Some(2));
        // A syntax error has a frame without a header.
        let text =
            "epoch 1\n  File \"a.py\", line 1\n    a(\n     ^\nSyntaxError: invalid syntax\n";
        assert_eq!(found(text).unwrap().0, Cause::ScriptError);
        assert_eq!(frame(text), Some(1));
        assert_eq!(frame("epoch 1\nMemoryError\n"), None);
    }

    #[test]
    fn an_error_after_which_the_run_continued_is_not_the_cause() {
        for healthy in [
            "epoch 7 loss 0.3",
            "[Epoch 7] loss 0.3",
            "[Worker 1] loss 0.3",
            "Test Error: 0.12, Errors: 3",
            "I0115 08:30:45.1 77 train.cc:12] step 7",
        ] {
            let text = traceback(OOM) + &format!("{healthy}\n").repeat(11);
            assert_eq!(found(&text), None, "{healthy}");
        }
        // Lines that look like a part of a report count as well if there are many.
        for noise in ["  epoch 7 loss 0.3", "failed samples: 0", "WARNING slow"] {
            let text = traceback(OOM) + &format!("{noise}\n").repeat(10_000);
            assert_eq!(found(&text), None, "{noise}");
        }
        // A few lines may come from other workers.
        let text = traceback(OOM) + &"epoch 7 loss 0.3\n".repeat(10);
        let (cause, confidence, _) = found(&text).unwrap();
        assert_eq!((cause, confidence), (Cause::DeviceOutOfMemory, Confidence::Likely));
    }

    #[test]
    fn an_exception_that_was_caught_is_not_the_cause() {
        let text =
            format!("{}batch size 16\nepoch 1\n{}", traceback(OOM), traceback("ValueError: a"));
        let (cause, _, line) = found(&text).unwrap();
        assert_eq!((cause, line.as_str()), (Cause::ScriptError, "ValueError: a"));
        // An exception that another one handles is in the same report.
        let text = format!(
            "{}\nDuring handling of the above exception, another exception occurred:\n\n{}",
            traceback("FileNotFoundError: [Errno 2] No such file or directory: 'a'"),
            traceback("mine.ConfigError: b")
        );
        assert_eq!(found(&text).unwrap().0, Cause::FileNotFound);
    }

    #[test]
    fn a_root_cause_takes_precedence_over_its_consequences() {
        let watchdog = "[rank1]:[E115 08:30:45 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught \
                        collective operation timeout: WorkNCCL(SeqNum=808)";
        let launcher =
            traceback("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:");
        let text = format!("{}epoch 1 of rank 1\n{watchdog}\n{launcher}", traceback(OOM));
        let (cause, confidence, _) = found(&text).unwrap();
        assert_eq!((cause, confidence), (Cause::DeviceOutOfMemory, Confidence::Likely));
        let text = format!("epoch 1\n{watchdog}\n{launcher}");
        let (cause, confidence, _) = found(&text).unwrap();
        assert_eq!((cause, confidence), (Cause::CommunicationTimeout, Confidence::Likely));
        // An exception without a signature in one worker is also more specific.
        let text = format!("{}{watchdog}\n{launcher}", traceback("ValueError: a"));
        assert_eq!(found(&text).unwrap().0, Cause::ScriptError);
    }

    #[test]
    fn the_last_of_equal_causes_counts() {
        let module = "ModuleNotFoundError: No module named 'a'";
        let file = "FileNotFoundError: [Errno 2] No such file or directory: 'b'";
        let text = traceback(module) + &traceback(file);
        assert_eq!(found(&text).unwrap().0, Cause::FileNotFound);
        let text = traceback(file) + &traceback(module);
        assert_eq!(found(&text).unwrap().0, Cause::MissingModule);
    }

    #[test]
    fn semaphores_are_in_shared_memory() {
        let text = "Traceback (most recent call last):\n  File \"/usr/lib/python3.11/\
                    multiprocessing/synchronize.py\", line 57, in __init__\n    \
                    sl = self._semlock = _multiprocessing.SemLock(\nOSError: [Errno 28] No space \
                    left on device\n";
        assert_eq!(found(text).unwrap().0, Cause::SharedMemoryExhausted);
        let other = text.replace("synchronize", "pool");
        assert_eq!(found(&other).unwrap().0, Cause::NoSpaceLeft);
    }

    #[test]
    fn tracebacks_of_ranks_are_read() {
        let traceback = traceback("ValueError: a");
        let text: String = traceback.lines().map(|line| format!("[rank1]: {line}\n")).collect();
        let (cause, _, line) = found(&text).unwrap();
        assert_eq!((cause, line.as_str()), (Cause::ScriptError, "[rank1]: ValueError: a"));
    }

    #[test]
    fn a_log_without_an_error_has_no_cause() {
        for text in ["", "\n\n", "epoch 1\nepoch 2\n", "Traceback (most recent call last):\n"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}

#[cfg(test)]
mod signatures_tests {
    use super::*;

    #[test]
    fn each_row_is_the_first_that_matches_its_excerpt() {
        for row in SIGNATURES {
            let found = find_signature(without_prefix(row.excerpt)).unwrap();
            assert!(
                std::ptr::eq(found, row),
                "{:?} has the excerpt of {:?}",
                found.parts,
                row.parts
            );
        }
    }

    #[test]
    fn lines_of_healthy_runs_match_no_row() {
        for line in [
            "",
            "epoch 3: no out of memory so far, memory 71 %",
            "INFO lowering the batch size because of CUDA out of memory",
            "Warning: ModuleNotFoundError: No module named 'apex', using the Python fallback",
            "note: FileNotFoundError is raised if the cache is empty",
            "skipping 3 files: No such file or directory",
            "DataLoader worker (pid 77) started",
            "NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
            "NCCL INFO comm 0x55d0 rank 0 nranks 8 cudaDev 0 busId 1a000 - Init COMPLETE",
            "HCCL_CONNECT_TIMEOUT=1200 HCCL_EXEC_TIMEOUT=1800",
            "timeout: 1800 s, waiting for 2 workers; 2 joined",
            "checking disk: 12 GB space left on device /cache",
            "step 400 loss 0.403 stat: 403 samples",
            "argument lr: 0.1, argument epochs: 20",
            "error rate 0.12, validation error: 0.15",
            "watchdog started, collective operation timeout is 600 s",
            "permission denied counter: 0",
            "import errors: none. ImportError: 0",
            "MemoryErrors seen by the monitor: 0",
            "mean stat:403 of the batch",
            "[WARNING] - '(MaxRetryError(\"HTTPSConnectionPool(host='a.test', port=443): Max retries \
             exceeded with url: /a.json\"))' thrown while requesting HEAD, retrying",
            "stopped by KeyboardInterrupt: saving the checkpoint",
            "retryable codes of OBS: InsufficientStorageSpace, SlowDown",
        ] {
            assert!(find_signature(line).is_none(), "{line}: {:?}", find_signature(line));
        }
    }

    #[test]
    fn prefixes_of_launchers_are_removed() {
        for (line, rest) in [
            ("[rank0]: ValueError: a", "ValueError: a"),
            ("[rank12]:   File \"a.py\"", "  File \"a.py\""),
            ("[default3]:ValueError: a", "ValueError: a"),
            ("[0]: [rank0]: a", "a"),
            ("12: [rank0]: a", "a"),
            ("1.5: a", "1.5: a"),
            (": a", ": a"),
            ("(train pid=77) EI0002: a", "EI0002: a"),
            ("(train pid=77, ip=10.0.0.1) a", "a"),
            ("[worker]: a", "[worker]: a"),
            ("[rank]: a", "[rank]: a"),
            ("(note) a", "(note) a"),
            ("  a", "  a"),
            ("[", "["),
            ("", ""),
        ] {
            assert_eq!(without_prefix(line), rest);
        }
    }
}

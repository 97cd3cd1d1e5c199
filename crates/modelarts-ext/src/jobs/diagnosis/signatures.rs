//! Search of the table of the lines of logs that show a cause, which is a part of
//! `openapi/causes.yaml`.

use modelarts_api::{SIGNATURES, diagnosis::Signature};

/// Returns the first row that matches the line. The prefix of the line must have been removed, see
/// [`without_prefix`].
pub(super) fn find(line: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|row| row.matches(line))
}

/// Removes the prefixes of launchers from a line, such as `[rank0]: ` and `(main pid=77) `, but not
/// the indentation.
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

    #[test]
    fn each_row_is_the_first_that_matches_its_excerpt() {
        for row in SIGNATURES {
            let found = find(without_prefix(row.excerpt)).unwrap();
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
        ] {
            assert!(find(line).is_none(), "{line}: {:?}", find(line));
        }
    }

    #[test]
    fn prefixes_of_launchers_are_removed() {
        for (line, rest) in [
            ("[rank0]: ValueError: a", "ValueError: a"),
            ("[rank12]:   File \"a.py\"", "  File \"a.py\""),
            ("[default3]:ValueError: a", "ValueError: a"),
            ("[0]: [rank0]: a", "a"),
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

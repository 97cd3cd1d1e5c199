//! Child processes for tests that need variables or a `tracing` subscriber of their own.

use std::process::Command;

const MARK: &str = "MODELARTS_EXT_TEST_CHILD";

/// True in the child process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs the test of this name again, in a process with these variables, and fails when it fails.
/// The name has the modules of the test in it.
pub(crate) fn child(test: &str, variables: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(MARK, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs the test of this name again in a process of its own. True in that process.
pub(crate) fn run_alone(test: &str) -> bool {
    if !is_child() {
        child(test, &[]);
    }
    is_child()
}

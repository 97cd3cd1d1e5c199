//! Child processes for tests that need variables or a `tracing` subscriber of their own.

use std::process::Command;

const MARK: &str = "MODELARTS_EXT_TEST_CHILD";

/// Returns `true` in the child process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs a test again in a child process with these variables, and fails if the test fails. The name
/// of the test includes its modules.
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

/// Runs a test again in a process of its own. Returns `true` in that process.
pub(crate) fn run_alone(test: &str) -> bool {
    if !is_child() {
        child(test, &[]);
    }
    is_child()
}

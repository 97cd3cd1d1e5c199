//! Tests that need an environment of their own run in a child process.

use std::process::Command;

const MARK: &str = "MODELARTS_EXT_TEST_CHILD";

/// Whether this is the child.
pub(crate) fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs the test of this name again, in a process with these variables, and fails
/// when it fails.
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

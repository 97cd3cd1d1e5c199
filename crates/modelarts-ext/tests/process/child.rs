//! Child processes for tests that require separate environment variables or a separate `tracing`
//! subscriber.

use std::{
    path::Path,
    process::{Command, Output},
};

const MARK: &str = "MODELARTS_EXT_TEST_CHILD";

/// Returns `true` in the child process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs a test again in a child process with these variables, and panics if that test fails. `test`
/// is the name of the test including its modules.
pub(crate) fn child(test: &str, variables: &[(&str, &str)]) {
    child_in(Path::new("."), test, variables);
}

/// Runs a test again like [`child`], in a directory, and returns its output.
pub(crate) fn child_in(directory: &Path, test: &str, variables: &[(&str, &str)]) -> String {
    let output = run(directory, test, variables);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Runs a test again in a child process with these variables, and returns its output.
pub(crate) fn output(test: &str, variables: &[(&str, &str)]) -> Output {
    run(Path::new("."), test, variables)
}

fn run(directory: &Path, test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .current_dir(directory)
        .env(MARK, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// Runs a test again in a separate process. Returns `true` in that process.
pub(crate) fn run_alone(test: &str) -> bool {
    if !is_child() {
        child(test, &[]);
    }
    is_child()
}

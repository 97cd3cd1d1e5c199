//! Starts programs and reads their output.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Maximum number of printed lines of the output of a failed program.
const SHOWN: usize = 60;

/// Name of a program, and of the package that contains it.
pub type Program = (&'static str, &'static str);

/// Fails if a program is not on the `PATH`.
pub fn require((program, package): &Program) -> Result<()> {
    ensure!(
        is_there(program),
        "there is no {program}; install {package}"
    );
    Ok(())
}

/// Returns true if a program is on the `PATH`.
pub fn is_there(program: &str) -> bool {
    // The program `go` has no option `--version`.
    let flag = if program == "go" {
        "version"
    } else {
        "--version"
    };
    Command::new(program)
        .arg(flag)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a program and returns the lines of its output. Fails if the program fails.
pub fn lines(command: &mut Command) -> Result<Vec<String>> {
    let name = command.get_program().display().to_string();
    let output = command
        // Requests to the emulator, which has this address, must not use the proxy of the
        // environment.
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .with_context(|| format!("{name} could not be started"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "{name} ended with {}\n{}\n{}",
        output.status,
        end(&text),
        end(&String::from_utf8_lossy(&output.stderr)),
    );
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns the last lines of an output, which usually contain the reason for a failure.
fn end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

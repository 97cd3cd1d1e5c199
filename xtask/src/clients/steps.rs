//! Starts programs and reads their output.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Number of lines shown of the output of a failed program.
const SHOWN: usize = 60;

/// The name of a program, and the package that contains it.
pub type Program = (&'static str, &'static str);

/// Fails if a program is not on the PATH.
pub fn require((program, package): &Program) -> Result<()> {
    ensure!(
        is_there(program),
        "there is no {program}; install {package}"
    );
    Ok(())
}

/// Returns whether a program is on the PATH.
pub fn is_there(program: &str) -> bool {
    // go has no `--version`.
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

/// Returns the lines that a program prints; an error if it fails.
pub fn lines(command: &mut Command) -> Result<Vec<String>> {
    let name = command.get_program().display().to_string();
    let output = command
        // The proxy of the environment must not be used for the emulator, which has this address.
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

/// Returns the last lines of an output, which contain the reason of a failure.
fn end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

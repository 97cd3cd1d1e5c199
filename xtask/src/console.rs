//! Runs the browser tests of the page, which use Chromium.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};

use crate::{
    outcome::{Outcome, passes},
    tools::node::{self, Optional},
    workspace::{self, cargo},
};

/// Package that must be installed for the tests.
const PACKAGE: &str = "node_modules/playwright-core";
/// Program of Debian's Chromium.
const CHROMIUM: &str = "/usr/bin/chromium";
const SERVER: &str = "modelarts-console-tests";

/// Tests of the check in CI, tests that take longer, and measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    InCi,
    All,
    Figures,
}

/// Runs the tests or the measurements, or only those whose names match `pattern`.
pub fn command(figures: bool, pattern: Option<&str>) -> Result<ExitCode> {
    let tests = if figures { Tests::Figures } else { Tests::All };
    Ok(match run(tests, pattern)? {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed(why) | Outcome::Skipped { why, .. } => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    })
}

/// Runs the tests. Playwright downloads no browser; the tests use that of the system.
pub fn run(tests: Tests, pattern: Option<&str>) -> Result<Outcome> {
    let browser = browser();
    let missing = node::unavailable().or_else(|| {
        let why = format!(
            "{} does not exist; install chromium, or set CHROMIUM",
            browser.display()
        );
        (!browser.exists()).then_some(why)
    });
    if let Some(why) = missing {
        return Ok(Outcome::Skipped {
            why,
            also_in_ci: false,
        });
    }
    let directory = workspace::root().join("xtask/console/browser");
    node::install(&directory, PACKAGE, Optional::LeftOut)?;
    // Measurements need an optimised build, and run one after the other.
    let is_measured = tests == Tests::Figures;
    let status = cargo(["build", "--quiet", "--package", SERVER])
        .args(is_measured.then_some("--release"))
        .status()?;
    ensure!(
        status.success(),
        "the server of the tests does not build: {status}"
    );
    let here = env::current_exe()?;
    let programs = here.parent().context("this program is in no directory")?;
    let program = match is_measured {
        true => workspace::root().join("target/release").join(SERVER),
        false => programs.join(SERVER),
    };
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=spec"]);
    command.arg(format!(
        "--test-concurrency={}",
        if is_measured { 1 } else { 2 }
    ));
    if let Some(pattern) = pattern {
        command.arg(format!("--test-name-pattern={pattern}"));
    }
    command.args(files(&directory, tests)?);
    passes(
        command
            .env("CONSOLE_SERVER", program)
            .env(
                "CONSOLE_TESTS",
                match tests {
                    Tests::InCi => "ci",
                    Tests::All | Tests::Figures => "all",
                },
            )
            .env("CHROMIUM", browser)
            .current_dir(&directory),
    )
}

/// Returns the program of the browser.
fn browser() -> PathBuf {
    env::var_os("CHROMIUM").map_or_else(|| CHROMIUM.into(), PathBuf::from)
}

/// Returns the files of the tests, sorted.
fn files(directory: &Path, tests: Tests) -> Result<Vec<PathBuf>> {
    let folders: &[&str] = match tests {
        Tests::InCi => &["tests"],
        Tests::All => &["tests", "demand"],
        Tests::Figures => &["figures"],
    };
    let mut files = Vec::new();
    for folder in folders {
        for entry in directory.join(folder).read_dir()? {
            let file = entry?.path();
            if file.to_string_lossy().ends_with(".test.mjs") {
                files.push(file);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_runs_some_of_the_tests() {
        let directory = workspace::root().join("xtask/console/browser");
        let in_ci = files(&directory, Tests::InCi).unwrap();
        let all = files(&directory, Tests::All).unwrap();
        assert!(!in_ci.is_empty());
        assert!(in_ci.iter().all(|file| all.contains(file)));
        assert!(all.len() > in_ci.len());
    }
}

//! Tests of the features of the SDK that a workspace test does not build.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::outcome::Outcome;
use crate::{
    metadata::Metadata,
    workspace::{self, cargo},
};

const PACKAGE: &str = "modelarts-ext";

/// Features that a workspace test builds.
const BUILT: &[&str] = &["default", "generate", "rustls"];

/// Features that are tested together, in one build with the default features. The tests of each are
/// in a module of `tests/it` with the name of the feature.
const ADDED: &[&str] = &["blocking", "chrono", "jiff"];

/// Those of [`ADDED`] whose module in `src` has examples.
const WITH_EXAMPLES: &[&str] = &["blocking"];

/// Features that replace the default features. The tests of each are in a module of `tests/process`
/// with the name of the feature.
const ALONE: &[&str] = &["native-tls"];

/// Runs the tests of each feature.
pub fn run() -> Result<Outcome> {
    let features = Metadata::read(&workspace::root())?.features(PACKAGE);
    let unlisted = unlisted(&features);
    if !unlisted.is_empty() {
        return Ok(Outcome::Failed(format!(
            "features without tests; add {} to a list in xtask/src/ci/features.rs",
            unlisted.join(", ")
        )));
    }
    let mut failed = Vec::new();
    for test in runs() {
        println!("-- {}", test.feature);
        if let Some(why) = failure(&test)? {
            failed.push(format!("{} ({why})", test.feature));
        }
    }
    Ok(if failed.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed(failed.join(", "))
    })
}

/// Returns the features that are in none of the lists.
fn unlisted(features: &[String]) -> Vec<&str> {
    let listed = [BUILT, ADDED, ALONE].concat();
    let names = features.iter().map(String::as_str);
    names.filter(|name| !listed.contains(name)).collect()
}

/// One run of `cargo test`.
struct FeatureTest {
    feature: &'static str,
    arguments: Vec<String>,
}

/// Returns the runs, those with the same build one after another.
fn runs() -> Vec<FeatureTest> {
    let test = |feature: &'static str, features: &str, rest: &[&str]| FeatureTest {
        feature,
        arguments: ["--features", features]
            .iter()
            .chain(rest)
            .map(ToString::to_string)
            .collect(),
    };
    let all = ADDED.join(",");
    let module = |feature: &str| format!("{}::", feature.replace('-', "_"));
    let added = ADDED
        .iter()
        .map(|feature| test(feature, &all, &["--test", "it", &module(feature)]));
    let examples = WITH_EXAMPLES.iter().map(|feature| {
        let folder = format!("src/{feature}/");
        test(feature, &all, &["--doc", &folder])
    });
    let alone = ALONE.iter().map(|feature| {
        let module = module(feature);
        let rest = ["--no-default-features", "--test", "process", &module];
        test(feature, feature, &rest)
    });
    added.chain(examples).chain(alone).collect()
}

/// Runs the tests of a feature. Returns the reason if they fail or there are none.
fn failure(test: &FeatureTest) -> Result<Option<String>> {
    let mut command: Command = cargo(["test", "--package", PACKAGE]);
    let output = command
        .args(&test.arguments)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    Ok(if !output.status.success() {
        Some(output.status.to_string())
    } else if passed(&text) == 0 {
        Some("it has no tests".to_owned())
    } else {
        None
    })
}

/// Returns the number of tests that passed, by the last line of each test program.
fn passed(output: &str) -> usize {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: ok. "))
        .filter_map(|line| line.split_once(" passed"))
        .filter_map(|(count, _)| count.parse::<usize>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_listed_and_exists() {
        let features = Metadata::read(&workspace::root())
            .unwrap()
            .features(PACKAGE);
        assert_eq!(unlisted(&features), [""; 0]);
        for listed in [BUILT, ADDED, ALONE].concat() {
            assert!(features.iter().any(|name| name == listed), "{listed}");
        }
    }

    #[test]
    fn a_feature_without_a_row_is_found() {
        let features = ["default", "blocking", "new"].map(str::to_owned);
        assert_eq!(unlisted(&features), ["new"]);
    }

    #[test]
    fn a_run_without_tests_is_found() {
        let line = |count| format!("test result: ok. {count} passed; 0 failed; 0 ignored;\n");
        assert_eq!(passed(&format!("running 3 tests\n{}", line(3))), 3);
        assert_eq!(passed(&(line(0) + &line(0))), 0);
        assert_eq!(passed("test result: FAILED. 2 passed; 1 failed;\n"), 0);
    }

    #[test]
    fn features_with_one_build_are_tested_together() {
        let tests = runs();
        let arguments: Vec<String> = tests.iter().map(|test| test.arguments.join(" ")).collect();
        assert_eq!(
            arguments,
            [
                "--features blocking,chrono,jiff --test it blocking::",
                "--features blocking,chrono,jiff --test it chrono::",
                "--features blocking,chrono,jiff --test it jiff::",
                "--features blocking,chrono,jiff --doc src/blocking/",
                "--features native-tls --no-default-features --test process native_tls::",
            ]
        );
    }
}

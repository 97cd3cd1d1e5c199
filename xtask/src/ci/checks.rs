//! The checks. All build into one target directory with one profile, so that
//! later ones find what earlier ones have built.

use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use super::{
    citations, clients,
    outcome::{Check, Outcome, passes},
    package, pytest, redocly, schemathesis, vitest,
};
use crate::{
    metadata::Metadata,
    programs,
    tools::node,
    workspace::{self, cargo},
};

pub const ALL: &[Check] = &[
    Check {
        name: "fmt",
        about: "the code is formatted",
        run: || passes(&mut cargo(["fmt", "--all", "--check"])),
    },
    Check {
        name: "clippy",
        about: "the compiler and clippy have nothing to say",
        run: || {
            passes(&mut cargo([
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-Dwarnings",
            ]))
        },
    },
    Check {
        name: "layers",
        about: "modules use only what stands below them",
        run: || passes(&mut itself(["layers"])?),
    },
    Check {
        name: "citations",
        about: "sources and documents that are cited are there",
        run: citations::run,
    },
    Check {
        name: "spec",
        about: "the description compiles, keeps the rules, and its examples fit",
        run: || passes(&mut itself(["spec"])?),
    },
    Check {
        name: "redocly",
        about: "Redocly's linter has nothing to say about the description",
        run: redocly::run,
    },
    Check {
        name: "codegen",
        about: "the snapshots are the generated code",
        run: || passes(&mut itself(["codegen", "--check"])?),
    },
    Check {
        name: "packaged",
        about: "the API compiles from the snapshots, without the generator",
        run: || {
            passes(&mut cargo([
                "check",
                "--package",
                "modelarts-api",
                "--no-default-features",
            ]))
        },
    },
    Check {
        name: "breaking",
        about: "a description that breaks clients has a version that says so",
        run: || passes(&mut itself(["breaking"])?),
    },
    Check {
        name: "readme",
        about: "the table of operations in the README is the description's",
        run: || passes(&mut itself(["readme", "--check"])?),
    },
    Check {
        name: "licences",
        about: "every dependency has an admitted licence, and THIRD-PARTY.md lists the unusual ones",
        run: || passes(&mut itself(["licences", "--check"])?),
    },
    Check {
        name: "schema",
        about: "the generated types are the description",
        run: || passes(&mut programs::schema_command()),
    },
    Check {
        name: "payload",
        about: "captured bodies survive decoding and encoding",
        run: payloads,
    },
    Check {
        name: "new-operation",
        about: "an operation that is added to the description costs no Rust",
        run: || passes(&mut itself(["new-operation"])?),
    },
    Check {
        name: "clients",
        about: "clients in other languages work, and the official one",
        run: clients::run,
    },
    Check {
        name: "dist",
        about: "a release of the description can be made, and is the same when it is made again",
        run: dist,
    },
    Check {
        name: "docs",
        about: "the documentation builds without a warning",
        run: || {
            passes(
                cargo(["doc", "--workspace", "--no-deps", "--all-features"])
                    .env("RUSTDOCFLAGS", "-Dwarnings"),
            )
        },
    },
    Check {
        name: "schemathesis",
        about: "the emulator answers as the description says, whatever it is asked",
        run: schemathesis::run,
    },
    Check {
        name: "pytest",
        about: "the suite on the emulator's page for testers passes",
        run: pytest::run,
    },
    Check {
        name: "vitest",
        about: "and so does that for Node",
        run: vitest::run,
    },
    Check {
        name: "simulate",
        about: "calls over a failing network keep what they promise",
        run: || passes(&mut programs::simulation_of(60)?),
    },
    Check {
        name: "examples",
        about: "every example runs and exits with 0",
        run: examples,
    },
    Check {
        name: "package",
        about: "what would be published is complete and builds on its own",
        run: package::run,
    },
];

/// Which fixture is a body of which schema.
const FIXTURES: &[(&str, &[&str])] = &[
    (
        "TrainingJob",
        &[
            "create_response.json",
            "details_environments_list.json",
            "details_newer.json",
            "details_older.json",
            "stop.json",
        ],
    ),
    ("Algorithm", &["algorithm_nulls.json"]),
    ("ListTrainingJobsResponse", &["list.json"]),
    (
        "ListTrainingJobEventsResponse",
        &[
            "events_null.json",
            "events_numbers.json",
            "events_text.json",
        ],
    ),
    ("LogPreview", &["logs_preview.json"]),
    ("ShowAutoSearchTrialsResponse", &["trials.json"]),
    ("ShowTrainJobTagsResponse", &["tags.json"]),
    ("ShowTrainingJobEnginesResponse", &["engines_filler.json"]),
    ("ShowTrainingJobFlavorsResponse", &["flavors.json"]),
    ("TrainingJobMetrics", &["metrics.json"]),
    ("Empty", &["delete_empty_string.json", "delete_null.json"]),
    ("ApiError", &["error_events.json", "error_train.json"]),
];

/// Bodies that reach no generated type as they are.
const NO_SCHEMA: &[&str] = &[
    // The transport gives it the shape of ApiError first.
    "error_iam_nested.json",
];

fn itself<const N: usize>(arguments: [&str; N]) -> Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(arguments).current_dir(workspace::root());
    Ok(command)
}

fn dist() -> Result<Outcome> {
    match node::unavailable() {
        Some(why) => Ok(Outcome::Skipped {
            why,
            also_in_ci: false,
        }),
        None => passes(&mut itself(["dist", "--check"])?),
    }
}

fn payloads() -> Result<Outcome> {
    let directory = workspace::fixtures();
    every_fixture_has_a_schema(&directory)?;
    let mut failed = Vec::new();
    for (schema, files) in FIXTURES {
        let mut command = programs::payload_command(schema);
        command.current_dir(&directory).args(*files);
        if passes(&mut command)? != Outcome::Passed {
            failed.push(*schema);
        }
    }
    Ok(if failed.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed(format!("bodies of {}", failed.join(", ")))
    })
}

/// A fixture that nobody named would be a fixture that nobody checks.
fn every_fixture_has_a_schema(directory: &Path) -> Result<()> {
    let named: BTreeSet<&str> = FIXTURES
        .iter()
        .flat_map(|(_, files)| files.iter())
        .chain(NO_SCHEMA)
        .copied()
        .collect();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !named.contains(name.as_str()) {
            bail!("fixture {name} has no schema; add it to FIXTURES in xtask");
        }
    }
    Ok(())
}

fn examples() -> Result<Outcome> {
    const PACKAGE: &str = "modelarts-ext";
    let examples = Metadata::read(&workspace::root())?.examples(PACKAGE);
    if examples.is_empty() {
        return Ok(Outcome::Skipped {
            why: format!("{PACKAGE} has no examples"),
            also_in_ci: false,
        });
    }
    let mut failed = Vec::new();
    for example in examples {
        println!("-- {example}");
        let mut command = cargo(["run", "--quiet", "--package", PACKAGE, "--example"]);
        if let Outcome::Failed(why) = passes(command.arg(&example))? {
            failed.push(format!("{example} ({why})"));
        }
    }
    Ok(if failed.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed(failed.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_fixtures_is_complete() {
        every_fixture_has_a_schema(&workspace::fixtures()).unwrap();
    }

    #[test]
    fn a_fixture_that_nobody_named_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("new.json"), "{}").unwrap();
        let error = every_fixture_has_a_schema(directory.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "fixture new.json has no schema; add it to FIXTURES in xtask"
        );
    }
}

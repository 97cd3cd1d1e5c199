//! List of checks. All checks use the same target directory and profile, so that later checks reuse
//! the artefacts of earlier checks.

use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use super::{
    citations, clients, features, links, package, pytest, redocly, schemathesis, vitest, wheel,
};
use crate::{
    console::{self, Tests},
    instructions,
    metadata::Metadata,
    obs,
    outcome::{Check, Outcome, passes},
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
        about: "the compiler and clippy report no warning",
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
        name: "citations",
        about: "cited sources and documents exist",
        run: citations::run,
    },
    Check {
        name: "links",
        about: "links between documents lead to files and headings that exist",
        run: links::run,
    },
    Check {
        name: "spec",
        about: "the description compiles and keeps the rules, and its examples are valid",
        run: || passes(&mut itself(["spec"])?),
    },
    Check {
        name: "redocly",
        about: "Redocly's linter reports nothing about the description",
        run: redocly::run,
    },
    Check {
        name: "codegen",
        about: "the snapshots match the generated code",
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
        name: "readme",
        about: "the table of operations in openapi/README.md matches the description",
        run: || passes(&mut itself(["readme", "--check"])?),
    },
    Check {
        name: "licences",
        about: "every dependency has an admitted licence, and THIRD-PARTY.md lists the unusual ones",
        run: || passes(&mut itself(["licences", "--check"])?),
    },
    Check {
        name: "schema",
        about: "the generated types match the description",
        run: || passes(&mut programs::schema_command()),
    },
    Check {
        name: "payload",
        about: "captured bodies are unchanged by decoding and encoding",
        run: payloads,
    },
    Check {
        name: "clients",
        about: "generated clients in other languages work, and so does the official SDK",
        run: clients::run,
    },
    Check {
        name: "dist",
        about: "a release of the description can be built, and its files are reproducible",
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
        about: "the emulator answers valid and invalid requests as described",
        run: schemathesis::run,
    },
    Check {
        name: "pytest",
        about: "the suite on the emulator's page for testers passes",
        run: pytest::run,
    },
    Check {
        name: "vitest",
        about: "the same suite for Node passes",
        run: vitest::run,
    },
    Check {
        name: "console",
        about: "the page works in a browser, and keeps the rules of axe",
        run: || console::run(Tests::InCi, None),
    },
    Check {
        name: "wheel",
        about: "the package for Python can be installed, and its programs and fixture work",
        run: wheel::run,
    },
    Check {
        name: "obs",
        about: "clients of OBS and modelarts-obs read what the others wrote",
        run: || obs::run(false),
    },
    Check {
        name: "simulate",
        about: "calls over a failing network keep their guarantees",
        run: || passes(&mut programs::simulation_of(100)?),
    },
    Check {
        name: "instructions",
        about: "calls cost no more instructions than BENCH.md records",
        run: instructions,
    },
    Check {
        name: "examples",
        about: "every example runs and exits with 0",
        run: examples,
    },
    Check {
        name: "features",
        about: "tests of optional features pass",
        run: features::run,
    },
    Check {
        name: "package",
        about: "the published packages are complete and build on their own",
        run: package::run,
    },
];

/// Names of the fixtures of each schema.
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

/// Fixtures that no generated type decodes directly.
const NO_SCHEMA: &[&str] = &[
    // The transport converts this body to an ApiError first.
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

fn instructions() -> Result<Outcome> {
    match instructions::unavailable() {
        Some(why) => Ok(Outcome::Skipped {
            why,
            also_in_ci: false,
        }),
        None => passes(&mut itself(["bench", "instructions"])?),
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

/// Fails if no schema lists a fixture, because this fixture would remain unchecked.
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
    const PACKAGES: [&str; 2] = ["modelarts-ext", "modelarts-obs"];
    let metadata = Metadata::read(&workspace::root())?;
    let mut failed = Vec::new();
    for package in PACKAGES {
        let examples = metadata.examples(package);
        if examples.is_empty() {
            failed.push(format!("{package} has no examples"));
        }
        for example in examples {
            println!("-- {example}");
            let mut command = cargo(["run", "--quiet", "--package", package, "--example"]);
            if let Outcome::Failed(why) = passes(command.arg(&example))? {
                failed.push(format!("{example} ({why})"));
            }
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
    fn a_fixture_without_a_schema_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("new.json"), "{}").unwrap();
        let error = every_fixture_has_a_schema(directory.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "fixture new.json has no schema; add it to FIXTURES in xtask"
        );
    }
}

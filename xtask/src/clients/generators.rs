//! The additional generators of `cargo xtask clients --all`.

use std::{collections::BTreeMap, env, ffi::OsString, path::PathBuf};

use anyhow::{Context, Result, ensure};

use super::{
    awkward, first_job,
    folder::Folder,
    steps::{self, Program},
};
use crate::{tools::venv, workspace};

/// Cells of the table of unusual responses, by case.
pub type Cells = BTreeMap<&'static str, String>;

/// Client generator, with its options and the variant of the description that it supports.
pub struct Generator {
    pub name: &'static str,
    /// Folder in `xtask/clients`. Its `run.sh` generates a client and runs a program with it.
    folder: &'static str,
    pub version: &'static str,
    pub variant: Variant,
    pub options: &'static str,
    /// Required programs, each with the package that contains it.
    needs: &'static [Program],
    outcome: Outcome,
}

/// Variant of the description that a generator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Main,
    Plain,
}

/// Expected result for a generated client.
enum Outcome {
    /// The client is generated. It is not compiled, because no compiler is available.
    Generates,
    /// The compiler rejects the client, and its output contains this text.
    Refused {
        contains: &'static str,
        why: &'static str,
    },
    Compiles,
    /// The client runs a job. The command starts the program that reads unusual responses.
    ReadsAwkward(&'static str),
}

const NODE: Program = ("npm", "Node with npm");
const JAVA: Program = ("java", "default-jdk-headless");
const PYTHON: Program = ("python3", "python3 and python3-venv");
const CARGO: Program = ("cargo", "Rust");
/// Version of OpenAPI Generator, which `openapi/clients/requirements.txt` pins.
const OPENAPI_GENERATOR: &str = "7.26.0";
/// Table entry for a generator without options.
pub const NO_OPTIONS: &str = "";

/// All generators, in the order of the table.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "OpenAPI Generator: rust",
        folder: "rust",
        version: OPENAPI_GENERATOR,
        variant: Variant::Plain,
        options: "--additional-properties library=reqwest,packageName=modelarts",
        needs: &[PYTHON, JAVA, CARGO],
        outcome: Outcome::ReadsAwkward("../../../target/debug/awkward"),
    },
    Generator {
        name: "OpenAPI Generator: python",
        folder: "python",
        version: OPENAPI_GENERATOR,
        variant: Variant::Plain,
        options: "--additional-properties packageName=modelarts",
        needs: &[PYTHON, JAVA],
        outcome: Outcome::ReadsAwkward("PYTHONPATH=generated .venv/bin/python awkward.py"),
    },
    Generator {
        name: "OpenAPI Generator: typescript-fetch",
        folder: "typescript-fetch",
        version: OPENAPI_GENERATOR,
        variant: Variant::Plain,
        options: NO_OPTIONS,
        needs: &[PYTHON, JAVA, NODE],
        outcome: Outcome::ReadsAwkward("node out/awkward.js"),
    },
    Generator {
        name: "OpenAPI Generator: kotlin",
        folder: "kotlin",
        version: OPENAPI_GENERATOR,
        variant: Variant::Plain,
        options: NO_OPTIONS,
        needs: &[PYTHON, JAVA],
        outcome: Outcome::Generates,
    },
    Generator {
        name: "OpenAPI Generator: csharp",
        folder: "csharp",
        version: OPENAPI_GENERATOR,
        variant: Variant::Plain,
        options: NO_OPTIONS,
        needs: &[PYTHON, JAVA],
        outcome: Outcome::Generates,
    },
    Generator {
        name: "@hey-api/openapi-ts",
        folder: "hey-api",
        version: "0.95.0",
        variant: Variant::Main,
        options: NO_OPTIONS,
        needs: &[PYTHON, NODE],
        outcome: Outcome::ReadsAwkward("node out/awkward.js"),
    },
    Generator {
        name: "openapi-typescript-codegen",
        folder: "openapi-typescript-codegen",
        version: "0.31.0",
        variant: Variant::Main,
        options: "-c fetch --postfixModels Model",
        needs: &[PYTHON, NODE],
        outcome: Outcome::Compiles,
    },
    Generator {
        name: "orval",
        folder: "orval",
        version: "7.13.2",
        variant: Variant::Main,
        options: "--client fetch",
        needs: &[PYTHON, NODE],
        outcome: Outcome::Refused {
            contains: "error TS1351",
            why: "writes `status: 4XX`, which is not valid TypeScript",
        },
    },
];

impl Variant {
    /// Returns the name of the variant's file in the directory `openapi` of the folder.
    fn file(self) -> &'static str {
        match self {
            Self::Main => "modelarts.yaml",
            Self::Plain => "modelarts.plain.json",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Plain => "plain",
        }
    }
}

/// Generates a client, and compiles and runs it as far as possible. Returns the table cell with the
/// result.
pub fn run(generator: &Generator) -> Result<String> {
    generator.needs.iter().try_for_each(steps::require)?;
    let sources = workspace::root()
        .join("xtask/clients")
        .join(generator.folder);
    let folder = Folder::made_of(&format!("all-{}", generator.folder), &sources)?;
    folder.add_plain()?;
    let environment = [
        ("PATH", path()?),
        ("VERSION", generator.version.into()),
        ("DESCRIPTION", generator.variant.file().into()),
        ("OPTIONS", generator.options.into()),
    ];
    let mut make = folder.at_client(". ./run.sh");
    make.envs(environment);
    match generator.outcome {
        Outcome::Generates => {
            steps::lines(&mut make)?;
            Ok("generated, not compiled".into())
        }
        Outcome::Refused { contains, why } => {
            let refused = steps::lines(&mut make).err();
            let refused = refused.context("compiles now: its row must say so")?;
            ensure!(refused.to_string().contains(contains), refused);
            Ok(format!("does not compile: {why}"))
        }
        Outcome::Compiles => {
            steps::lines(&mut make)?;
            Ok("compiles".into())
        }
        Outcome::ReadsAwkward(program) => {
            first_job::watch(&mut make, generator.folder)?;
            let cells = awkward::watch(&mut folder.at_client(program))?;
            Ok(reads(&cells))
        }
    }
}

/// Returns the result of a client that runs a job and reads unusual responses.
pub fn reads(cells: &Cells) -> String {
    let right = cells.values().filter(|cell| !cell.starts_with("**"));
    format!(
        "compiles, runs a job, {} of {} unusual responses",
        right.count(),
        cells.len()
    )
}

/// Installs the programs from PyPI, and returns a `PATH` that begins with their directory.
fn path() -> Result<OsString> {
    let pins = workspace::root().join("openapi/clients/requirements.txt");
    let python = venv::python("generator", &pins)?;
    let mut paths: Vec<PathBuf> = python.parent().map(PathBuf::from).into_iter().collect();
    paths.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    Ok(env::join_paths(paths)?)
}

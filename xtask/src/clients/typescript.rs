//! TypeScript: openapi-typescript, openapi-fetch, tsc.

use std::{path::Path, process::Command};

use anyhow::Result;

use super::steps::{self, Programs};
use crate::{tools::node, workspace};

pub fn prepare(directory: &Path) -> Result<Programs> {
    node::install(
        directory,
        "node_modules/openapi-typescript",
        node::Optional::LeftOut,
    )?;
    let node = |script: &str| {
        let mut command = Command::new("node");
        command.arg(script).current_dir(directory);
        command
    };
    steps::quiet(
        node("node_modules/openapi-typescript/bin/cli.js")
            .arg(workspace::description())
            .args(["-o", "modelarts.d.ts"]),
    )?;
    // tsconfig.json says strict.
    steps::quiet(&mut node("node_modules/typescript/bin/tsc"))?;
    Ok(Programs {
        first_job: node("out/first_job.js"),
        awkward: node("out/awkward.js"),
    })
}

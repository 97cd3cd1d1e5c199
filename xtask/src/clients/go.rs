//! Go: openapi-generator, go vet.

use std::{path::Path, process::Command};

use anyhow::Result;

use super::steps::{self, Programs};

/// Without the second, an unknown field is an error.
const OPTIONS: &str = "packageName=modelarts,withGoMod=false,enumClassPrefix=true,\
                       disallowAdditionalPropertiesIfNotPresent=false";

pub fn prepare(directory: &Path) -> Result<Programs> {
    steps::openapi_generator(
        "go",
        &directory.join("modelarts"),
        &["--additional-properties", OPTIONS],
    )?;
    let go = |arguments: &[&str]| {
        steps::quiet(
            Command::new("go")
                .args(arguments)
                // The generated client needs the standard library only, and no C compiler.
                .env("GOPROXY", "off")
                .env("CGO_ENABLED", "0")
                .current_dir(directory),
        )
    };
    go(&["vet", "./..."])?;
    go(&["build", "-o", "out/", "./..."])?;
    let program = |name: &str| {
        let mut command = Command::new(directory.join("out").join(name));
        command.current_dir(directory);
        command
    };
    Ok(Programs {
        first_job: program("modelarts-first-job"),
        awkward: program("awkward"),
    })
}

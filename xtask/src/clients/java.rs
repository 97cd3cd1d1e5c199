//! Java: openapi-generator, javac.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::steps::{self, Programs};

/// With the first two there is no library but Jackson, and an absent list is not sent as
/// an empty one.
const OPTIONS: &str = "openApiNullable=false,containerDefaultToNull=true,\
                       hideGenerationTimestamp=true,invokerPackage=modelarts,\
                       apiPackage=modelarts.api,modelPackage=modelarts.model";

pub fn prepare(directory: &Path) -> Result<Programs> {
    steps::openapi_generator(
        "java",
        &directory.join("generated"),
        &["--library", "native", "--additional-properties", OPTIONS],
    )?;
    let mut generated = files(&directory.join("generated/src/main/java"))?;
    // The generated code names an annotation that the JDK no longer has.
    generated.push(directory.join("javax/annotation/Generated.java"));
    let jar = steps::openapi_generator_jar()?;
    let client = env::join_paths([directory.join("client"), jar.clone()])?;
    let all = env::join_paths([directory.join("out"), directory.join("client"), jar.clone()])?;
    steps::quiet(
        Command::new("javac")
            .args(["-nowarn", "-proc:none", "-d", "client", "-cp"])
            .arg(jar)
            .args(generated)
            .current_dir(directory),
    )?;
    steps::quiet(
        Command::new("javac")
            .args(["-Xlint:all", "-Werror", "-proc:none", "-d", "out", "-cp"])
            .arg(client)
            .args([
                "FirstJob.java",
                "Login.java",
                "Awkward.java",
                "Vectors.java",
            ])
            .current_dir(directory),
    )?;
    let program = |class: &str| {
        let mut command = Command::new("java");
        command
            .arg("-cp")
            .arg(&all)
            .arg(class)
            .current_dir(directory);
        command
    };
    Ok(Programs {
        first_job: program("FirstJob"),
        awkward: program("Awkward"),
    })
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

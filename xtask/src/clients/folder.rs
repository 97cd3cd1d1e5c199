//! The folder in `target/clients` where a client is made.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{plain, workspace};

/// What is installed in a virtual environment; it stays while these are the same.
const PINS: [&str; 2] = ["requirements.txt", "../requirements.txt"];
const ENVIRONMENT: &str = ".venv";

/// A copy of what a client is made of, as in the repository and without anything else.
pub struct Folder {
    /// Stands for the root of the repository.
    root: PathBuf,
    /// `openapi/clients/<name>` in it.
    directory: PathBuf,
}

impl Folder {
    /// The folder of a client in `openapi/clients`.
    pub fn of_client(name: &str) -> Result<Self> {
        Self::made_of(name, &workspace::root().join("openapi/clients").join(name))
    }

    /// The folder of a client whose sources are somewhere else. Only its virtual environment is
    /// left of what was there.
    pub fn made_of(name: &str, sources: &Path) -> Result<Self> {
        let openapi = workspace::root().join("openapi");
        let root = workspace::root().join("target/clients").join(name);
        let directory = root.join("openapi/clients").join(name);
        let before = pins(&directory);
        empty(&directory)?;
        copy(sources, &directory)?;
        for file in ["modelarts.yaml", "clients/requirements.txt"] {
            fs::copy(openapi.join(file), root.join("openapi").join(file))?;
        }
        let vectors = openapi.join("vectors");
        if vectors.is_dir() {
            copy(&vectors, &root.join("openapi/vectors"))?;
        }
        if pins(&directory) != before {
            remove(&directory.join(ENVIRONMENT))?;
        }
        Ok(Self { root, directory })
    }

    /// Adds the plain variant of the description.
    pub fn add_plain(&self) -> Result<()> {
        plain::write(
            &workspace::description(),
            &self.root.join("openapi/modelarts.plain.json"),
        )
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Commands that begin at the root of the repository.
    pub fn at_root(&self, commands: &str) -> Command {
        shell(commands, &self.root)
    }

    /// Commands that begin in the directory of the client.
    pub fn at_client(&self, commands: &str) -> Command {
        shell(commands, &self.directory)
    }
}

/// A shell that stops at the first command that fails.
fn shell(commands: &str, directory: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-eu", "-c", commands])
        .current_dir(directory)
        // What is in the caches of pip and npm is not asked for again.
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("npm_config_prefer_offline", "true")
        // The generated client for Go needs the standard library only, and no C compiler.
        .env("GOPROXY", "off")
        .env("CGO_ENABLED", "0");
    shell
}

fn pins(directory: &Path) -> [Option<String>; 2] {
    PINS.map(|file| fs::read_to_string(directory.join(file)).ok())
}

fn empty(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() != ENVIRONMENT {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    } else if path.exists() {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::steps;

    #[test]
    fn a_broken_command_ends_the_block() {
        let directory = tempfile::tempdir().unwrap();
        let run = |commands| steps::lines(&mut shell(commands, directory.path()));
        assert_eq!(run("echo a\necho b").unwrap(), ["a", "b"]);
        for broken in ["false\necho a", "no-such-program\necho a", "echo $MISSING"] {
            assert!(run(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_emptied_directory_keeps_its_environment() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir_all(path.join(".venv/bin")).unwrap();
        fs::create_dir_all(path.join("out")).unwrap();
        fs::write(path.join("first_job.py"), "").unwrap();
        empty(path).unwrap();
        let left: Vec<_> = fs::read_dir(path).unwrap().map(|it| it.unwrap()).collect();
        assert_eq!(left.len(), 1);
        assert!(path.join(".venv/bin").is_dir());
    }
}

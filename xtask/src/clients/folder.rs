//! Folder in `target/clients` in which a client is generated.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{plain, workspace};

/// Files that pin the packages of a virtual environment. The environment is kept while these files
/// are unchanged.
const PINS: [&str; 2] = ["requirements.txt", "../requirements.txt"];
const ENVIRONMENT: &str = ".venv";

/// Copy of the sources of a client. Its files have the same relative paths as in the repository.
pub struct Folder {
    /// The copy of the root of the repository.
    root: PathBuf,
    /// The directory `openapi/clients/<name>` in the copy.
    directory: PathBuf,
}

impl Folder {
    /// Creates the folder of a client in `openapi/clients`.
    pub fn of_client(name: &str) -> Result<Self> {
        Self::made_of(name, &workspace::root().join("openapi/clients").join(name))
    }

    /// Creates the folder of a client with the given sources. Removes an earlier folder, except for
    /// its virtual environment if the pins are unchanged.
    pub fn made_of(name: &str, sources: &Path) -> Result<Self> {
        let openapi = workspace::root().join("openapi");
        let root = workspace::root().join("target/clients").join(name);
        let directory = root.join("openapi/clients").join(name);
        let before = pins(&directory);
        fs::create_dir_all(&directory)?;
        remove_others(&root.join("openapi"), &directory.join(ENVIRONMENT))?;
        copy(sources, &directory)?;
        for file in ["modelarts.yaml", "clients/requirements.txt"] {
            fs::copy(openapi.join(file), root.join("openapi").join(file))?;
        }
        copy(&openapi.join("vectors"), &root.join("openapi/vectors"))?;
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

    /// Returns the path of the copy of the test vectors.
    pub fn vectors(&self) -> PathBuf {
        self.root.join("openapi/vectors")
    }

    /// Returns a command that runs shell commands at the root of the copy.
    pub fn at_root(&self, commands: &str) -> Command {
        shell(commands, &self.root)
    }

    /// Returns a command that runs shell commands in the directory of the client.
    pub fn at_client(&self, commands: &str) -> Command {
        shell(commands, &self.directory)
    }
}

/// Returns a shell command that ends at the first failure.
fn shell(commands: &str, directory: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-eu", "-c", commands])
        .current_dir(directory)
        // npm queries the registry only for packages that are not in its cache.
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("npm_config_prefer_offline", "true")
        // The generated Go client needs only the standard library, and no C compiler.
        .env("GOPROXY", "off")
        .env("CGO_ENABLED", "0");
    shell
}

fn pins(directory: &Path) -> [Option<String>; 2] {
    PINS.map(|file| fs::read_to_string(directory.join(file)).ok())
}

/// Removes everything in a directory except `kept` and its parents.
fn remove_others(directory: &Path, kept: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path == kept {
            continue;
        }
        if kept.starts_with(&path) {
            remove_others(&path, kept)?;
        } else {
            remove(&path)?;
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
    fn only_the_environment_of_an_earlier_folder_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        for folder in ["clients/python/.venv/bin", "clients/python/out", "vectors"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        for file in ["clients/python/first_job.py", "vectors/old.json"] {
            fs::write(path.join(file), "").unwrap();
        }
        remove_others(path, &path.join("clients/python/.venv")).unwrap();
        let names = |folder: &str| -> Vec<_> {
            let entries = fs::read_dir(path.join(folder)).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(names(""), ["clients"]);
        assert_eq!(names("clients"), ["python"]);
        assert_eq!(names("clients/python"), [".venv"]);
        assert_eq!(names("clients/python/.venv"), ["bin"]);
    }
}

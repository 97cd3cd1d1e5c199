//! The languages of the generated clients.

use std::fs;

use anyhow::{Context, Result};

use super::steps::Program;
use crate::workspace;

/// Language of a generated client, with the commands of the programs that the README does not
/// start.
pub struct Language {
    pub name: &'static str,
    /// A required program, with the package that contains it.
    pub needs: Program,
    /// The generator that the README uses.
    pub generator: &'static str,
    /// Text that precedes the pinned version of the generator, and the file below `openapi/clients`
    /// that contains this text.
    pin: (&'static str, &'static str),
    /// Command of the program that reads unusual responses.
    pub awkward: &'static str,
    /// Command of the program that runs the test vectors in `openapi/vectors`.
    pub vectors: &'static str,
    /// The files of `openapi/vectors` that do not apply to the language.
    pub vectors_without: &'static [&'static str],
}

const OPENAPI_GENERATOR: (&str, &str) = ("openapi-generator-cli==", "requirements.txt");

/// All languages, in the order of the table in `openapi/README.md`. Their programs run after the
/// commands of the README.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "python",
        needs: ("python3", "python3 and python3-venv"),
        generator: "openapi-python-client",
        pin: ("openapi-python-client==", "python/requirements.txt"),
        awkward: ".venv/bin/python awkward.py",
        vectors: ".venv/bin/python vectors.py",
        vectors_without: &[],
    },
    Language {
        name: "typescript",
        needs: ("npm", "Node with npm"),
        generator: "openapi-typescript",
        pin: ("\"openapi-typescript\": \"", "typescript/package.json"),
        awkward: "node out/awkward.js",
        vectors: "node out/vectors.js",
        vectors_without: &[],
    },
    Language {
        name: "go",
        needs: ("go", "golang-go"),
        generator: "OpenAPI Generator: go",
        pin: OPENAPI_GENERATOR,
        awkward: "go run ./awkward",
        vectors: "go test -count=1 -v .",
        vectors_without: &[],
    },
    Language {
        name: "java",
        needs: ("javac", "default-jdk-headless"),
        generator: "OpenAPI Generator: java (native)",
        pin: OPENAPI_GENERATOR,
        awkward: "java -cp out:client:openapi-generator.jar Awkward",
        vectors: "java -cp out:client:openapi-generator.jar Vectors",
        // The program logs in with a password, and has no signer.
        vectors_without: &["signing"],
    },
];

impl Language {
    /// Returns the pinned version of the generator.
    pub fn version(&self) -> Result<String> {
        let (name, file) = self.pin;
        let file = workspace::root().join("openapi/clients").join(file);
        let pins = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let (_, version) = pins
            .split_once(name)
            .with_context(|| format!("{} must pin {}", file.display(), self.generator))?;
        let end = version.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
        Ok(version[..end.unwrap_or(version.len())].to_owned())
    }
}

//! The languages that clients are made in.

use std::path::Path;

use anyhow::Result;

use super::{go, java, python, steps::Programs, typescript};

/// A language, and how a client in it is made.
pub struct Language {
    pub name: &'static str,
    /// A program that must be there, with what to install if it is not.
    pub needs: (&'static str, &'static str),
    /// Generates, installs, checks types. The directory has the sources of
    /// `openapi/clients/<name>`.
    pub prepare: fn(&Path) -> Result<Programs>,
}

/// In the order of the table in `openapi/README.md`.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "python",
        needs: ("python3", "python3 and python3-venv"),
        prepare: python::prepare,
    },
    Language {
        name: "typescript",
        needs: ("npm", "Node with npm"),
        prepare: typescript::prepare,
    },
    Language {
        name: "go",
        needs: ("go", "golang-go"),
        prepare: go::prepare,
    },
    Language {
        name: "java",
        needs: ("javac", "default-jdk-headless"),
        prepare: java::prepare,
    },
];

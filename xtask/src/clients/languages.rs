//! The languages that clients are made in.

/// A language, and the programs beside those that the README starts.
pub struct Language {
    pub name: &'static str,
    /// A program that must be there, with what to install if it is not.
    pub needs: (&'static str, &'static str),
    /// Starts the program that reads awkward answers.
    pub awkward: &'static str,
    /// Starts the program that signs the worked example, where there is one.
    pub sign: Option<&'static str>,
}

/// In the order of the table in `openapi/README.md`, whose commands have run before.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "python",
        needs: ("python3", "python3 and python3-venv"),
        awkward: ".venv/bin/python awkward.py",
        sign: Some(".venv/bin/python sign_example.py"),
    },
    Language {
        name: "typescript",
        needs: ("npm", "Node with npm"),
        awkward: "node out/awkward.js",
        sign: None,
    },
    Language {
        name: "go",
        needs: ("go", "golang-go"),
        awkward: "go run ./awkward",
        sign: None,
    },
    Language {
        name: "java",
        needs: ("javac", "default-jdk-headless"),
        awkward: "java -cp out:client:openapi-generator.jar Awkward",
        sign: None,
    },
];

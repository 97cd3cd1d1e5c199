//! Start of the code after its process group is recorded: a shell waits for a line and then
//! executes the code. If the emulator is killed before, the pipe closes and the shell exits.

use std::{collections::BTreeMap, ffi::OsString};

/// Line that triggers the start of the code.
pub(super) const GO: &[u8] = b"go\n";

/// Environment variables that the shell sets, and `go`, in which the shell stores the line.
const SHELL_VARIABLES: [&str; 4] = ["go", "PWD", "OLDPWD", "SHLVL"];

/// Returns a command that reads the line and becomes `program` with exactly `variables`, which its
/// environment must contain. Standard output, used by bubblewrap, becomes standard error.
pub(super) fn words(
    program: OsString,
    arguments: impl IntoIterator<Item = OsString>,
    variables: &BTreeMap<OsString, OsString>,
) -> Vec<OsString> {
    let mut script = format!("read -r go && unset {}", SHELL_VARIABLES.join(" "));
    let mut given = Vec::new();
    for name in SHELL_VARIABLES {
        if let Some(value) = variables.get(name.as_ref() as &std::ffi::OsStr) {
            script.push_str(" && export \"$1\" && shift");
            let mut assignment = OsString::from(name);
            assignment.push("=");
            assignment.push(value);
            given.push(assignment);
        }
    }
    script.push_str(r#" && exec "$@" </dev/null >&2"#);
    let mut words: Vec<OsString> = vec!["/bin/sh".into(), "-c".into(), script.into(), "sh".into()];
    words.extend(given);
    words.push(program);
    words.extend(arguments);
    words
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::process::Stdio;

    use tokio::process::Command;

    use super::*;

    /// Returns the output of `program` after the shell has read `word` or the pipe's end.
    async fn output_of(
        word: &[u8],
        program: &[&str],
        variables: &BTreeMap<OsString, OsString>,
    ) -> (String, bool) {
        let (go, mut starter) = io::pipe().unwrap();
        starter.write_all(word).unwrap();
        drop(starter);
        let arguments = program[1..].iter().map(OsString::from);
        let words = words(program[0].into(), arguments, variables);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().envs(variables);
        let ended = command.stdin(Stdio::from(go)).output().await.unwrap();
        let output_of = String::from_utf8(ended.stderr).unwrap();
        (output_of, ended.status.success())
    }

    #[tokio::test]
    async fn nothing_starts_before_the_line() {
        for (word, output) in [(GO, "one two\n"), (b"go", ""), (b"", "")] {
            let output_of = output_of(word, &["/bin/echo", "one two"], &BTreeMap::new()).await;
            assert_eq!(output_of, (output.to_owned(), !output.is_empty()));
        }
    }

    #[tokio::test]
    async fn the_variables_are_those_that_were_given() {
        let pairs = [("A", "1 2"), ("PWD", "/nowhere"), ("SHLVL", "$x\ny"), ("go", "")];
        for count in 0..=pairs.len() {
            let given = &pairs[..count];
            let variables = given.iter().map(|(name, value)| (name.into(), value.into()));
            let (text, ended) = output_of(GO, &["/usr/bin/env", "-0"], &variables.collect()).await;
            let mut actual: Vec<&str> = text.split_terminator('\0').collect();
            actual.sort_unstable();
            let expected: Vec<String> = given.iter().map(|(n, v)| format!("{n}={v}")).collect();
            assert_eq!((actual, ended), (expected.iter().map(String::as_str).collect(), true));
        }
    }
}

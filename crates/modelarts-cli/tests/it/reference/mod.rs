//! `modelarts help`, and the pages that are written from its document.

mod markdown;
mod pages;
mod skill;

use clap::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{error_of, isolated, json_of};

/// Returns the document of `modelarts help --json`, or of a command.
fn document(command: &[&str]) -> Value {
    let directory = TempDir::new().unwrap();
    let output = isolated(directory.path()).args(["help", "--json"]).args(command);
    json_of(&output.assert().code(0), "command-line")
}

/// Returns the member with this name of a list.
fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut members = list.as_array().unwrap().iter();
    members.find(|member| member["name"] == name).unwrap_or_else(|| panic!("{name}: {list:#}"))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|member| member["name"].as_str().unwrap()).collect()
}

#[test]
fn a_command_has_its_flags_with_defaults_values_and_conflicts() {
    let submit = document(&["submit"]);
    assert_eq!(submit["usage"], "modelarts submit [OPTIONS] [SCRIPT] [-- <ARGS>...]");
    assert_eq!(names(&submit["arguments"]), ["SCRIPT", "ARGS"]);
    assert_eq!(
        *named(&submit["flags"], "--exit-code"),
        json!({
            "name": "--exit-code", "short": null, "aliases": [], "value_names": ["SOURCE"],
            "required": false, "repeatable": false, "default": ["outcome"],
            "values": [
                {
                    "name": "outcome",
                    "help": "That of the outcome: `modelarts --help` lists the exit codes",
                },
                {
                    "name": "task",
                    "help": "The exit code of the task that failed, if the job failed",
                },
            ],
            "environment": null, "heading": "Follow",
            "help": "Source of the exit code: the outcome of the job, or the exit code of its failed \
                     task",
            // The definition of `--detach` has the conflict.
            "conflicts": ["--detach"],
        })
    );
    let param = named(&submit["flags"], "--param");
    assert_eq!((&param["short"], &param["repeatable"]), (&json!("-p"), &json!(true)));
    let set = document(&["context", "set"]);
    assert_eq!(set["usage"], "modelarts context set [OPTIONS] <CONTEXT> <SETTING=VALUE>...");
    assert_eq!(named(&set["arguments"], "CONTEXT")["required"], true);
    // A command is also found by its other name.
    let list = document(&["list"]);
    assert_eq!((&list["name"], &list["aliases"]), (&json!("ls"), &json!(["list"])));
}

#[test]
fn global_flags_and_exit_codes_are_those_of_the_program() {
    let program = document(&[]);
    assert_eq!(program["version"], env!("CARGO_PKG_VERSION"));
    let global = &program["global_flags"];
    let expected = ["--output", "--columns", "--jq", "--context", "--verbose", "--help"];
    assert_eq!(names(global), expected);
    assert_eq!(named(global, "--output")["environment"], "MODELARTS_OUTPUT");
    assert_eq!(names(&program["flags"]), ["--version"]);
    let codes = program["exit_codes"].as_array().unwrap();
    let numbers: Vec<u64> = codes.iter().map(|code| code["code"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 124, 130, 141]);
    assert_eq!(
        codes[5],
        json!({
            "code": 10, "meaning": "the job failed",
            "advice": "Run `modelarts explain JOB`; correct the cause.",
        })
    );
    // The help has the same codes.
    let help = program["notes"].as_str().unwrap();
    assert!(help.starts_with("Exit codes:\n  0    completed, or"), "{help}");
    assert!(help.contains("\n  10   the job failed\n  11   the job ended abnormally\n"), "{help}");
    let schemas: Vec<Value> =
        modelarts_cli::schemas().into_iter().map(|(name, _)| name.into()).collect();
    assert_eq!(program["schemas"], Value::Array(schemas));
}

#[test]
fn each_visible_command_and_flag_is_in_the_document() {
    fn compare(command: &Command, facts: &Value, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
        let mut expected: Vec<String> = visible
            .filter(|argument| !argument.is_global_set())
            .map(|argument| match argument.get_long() {
                Some(long) => format!("--{long}"),
                None => argument.get_value_names().unwrap()[0].to_string(),
            })
            .collect();
        let mut known = names(&facts["arguments"]);
        known.extend(names(&facts["flags"]).iter().filter(|name| **name != "--version"));
        expected.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, expected, "{path}");
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        let commands: Vec<&Command> = commands.collect();
        let expected: Vec<&str> = commands.iter().map(|command| command.get_name()).collect();
        assert_eq!(names(&facts["commands"]), expected, "{path}");
        for command in commands {
            compare(command, named(&facts["commands"], command.get_name()), &path);
        }
    }
    compare(&modelarts_cli::command(), &document(&[]), "");
}

#[test]
fn without_a_format_the_help_is_that_of_the_flag() {
    let directory = TempDir::new().unwrap();
    let run = |words: &[&str]| isolated(directory.path()).args(words).assert().code(0);
    for (command, same) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "context", "set"], &["context", "set", "--help"]),
        (&["context", "help", "set"], &["context", "set", "--help"]),
        (&["help", "context"], &["context", "--help"]),
        (&["help", "help"], &["help", "--help"]),
        (&["help", "-o", "id"], &["--help"]),
    ] {
        let expected = run(same).get_output().stdout.clone();
        assert!(expected.windows(7).any(|part| part == b"Usage: "));
        run(command).stdout_eq(String::from_utf8(expected).unwrap()).stderr_eq("");
    }
    let name = run(&["help", "-o", "yaml", "--jq", ".name", "show"]);
    name.stdout_eq("show\n");
}

#[test]
fn an_unknown_command_is_an_error_with_the_nearest_or_the_help() {
    let directory = TempDir::new().unwrap();
    for (words, error) in [
        ("nothing", "no command is called `modelarts nothing`; see `modelarts --help`"),
        ("submt", "no command is called `modelarts submt`; did you mean submit?"),
        ("context lists", "no command is called `modelarts context lists`; did you mean list?"),
        ("ls x", "no command is called `modelarts ls x`; see `modelarts ls --help`"),
    ] {
        for json in ["", "--json "] {
            let words = format!("help {json}{words}");
            let output = isolated(directory.path()).args(words.split(' ')).assert().code(2);
            output.stdout_eq("").stderr_eq(format!("error: {error}\n"));
        }
    }
    let output = isolated(directory.path()).args(["help", "-o", "json", "nothing"]).assert();
    let error = error_of(&output.code(2));
    let text = "no command is called `modelarts nothing`; see `modelarts --help`";
    assert_eq!((&error["message"], &error["exit_code"]), (&json!(text), &json!(2)));
}

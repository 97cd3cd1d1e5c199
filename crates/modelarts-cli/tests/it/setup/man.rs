//! `modelarts man`.

use std::{fs, process::Command};

use tempfile::TempDir;

use crate::support::{isolated, report_skipped};

#[test]
fn each_command_has_a_page() {
    let directory = TempDir::new().unwrap();
    let output = isolated(directory.path()).args(["man", "--dir", "share/man1"]);
    let output = output.assert().code(0).stdout_eq("");
    output.stderr_eq("wrote the pages of all commands to share/man1\n");
    let pages = directory.path().join("share/man1");
    let mut expected = vec!["modelarts.1".to_owned()];
    fn add(command: &clap::Command, name: &str, expected: &mut Vec<String>) {
        for command in command.get_subcommands() {
            let name = format!("{name}-{}", command.get_name());
            expected.push(format!("{name}.1"));
            add(command, &name, expected);
        }
    }
    add(&modelarts_cli::command(), "modelarts", &mut expected);
    let files = fs::read_dir(&pages).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert!(names.contains(&"modelarts-context-set.1".to_owned()));
}

#[test]
fn the_page_of_the_program_is_printed() {
    let directory = TempDir::new().unwrap();
    let output = isolated(directory.path()).arg("man").assert().code(0);
    let page = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with(".SH")).collect();
    assert_eq!(
        headings,
        [
            ".SH NAME",
            ".SH SYNOPSIS",
            ".SH DESCRIPTION",
            ".SH OPTIONS",
            ".SH OUTPUT",
            ".SH GLOBAL",
            ".SH SUBCOMMANDS",
            ".SH EXTRA",
            ".SH VERSION",
        ]
    );
    assert!(page.contains(".TH modelarts 1"), "{page}");
    assert!(page.contains("modelarts\\-doctor(1)") && page.contains("modelarts\\-help(1)"));
    let file = directory.path().join("modelarts.1");
    fs::write(&file, &page).unwrap();
    // A formatter is not installed on all machines; the headings above do not need it.
    for (program, arguments) in [("mandoc", &["-Tutf8"][..]), ("man", &["-l"][..])] {
        let formatted = Command::new(program)
            .args(arguments)
            .arg(&file)
            .env("MANWIDTH", "100")
            .env("MANPAGER", "cat")
            .output();
        match formatted {
            Ok(output) if output.status.success() => {
                // Bold letters are overstruck.
                let text = String::from_utf8_lossy(&output.stdout);
                let mut plain = String::new();
                for character in text.chars() {
                    match character {
                        '\u{8}' => drop(plain.pop()),
                        other => plain.push(other),
                    }
                }
                assert!(plain.contains("SYNOPSIS"), "{plain}");
                assert!(
                    plain.contains(
                        "130  Ctrl-C, SIGTERM or SIGHUP; the job continues, except on this machine"
                    ),
                    "{plain}"
                );
            }
            _ => report_skipped(&format!("the page in {program}: {program} is not installed")),
        }
    }
}

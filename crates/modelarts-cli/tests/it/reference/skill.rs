//! The skill for coding assistants.

use std::fs;

use clap::error::ErrorKind;
use serde_json::Value;

use super::pages::root;

const NAME: &str = "modelarts";

fn skill() -> String {
    fs::read_to_string(root().join(format!("skills/{NAME}/SKILL.md"))).unwrap()
}

#[test]
fn the_header_is_that_of_the_format() {
    let skill = skill();
    let (header, _) = skill.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let header: Value = yaml_serde::from_str(header).unwrap();
    // The name is that of the folder.
    assert_eq!(header["name"], NAME);
    assert!((1..=1024).contains(&header["description"].as_str().unwrap().len()));
    // An assistant reads all of it.
    assert!(skill.lines().count() <= 120, "{} lines", skill.lines().count());
}

/// Returns the lines of blocks of code, and the other code.
fn code(page: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut blocks, mut spans) = (Vec::new(), Vec::new());
    for (index, part) in page.split("```").enumerate() {
        match index % 2 {
            1 => blocks.extend(part.lines().skip(1)),
            _ => spans.extend(part.split('`').skip(1).step_by(2)),
        }
    }
    (blocks, spans)
}

#[test]
fn each_command_line_is_one_of_the_program() {
    let skill = skill();
    let (blocks, spans) = code(&skill);
    for line in &blocks {
        assert!(line.starts_with("modelarts ") && line.contains("json"), "{line}");
    }
    let spans = spans.into_iter().filter(|span| span.starts_with("modelarts "));
    let lines: Vec<&str> = blocks.into_iter().chain(spans).collect();
    assert!(lines.len() > 20, "{lines:#?}");
    for line in lines {
        let words = shlex::split(line).unwrap();
        match modelarts_cli::command().try_get_matches_from(words) {
            Err(error) if error.kind() != ErrorKind::DisplayHelp => panic!("{line}: {error}"),
            _ => {}
        }
    }
}

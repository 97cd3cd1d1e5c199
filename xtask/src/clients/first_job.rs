//! Runs the first-job program of a language in `openapi/clients` against the emulator, and compares
//! its output with the state of the emulator.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{emulator::Emulator, steps};

/// Phase that does not exist, and that clients must therefore treat as unknown.
const UNKNOWN: &str = "Hibernating";
/// Page size of events in all programs.
const PAGE: usize = 5;

/// Parsed output of a program.
#[derive(Debug, Default, PartialEq)]
struct Printed {
    name: String,
    id: String,
    phases: Vec<String>,
    listed: Vec<String>,
    events: usize,
    pages: usize,
}

/// Runs the program against an emulator that returns an unknown phase and writes totals as strings.
/// Returns a summary.
pub fn watch(program: &mut Command, language: &str) -> Result<String> {
    let emulator = Emulator::start(language)?;
    let unknown = json!({ "fault": "unknown-phase", "phase": UNKNOWN });
    emulator.inject("ShowTrainingJobDetails", 1, unknown)?;
    // The totals of the first two pages are strings; those of later pages are numbers.
    emulator.inject(
        "ListTrainingJobEvents",
        2,
        json!({ "fault": "totals-as-text" }),
    )?;
    let lines = steps::lines(program.envs(emulator.settings()))?;
    let printed = read(of_program(&lines))?;

    ensure!(
        emulator.control("faults")? == json!([]),
        "did not ask for what was to go wrong"
    );
    let requests = emulator.control("requests")?;
    ensure!(
        requests["CreateTrainingJob"]["received"] == 1,
        "created {} jobs",
        requests["CreateTrainingJob"]["received"]
    );
    ensure!(
        requests["ListTrainingJobEvents"]["received"] == printed.pages,
        "read {} pages of events and says {}",
        requests["ListTrainingJobEvents"]["received"],
        printed.pages
    );
    let events = emulator.get(&format!("training-jobs/{}/events?limit=100", printed.id))?;
    check(&printed, &events)?;
    Ok(format!(
        "{}; listed by name; {} events on {} pages with totals as text",
        printed.phases.join(" > "),
        printed.events,
        printed.pages
    ))
}

/// Returns the lines that the program printed, without those of generators and installers, which
/// run before it.
fn of_program(lines: &[String]) -> &[String] {
    let first = lines.iter().position(|line| line.starts_with("created "));
    &lines[first.unwrap_or(lines.len())..]
}

fn read(lines: &[String]) -> Result<Printed> {
    let mut printed = Printed::default();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["created", name, id] => {
                printed.name = (*name).to_owned();
                printed.id = (*id).to_owned();
            }
            ["phase", phase] => printed.phases.push((*phase).to_owned()),
            ["listed", name] => printed.listed.push((*name).to_owned()),
            ["events", events, "pages", pages] => {
                printed.events = events.parse().context("events")?;
                printed.pages = pages.parse().context("pages")?;
            }
            _ => anyhow::bail!("printed a line that is not expected: {line}"),
        }
    }
    Ok(printed)
}

fn check(printed: &Printed, events: &Value) -> Result<()> {
    ensure!(
        printed.phases.iter().any(|phase| phase == UNKNOWN),
        "did not tell the phase {UNKNOWN}"
    );
    ensure!(
        printed
            .phases
            .last()
            .is_some_and(|last| last == "Completed"),
        "the phases were {}",
        printed.phases.join(", ")
    );
    ensure!(
        printed.listed == [printed.name.as_str()],
        "listed {}",
        printed.listed.join(", ")
    );
    ensure!(
        printed.pages >= 3 && printed.pages == printed.events.div_ceil(PAGE),
        "read {} events on {} pages",
        printed.events,
        printed.pages
    );
    // The number may be larger by one, because the emulator may have added the billing event
    // meanwhile.
    let total = events["total"].as_u64().unwrap_or_default();
    ensure!(
        (printed.events as u64..=printed.events as u64 + 1).contains(&total),
        "read {} events of {}",
        printed.events,
        events["total"]
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Printed {
        let lines = [
            "created a 1",
            "phase Hibernating",
            "phase Completed",
            "listed a",
            "events 11 pages 3",
        ];
        read(&lines.map(str::to_owned)).unwrap()
    }

    #[test]
    fn what_a_good_program_prints_is_accepted() {
        check(&good(), &json!({ "total": 11 })).unwrap();
    }

    #[test]
    fn what_a_bad_program_prints_is_refused() {
        type Change = fn(&mut Printed);
        let changes: [(&str, Change); 5] = [
            ("did not tell the phase Hibernating", |it| {
                it.phases.remove(0);
            }),
            ("the phases were Hibernating", |it| it.phases.truncate(1)),
            ("listed a, b", |it| it.listed.push("b".into())),
            ("read 11 events on 2 pages", |it| it.pages = 2),
            ("read 12 events of 11", |it| it.events = 12),
        ];
        for (message, change) in changes {
            let mut printed = good();
            change(&mut printed);
            let error = check(&printed, &json!({ "total": 11 })).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        let noise = ["Writing out/FirstJob", "phase of nothing", "created a 1"].map(str::to_owned);
        assert_eq!(of_program(&noise), ["created a 1"]);
        let error = read(&["phase".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "printed a line that is not expected: phase"
        );
    }
}

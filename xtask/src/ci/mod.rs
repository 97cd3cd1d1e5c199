//! `cargo xtask ci`: runs all checks, or only the named ones, in sequence, and prints a table of
//! the results.

mod checks;
mod citations;
mod features;
mod links;
mod package;
mod table;

use std::{
    env,
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::outcome::{Check, Outcome, Row};
use anyhow::{Result, bail};

/// Runs the checks named in `only`, or all of them.
pub fn run(only: &[String]) -> Result<ExitCode> {
    let in_ci = env::var_os("CI").is_some_and(|value| value == "true");
    let rows = run_all(&select(checks::ALL, only)?);
    print!("\n{}", table::render(&rows, in_ci));
    // Exceeding the maximum duration is only reported, because the duration depends on the machine.
    if let Some(late) = too_long(&rows) {
        println!("{late}");
    }
    Ok(if rows.iter().any(|row| row.is_failure(in_ci)) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Maximum total duration of all checks, so that developers run them often.
const LONGEST: Duration = Duration::from_mins(30);

fn too_long(rows: &[Row]) -> Option<String> {
    let took: Duration = rows.iter().map(|row| row.took).sum();
    (took > LONGEST).then(|| {
        format!(
            "TOO LONG: the checks took {} minutes, must take at most {}",
            took.as_secs().div_ceil(60),
            LONGEST.as_secs() / 60
        )
    })
}

fn select<'a>(checks: &'a [Check], only: &[String]) -> Result<Vec<&'a Check>> {
    if let Some(unknown) = only
        .iter()
        .find(|name| checks.iter().all(|check| check.name != **name))
    {
        let names: Vec<_> = checks.iter().map(|check| check.name).collect();
        bail!(
            "no check is called {unknown}; there are {}",
            names.join(", ")
        );
    }
    Ok(checks
        .iter()
        .filter(|check| only.is_empty() || only.iter().any(|name| check.name == name))
        .collect())
}

/// Runs all checks. A failed check does not prevent the following checks.
fn run_all(checks: &[&Check]) -> Vec<Row> {
    checks
        .iter()
        .map(|check| {
            println!("\n== {}: {}", check.name, check.about);
            let start = Instant::now();
            let outcome = (check.run)().unwrap_or_else(|error| {
                println!("error: {error:#}");
                Outcome::Failed(format!("{error:#}"))
            });
            if let Outcome::Skipped { why, .. } = &outcome {
                println!("skipped: {why}");
            }
            Row {
                name: check.name,
                outcome,
                took: start.elapsed(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKS: &[Check] = &[
        Check {
            name: "breaks",
            about: "cannot be run",
            run: || bail!("no such program"),
        },
        Check {
            name: "fails",
            about: "says no",
            run: || Ok(Outcome::Failed("exit status: 3".into())),
        },
        Check {
            name: "passes",
            about: "says yes",
            run: || Ok(Outcome::Passed),
        },
    ];

    fn skipped(also_in_ci: bool) -> Row {
        Row {
            name: "skipped",
            outcome: Outcome::Skipped {
                why: "no such platform".into(),
                also_in_ci,
            },
            took: Duration::ZERO,
        }
    }

    #[test]
    fn a_failure_does_not_end_the_run() {
        let rows = run_all(&select(CHECKS, &[]).unwrap());
        let outcomes: Vec<_> = rows.into_iter().map(|row| row.outcome).collect();
        assert_eq!(
            outcomes,
            [
                Outcome::Failed("no such program".into()),
                Outcome::Failed("exit status: 3".into()),
                Outcome::Passed,
            ]
        );
    }

    #[test]
    fn only_some_can_be_asked_for() {
        let some = select(CHECKS, &["passes".into(), "fails".into()]).unwrap();
        let names: Vec<_> = some.iter().map(|check| check.name).collect();
        assert_eq!(names, ["fails", "passes"]);
        let error = select(CHECKS, &["pases".into()]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "no check is called pases; there are breaks, fails, passes"
        );
    }

    #[test]
    fn a_skip_is_a_failure_in_ci_unless_the_check_says_otherwise() {
        assert!(skipped(false).is_failure(true));
        assert!(!skipped(false).is_failure(false));
        assert!(!skipped(true).is_failure(true));
    }

    #[test]
    fn half_an_hour_is_enough_for_all_checks_together() {
        let rows = |seconds: u64| {
            let mut rows = [skipped(false), skipped(false)];
            rows[0].took = Duration::from_secs(60);
            rows[1].took = Duration::from_secs(seconds);
            rows
        };
        assert_eq!(too_long(&rows(1_740)), None);
        assert_eq!(
            too_long(&rows(1_741)).unwrap(),
            "TOO LONG: the checks took 31 minutes, must take at most 30"
        );
    }

    #[test]
    fn the_table_has_a_row_for_each() {
        let mut rows = run_all(&select(CHECKS, &[]).unwrap());
        rows.push(skipped(false));
        for row in &mut rows {
            row.took = Duration::from_millis(1_250);
        }
        assert_eq!(
            table::render(&rows, true),
            "\
check    result   seconds
breaks   failed       1.2  no such program
fails    failed       1.2  exit status: 3
passes   ran          1.2
skipped  skipped      1.2  no such platform (a failure in CI)
total                 5.0
3 of 4 checks failed
"
        );
        assert!(table::render(&[skipped(true)], true).ends_with("all checks passed, 1 skipped\n"));
    }
}

//! Table of the results of all checks.

use std::{fmt::Write as _, time::Duration};

use crate::outcome::{Outcome, Row};

pub fn render(rows: &[Row], in_ci: bool) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let width = width.max("check".len());
    let mut table = format!("{:width$}  {:7}  {:>7}\n", "check", "result", "seconds");
    for row in rows {
        let (result, remark) = match &row.outcome {
            Outcome::Passed => ("ran", String::new()),
            Outcome::Failed(why) => ("failed", format!("  {}", first_line(why))),
            Outcome::Skipped { why, .. } if row.is_failure(in_ci) => (
                "skipped",
                format!("  {} (a failure in CI)", first_line(why)),
            ),
            Outcome::Skipped { why, .. } => ("skipped", format!("  {}", first_line(why))),
        };
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            table,
            "{:width$}  {result:7}  {:7.1}{remark}",
            row.name,
            row.took.as_secs_f64()
        );
    }
    let total: Duration = rows.iter().map(|row| row.took).sum();
    let _ = writeln!(
        table,
        "{:width$}  {:7}  {:7.1}",
        "total",
        "",
        total.as_secs_f64()
    );
    let failed = rows.iter().filter(|row| row.is_failure(in_ci)).count();
    let skipped = rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Skipped { .. }))
        .count();
    table += &match (failed, skipped) {
        (0, 0) => "all checks passed\n".to_owned(),
        (0, skipped) => format!("all checks passed, {skipped} skipped\n"),
        (failed, _) => format!("{failed} of {} checks failed\n", rows.len()),
    };
    table
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

//! Bodies of responses that benchmarks decode, and plain structs for them. The benchmarks of
//! modelarts-ext use this module, too.

pub mod plain;

use std::fmt::Write;

/// Details of a job, with the fields that most jobs have.
pub const JOB: &str = include_str!("job.json");

/// Messages of the events; consecutive events use them in turn.
const TEXTS: [&str; 4] = [
    "[worker-0][time used: 1.204s] Upload training output(parameter name: train_url) finished.",
    "Training job is running.",
    "[worker-0] Training finished. Exit code 2.",
    "[worker-0] Training output(parameter name: train_url) Uploading.",
];

/// Returns a page of 50 jobs.
pub fn jobs() -> String {
    let jobs: Vec<_> = (0..50)
        .map(|number| {
            let name = format!(r#""name":"leaves-{number}""#);
            JOB.trim().replacen(r#""name":"leaves""#, &name, 1)
        })
        .collect();
    format!(
        concat!(
            r#"{{"total":5059,"count":50,"limit":50,"offset":0,"sort_by":"create_time","#,
            r#""order":"desc","group_by":"","workspace_id":"0","items":[{}]}}"#
        ),
        jobs.join(",")
    )
}

/// Returns a page of a list of `total` events: `limit` events from `offset` on. Events are one
/// second apart; every tenth event is equal to its predecessor.
pub fn events(total: u64, offset: u64, limit: u64) -> String {
    let mut body = format!(
        concat!(
            r#"{{"total":{},"limit":{},"offset":{},"order":"asc","#,
            r#""start_time":"2024-06-10T14:13:20+08:00","#,
            r#""end_time":"2024-06-10T15:13:20+08:00","events":["#
        ),
        total, limit, offset
    );
    for number in offset..total.min(offset.saturating_add(limit)) {
        let number = if number % 10 == 9 { number - 1 } else { number };
        let text = TEXTS[number as usize % TEXTS.len()];
        let (hours, minute, second) = (number / 3600, number / 60 % 60, number % 60);
        let (day, hour) = (hours / 24, hours % 24);
        let (month, day) = (day / 28 + 1, day % 28 + 1);
        if body.ends_with('}') {
            body.push(',');
        }
        // Writing to a `String` cannot fail.
        let _ = write!(
            body,
            concat!(
                r#"{{"time":"2024-{:02}-{:02}T{:02}:{:02}:{:02}+08:00","#,
                r#""level":"Info","source":"Task","message":"{}"}}"#
            ),
            month, day, hour, minute, second, text
        );
    }
    body.push_str("]}");
    body
}

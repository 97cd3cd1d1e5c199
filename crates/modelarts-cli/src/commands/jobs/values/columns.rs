//! Values of jobs as columns: `param:NAME` is a hyper-parameter, `log:NAME` the last number after a
//! word in the log.

use futures::{StreamExt, stream};
use modelarts_ext::Job;
use regex::Regex;
use serde_json::Value;

use crate::failure::Failure;

/// Number of logs that are read at the same time.
const CONCURRENT: usize = 4;
const PARAMETER: &str = "param:";
const LOG: &str = "log:";

/// A requested value.
pub(in crate::commands::jobs) struct JobValue {
    /// Name of the column, such as `log:loss`.
    pub(in crate::commands::jobs) column: String,
    source: Source,
}

enum Source {
    Parameter(String),
    Log(Regex),
}

impl JobValue {
    pub(in crate::commands::jobs) fn reads_logs(&self) -> bool {
        matches!(self.source, Source::Log(_))
    }
}

pub(in crate::commands::jobs) fn is_value(column: &str) -> bool {
    column.starts_with(PARAMETER) || column.starts_with(LOG)
}

/// Returns the values among the requested columns.
pub(in crate::commands::jobs) fn requested(columns: &[String]) -> Result<Vec<JobValue>, Failure> {
    let value = |column: &String| {
        let source = match column.strip_prefix(PARAMETER) {
            Some(name) => Source::Parameter(name.to_owned()),
            None => Source::Log(Regex::new(&number_after(column.strip_prefix(LOG)?)).ok()?),
        };
        Some(JobValue { column: column.clone(), source })
    };
    if let Some(empty) = columns.iter().find(|column| [PARAMETER, LOG].contains(&column.as_str())) {
        return Err(Failure::usage(format_args!(
            "--columns {empty}: it must have a name, such as {empty}loss"
        )));
    }
    Ok(columns.iter().filter_map(value).collect())
}

/// Returns the expression of a number after a word, such as `loss=0.25` or `"loss": 0.25`. Its only
/// group is the number.
pub(in crate::commands::jobs) fn number_after(word: &str) -> String {
    let word = regex::escape(word);
    let number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?:[nN]a[nN]|[-+]?[iI]nf(?:inity)?)\b";
    format!(r#"(?:^|[^\w/.-]){word}["']?\s*[:=]?\s*({number})"#)
}

/// Returns the values of jobs. A value that a job does not have is null.
pub(in crate::commands::jobs) async fn of_jobs(
    jobs: &[Job],
    values: &[JobValue],
) -> Vec<Vec<(String, Value)>> {
    let has_log = values.iter().any(JobValue::reads_logs);
    let rows = stream::iter(jobs).map(async |job| {
        let log = match job.tasks().first().filter(|_| has_log) {
            Some(task) => job.logs(task).end().await.map(|log| log.text).unwrap_or_default(),
            None => String::new(),
        };
        let value = |value: &JobValue| {
            let found = match &value.source {
                Source::Parameter(name) => parameter(job, name),
                Source::Log(regex) => last_number(&log, regex),
            };
            (value.column.clone(), found.unwrap_or_default())
        };
        values.iter().map(value).collect()
    });
    rows.buffered(CONCURRENT).collect().await
}

fn parameter(job: &Job, name: &str) -> Option<Value> {
    let parameters = &job.details().algorithm.as_deref()?.parameters;
    let found = parameters.iter().find(|parameter| parameter.name.as_deref() == Some(name))?;
    let constraint = found.constraint.as_ref();
    match constraint.and_then(|constraint| constraint.sensitive) {
        Some(true) => Some("***".into()),
        _ => found.value.clone().map(Value::from),
    }
}

fn last_number(log: &str, regex: &Regex) -> Option<Value> {
    let last = regex.captures_iter(log).last()?;
    let number: f64 = last.get(1)?.as_str().parse().ok()?;
    Some(match number.is_finite() {
        true => number.into(),
        false => number.to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_number_after_the_word_counts() {
        let log = "epoch 1 loss=0.9 val_loss: 2\n{\"loss\": 1.5e-3}\nloss nan of x\n";
        let number = |log: &str, word| last_number(log, &Regex::new(&number_after(word)).unwrap());
        assert_eq!(number(log, "loss"), Some(json!("NaN")));
        assert_eq!(number(&log[..log.len() - 14], "loss"), Some(json!(0.0015)));
        assert_eq!(number(log, "val_loss"), Some(json!(2.0)));
        assert_eq!(number(log, "epoch"), Some(json!(1.0)));
        assert_eq!(number(log, "acc"), None);
        assert_eq!(number("a.b=3 axb=4", "a.b"), Some(json!(3.0)));
        assert_eq!(number("loss 2\nval-loss 3 train/loss 4", "loss"), Some(json!(2.0)));
        assert_eq!(number("step 7 of step information", "step"), Some(json!(7.0)));
        assert_eq!(number("{\"loss\": Infinity}", "loss"), Some(json!("inf")));
    }
}

//! Numbers that a script prints, such as loss or accuracy.

use futures::{StreamExt, TryStreamExt, stream};
use regress::{Match, Regex};
use serde::Serialize;

use crate::{
    error::Error,
    jobs::logs::{Logs, line_splitter::LogItem, timestamp::zoned_time},
    pagination::page::PageStream,
    timestamp::Timestamp,
};

/// Number that a script printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LogValue {
    /// Parsed number, which is infinite or NaN if the script printed `inf` or `nan`. JSON contains
    /// `null` for infinite numbers and NaN.
    pub value: f64,
    /// Line that contains the number, without its line break.
    pub line: String,
    /// Time at the beginning of the line, if the time has a time zone, such as
    /// `2026-01-15T16:30:07.123+08:00`.
    pub time: Option<Timestamp>,
}

/// Numbers in a log, by a regular expression; see [`Logs::values`].
#[derive(Clone, Debug)]
#[must_use]
pub struct LogValues {
    logs: Logs,
    regex: Regex,
}

impl Logs {
    /// Returns the numbers that a script prints: one for each line that `regex` matches.
    ///
    /// The number is the text of the group `value`, written `(?<value>…)`. Without this group, the
    /// number is the text of the first group that matched, as for the metrics of a hyper-parameter
    /// search; without groups, the number is the whole match. The text is parsed as [`f64`], such
    /// as `0.25`, `-1e-5`, `nan`. A match whose text is not a number is skipped. A progress bar,
    /// which returns to the beginning of its line (`\r`), counts as several lines. Only the first
    /// match of a line counts.
    ///
    /// The expression has the syntax of ECMAScript, is case-sensitive, and matches anywhere in a
    /// line. It can backtrack, so nested repetitions, such as `(\d+)*`, are slow in long lines.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let script = "print('epoch 1: loss=0.72 acc=0.51')\n\
    /// #               print('epoch 2: loss=0.38 acc=0.84')\n";
    /// # let job = hello(&emulator, &client, "values")?;
    /// # emulator.put("bucket/code/train.py", script)?;
    /// # let job = job.submit().await?;
    /// use futures::TryStreamExt;
    ///
    /// // The loss while the job runs, until it has ended.
    /// let mut losses = job.logs("worker-0").values(r"\bloss=(\S+)")?.follow();
    /// # let mut losses = job
    /// #     .logs("worker-0")
    /// #     .quiet(std::time::Duration::ZERO)
    /// #     .interval(std::time::Duration::from_millis(20))
    /// #     .values(r"\bloss=(\S+)")?
    /// #     .follow();
    /// # let mut followed = Vec::new();
    /// while let Some(loss) = losses.try_next().await? {
    ///     println!("{} in {:?}", loss.value, loss.line);
    /// #   followed.push(loss.value);
    /// }
    /// # assert_eq!(followed, [0.72, 0.38]);
    ///
    /// // The best accuracy that the log has now.
    /// let accuracies = job.logs("worker-0").values(r"\bacc=(?<value>[\d.]+)")?.stream();
    /// let best = accuracies.try_fold(0.0, |best, next| async move { Ok(next.value.max(best)) });
    /// assert_eq!(best.await?, 0.84);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if `regex` is not a valid regular expression.
    pub fn values(self, regex: &str) -> Result<LogValues, Error> {
        match Regex::new(regex) {
            Ok(regex) => Ok(LogValues { logs: self, regex }),
            Err(error) => {
                let hint = match regex.contains("(?P<") {
                    true => "; a named group is written (?<value>…), without P",
                    false => "",
                };
                let message = format!(
                    "the regular expression {regex:?} must have the syntax of ECMAScript: \
                     {error}{hint}"
                );
                Err(Error::invalid(message).with_source(error))
            }
        }
    }
}

impl LogValues {
    /// Returns a stream of the numbers that the log has now, like [`Logs::stream`].
    #[must_use]
    pub fn stream(self) -> PageStream<LogValue> {
        values(self.logs.stream(), self.regex)
    }

    /// Returns all numbers that the log has now, in the order of their lines.
    ///
    /// # Errors
    /// Returns the errors of the [stream](Self::stream).
    pub async fn collect(self) -> Result<Vec<LogValue>, Error> {
        self.stream().try_collect().await
    }

    /// Returns a stream of the existing and all new numbers until the job has ended, like
    /// [`Logs::follow`]. Numbers in missing lines ([`LogItem::Gap`]) are not returned.
    #[must_use]
    pub fn follow(self) -> PageStream<LogValue> {
        values(self.logs.follow(), self.regex)
    }
}

fn values(items: PageStream<LogItem>, regex: Regex) -> PageStream<LogValue> {
    items
        .map_ok(move |item| {
            let found = match item {
                LogItem::Line(line) => line_values(&line, &regex),
                LogItem::Gap { .. } => Vec::new(),
            };
            stream::iter(found.into_iter().map(Ok))
        })
        .try_flatten()
        .boxed()
}

/// Returns the numbers in a line, or in each line of a progress bar.
fn line_values(line: &str, regex: &Regex) -> Vec<LogValue> {
    let found = line.split('\r').filter_map(|line| {
        let value = value(line, &regex.find(line)?)?;
        Some(LogValue { value, line: line.to_owned(), time: zoned_time(line).map(Timestamp::from) })
    });
    found.collect()
}

fn value(line: &str, found: &Match) -> Option<f64> {
    let range = match found.named_group("value") {
        Some(range) => range,
        None if found.captures.is_empty() => found.range(),
        // Groups of alternatives that did not match are skipped.
        None => found.captures.iter().flatten().next()?.clone(),
    };
    line.get(range)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(regex: &str, line: &str) -> Vec<f64> {
        let found = line_values(line, &Regex::new(regex).unwrap());
        found.iter().map(|found| found.value).collect()
    }

    #[test]
    fn a_number_is_the_named_group_or_the_first_one_or_the_match() {
        for (regex, line, expected) in [
            (r"loss=(\S+)", "step 3 loss=0.25 loss=7", &[0.25][..]),
            (r"(\w+)=(?<value>\S+)", "loss=-1e-5", &[-1e-5]),
            (r"loss=(\S+)|perte=(\S+)", "perte=3", &[3.0]),
            (r"\d+", "step 42 of 50", &[42.0]),
            (r"acc: (.*)%", "acc:  97.5 %", &[97.5]),
            (r"loss=(\S+)", "loss=inf", &[f64::INFINITY]),
            (r"loss=(\S+)", "loss=0.5,", &[]),
            (r"loss=(\S+)?", "loss=", &[]),
            (r"", "1", &[]),
            (r"损失[:：](\S+)", "ä 损失：0.5", &[0.5]),
            (r"loss=([\d.]+)", "0%|\rloss=0.5 50%|\rloss=0.25 100%|\r", &[0.5, 0.25]),
        ] {
            assert_eq!(numbers(regex, line), expected, "{regex} {line}");
        }
        assert!(numbers(r"loss=(\S+)", "loss=nan")[0].is_nan());
    }

    #[test]
    fn a_number_has_its_line_and_the_time_of_the_line() {
        let regex = Regex::new(r"loss=(\S+)").unwrap();
        let line = "2026-01-15T16:30:07+08:00 loss=1";
        let time: Timestamp = "2026-01-15T08:30:07Z".parse().unwrap();
        let expected = LogValue { value: 1.0, line: line.to_owned(), time: Some(time) };
        assert_eq!(line_values(line, &regex), [expected]);
        // A time without a zone is not comparable with other times.
        let local = line_values("2026-01-15 16:30:07,123 loss=1", &regex);
        assert_eq!(local[0].time, None);
    }
}

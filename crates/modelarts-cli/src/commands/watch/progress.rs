//! `Report`: the progress of a script, from a line of its log.
//!
//! Only lines with a certain meaning count: a JSON object with the fields of the job status of
//! Kubeflow Trainer, a bar of tqdm, and numbers after the words epoch, step or iteration.

use std::{sync::LazyLock, time::Duration};

use modelarts_ext::Timestamp;
use regex::{Captures, Regex};
use serde_json::Value;

/// Maximum number of metrics of a report.
const MAX_METRICS: usize = 8;
/// Time after the first report in which further reports may be those of an older log.
const SETTLING: Duration = Duration::from_secs(2);

/// Ranks of reports. A higher one describes more of the job: a bar is often that of one epoch.
const BAR_RANK: u8 = 0;
const STEP_RANK: u8 = 1;
const EPOCH_RANK: u8 = 2;
const STATUS_RANK: u8 = 3;

/// Progress of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Report {
    rank: u8,
    /// Text such as `epoch 3/40`; `None` if the report has none.
    pub(super) label: Option<String>,
    /// Progress from 0 to 100.
    pub(super) percent: Option<f64>,
    remaining: Option<Duration>,
    /// Names and values such as `loss 0.2`.
    pub(super) metrics: Vec<String>,
}

/// `45%|████▌     | 45/100 [00:10<00:12,  4.50it/s]`, with the remaining time last.
static BAR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(\d{1,3})%\|[^|]*\|\s*[^\s/]+/[^\s/]+\s+\[[\d:]+<([\d:]+|\?)").ok()
});
/// `Epoch [3/40]`, `step 100/1000`, `iteration 5 of 10`.
static COUNTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let counter = r"(?i)\b(epoch|step|iter|iteration)s?[\s:=]*[\[(]?\s*(\d+)\s*(?:/|of)\s*(\d+)";
    Regex::new(&format!(r"{counter}(?:[^\d/.]|\.\D|\.?$)")).ok()
});

impl Report {
    /// Reads the last report of a line. Returns `None` if the line has none.
    pub(super) fn read(line: &str) -> Option<Self> {
        status(line).or_else(|| {
            let counters = COUNTER.as_ref()?.captures_iter(line).filter_map(counter);
            let bars = BAR.as_ref()?.captures_iter(line).filter_map(bar);
            counters.chain(bars).max_by_key(|report| report.rank)
        })
    }
}

/// Reads the status of a training in the words of `TrainJobTrainerStatus` of Kubeflow Trainer, also
/// as the body of its endpoint, in `trainerStatus`. KEP-2779 defines it:
/// <https://github.com/kubeflow/trainer/tree/master/docs/proposals/2779-trainjob-progress>. The
/// values of its metrics are texts; numbers are accepted, too.
fn status(line: &str) -> Option<Report> {
    if !["progressPercentage", "estimatedRemainingSeconds"].iter().any(|key| line.contains(key)) {
        return None;
    }
    let json = line.get(line.find('{')?..)?;
    let status = serde_json::Deserializer::from_str(json).into_iter::<Value>().next()?.ok()?;
    let status = status.get("trainerStatus").unwrap_or(&status);
    let percent = status["progressPercentage"].as_f64();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    let remaining = status["estimatedRemainingSeconds"].as_f64();
    let remaining = remaining.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let metrics = status["metrics"].as_array().into_iter().flatten().filter_map(|metric| {
        let value = metric["value"].as_str().map(str::to_owned);
        let value = value.or_else(|| Some(metric["value"].as_f64()?.to_string()))?;
        Some(format!("{} {value}", metric["name"].as_str()?))
    });
    let metrics = metrics.take(MAX_METRICS).collect();
    (percent.is_some() || remaining.is_some()).then_some(Report {
        rank: STATUS_RANK,
        label: None,
        percent,
        remaining,
        metrics,
    })
}

fn counter(found: Captures<'_>) -> Option<Report> {
    let (_, [word, done, total]) = found.extract();
    let (count, all) = (done.parse::<u32>().ok()?, total.parse::<u32>().ok()?);
    let word = word.to_lowercase();
    Some(Report {
        rank: if word == "epoch" { EPOCH_RANK } else { STEP_RANK },
        label: Some(format!("{word} {count}/{all}")),
        percent: Some(f64::from(count) / f64::from(all) * 100.0),
        ..Report::default()
    })
    .filter(|_| count <= all && all > 0)
}

fn bar(found: Captures<'_>) -> Option<Report> {
    let (_, [percent, remaining]) = found.extract();
    let seconds = remaining
        .split(':')
        .try_fold(0_u64, |seconds, part| seconds.checked_mul(60)?.checked_add(part.parse().ok()?));
    let percent = percent.parse().ok().filter(|percent| *percent <= 100.0);
    percent?;
    let remaining = seconds.map(Duration::from_secs);
    Some(Report { rank: BAR_RANK, percent, remaining, ..Report::default() })
}

/// The last report of a job, with the first one, from which the remaining time is estimated.
#[derive(Debug)]
pub(super) struct Progress {
    /// Time and percentage from which the remaining time is estimated.
    first: (Timestamp, f64),
    /// Time until which reports move the first one.
    settled: Timestamp,
    pub(super) last: Report,
    at: Timestamp,
}

impl Progress {
    /// Returns the progress after a report of a time. A report of a lower rank is ignored, and a
    /// progress that decreases begins again.
    pub(super) fn after(earlier: Option<Self>, mut report: Report, now: Timestamp) -> Self {
        let before = earlier.as_ref().and_then(|earlier| earlier.last.percent);
        report.percent = report.percent.or(before);
        let percent = report.percent.unwrap_or_default();
        let (first, settled) = match earlier {
            Some(earlier) if report.rank < earlier.last.rank => return earlier,
            Some(Self { first, settled, last, .. })
                if report.rank == last.rank && Some(percent) >= last.percent =>
            {
                (if now < settled { (now, percent) } else { first }, settled)
            }
            _ => ((now, percent), now + SETTLING),
        };
        Self { first, settled, last: report, at: now }
    }

    /// Returns the remaining time: that of the report, otherwise an estimate. `None` if it is not
    /// known.
    pub(super) fn remaining(&self, now: Timestamp) -> Option<Duration> {
        let remaining = self.last.remaining.or_else(|| {
            let (gained, left) = (self.last.percent? - self.first.1, 100.0 - self.last.percent?);
            let seconds = self.at.duration_since(self.first.0).as_secs_f64() / gained * left;
            Duration::try_from_secs_f64(seconds).ok()
        });
        Some(remaining?.saturating_sub(now.duration_since(self.at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(line: &str) -> Option<f64> {
        Report::read(line)?.percent
    }

    #[test]
    fn lines_of_common_programs_have_a_percentage() {
        for (line, expected) in [
            (" 45%|████▌     | 45/100 [00:10<00:12,  4.50it/s]", 45.0),
            ("train:  7%|7 | 1.5k/20k [01:00<1:02:03, 4it/s, loss=0.2]", 7.0),
            ("  0%|  | 0/9 [00:00<?, ?it/s]\r 11%|# | 1/9 [00:01<00:08, 1s/it]", 11.0),
            ("epoch 3/40", 7.5),
            ("Epoch [3/40], Step [100/1000], Loss: 0.2", 7.5),
            ("2026-01-15T08:30:07Z INFO Epoch: 10 of 40.", 25.0),
            ("step 100/1000 loss 0.5", 10.0),
            ("iter=5/10", 50.0),
            (r#"{"progressPercentage": 45, "metrics": []}"#, 45.0),
            (r#"INFO {"trainerStatus": {"progressPercentage": 12.5}} sent"#, 12.5),
        ] {
            assert_eq!(percent(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_numbers_are_no_progress() {
        for line in [
            "3/4",
            "accuracy 3/4",
            "45%",
            "45% | 3",
            "epoch 3",
            "epoch 41/40",
            "epoch 0/0",
            "step 1/2/2026",
            "epoch 3/40.5",
            "Epoch: [0][ 10/5005]",
            "epoch 99999999999/99999999999",
            r#"{"progressPercentage": 145}"#,
            r#"{"progressPercentage": "x"}"#,
            r#"{"metrics": [{"name": "loss", "value": "1"}]}"#,
            "progressPercentage",
            "}{ progressPercentage",
        ] {
            assert_eq!(Report::read(line), None, "{line}");
        }
    }

    #[test]
    fn a_status_of_kubeflow_has_metrics_and_the_remaining_time() {
        let line = r#"{"progressPercentage": 45, "estimatedRemainingSeconds": 90, "lastUpdatedTime":
            "2025-01-23T10:30:45Z", "metrics": [{"name": "loss", "value": "0.23"},
            {"name": "epoch", "value": 2}]}"#;
        let report = Report::read(line).unwrap();
        assert_eq!(report.metrics, ["loss 0.23", "epoch 2"]);
        let now = Timestamp::UNIX_EPOCH;
        let progress = Progress::after(None, report, now);
        let remaining = |seconds| progress.remaining(now + Duration::from_secs(seconds));
        assert_eq!(remaining(0), Some(Duration::from_secs(90)));
        assert_eq!(remaining(60), Some(Duration::from_secs(30)));
        assert_eq!(remaining(100), Some(Duration::ZERO));
    }

    fn after(reports: &[(u64, &str)]) -> Progress {
        let progress = reports.iter().fold(None, |progress, (seconds, line)| {
            let time = Timestamp::UNIX_EPOCH + Duration::from_secs(*seconds);
            Some(Progress::after(progress, Report::read(line).unwrap(), time))
        });
        progress.unwrap()
    }

    #[test]
    fn the_remaining_time_is_estimated_from_the_first_report() {
        for (reports, remaining) in [
            (&[(0, "epoch 1/10")][..], None),
            (&[(0, "epoch 1/10"), (10, "epoch 2/10"), (20, "epoch 3/10")], Some(70)),
            // The first reports come together, from the log before the view.
            (&[(0, "epoch 1/10"), (0, "epoch 5/10"), (10, "epoch 6/10")], Some(40)),
            // The steps of an epoch begin again.
            (
                &[
                    (0, "step 10/100"),
                    (10, "step 90/100"),
                    (11, "step 20/100"),
                    (15, "step 60/100"),
                ],
                Some(4),
            ),
            // The job begins again.
            (&[(0, "epoch 5/10"), (10, "epoch 1/10"), (20, "epoch 2/10")], Some(80)),
            (&[(0, "epoch 1/10"), (10, "epoch 1/10")], None),
            (&[(0, " 50%|#| 1/2 [00:10<00:12, 1it/s]")], Some(12)),
            (&[(0, " 50%|#| 1/2 [00:10<?, 1it/s]")], None),
        ] {
            let progress = after(reports);
            let expected = remaining.map(Duration::from_secs);
            assert_eq!(progress.remaining(progress.at), expected, "{reports:?}");
        }
    }

    #[test]
    fn a_remaining_time_alone_is_no_percentage() {
        let remaining = r#"{"estimatedRemainingSeconds": 90}"#;
        assert_eq!(after(&[(0, remaining)]).last.percent, None);
        let both = after(&[(0, r#"{"progressPercentage": 45}"#), (5, remaining)]);
        assert_eq!(both.last.percent, Some(45.0));
    }

    #[test]
    fn a_bar_of_an_epoch_does_not_replace_the_epoch() {
        let bar = " 90%|#| 9/10 [00:10<00:01, 1it/s]";
        let progress = after(&[(0, bar), (5, "epoch 1/4"), (6, bar)]);
        assert_eq!(
            (progress.last.label.as_deref(), progress.last.percent),
            (Some("epoch 1/4"), Some(25.0))
        );
    }
}

//! `Chart`: usage series as lines of a chart and as rows of a table.

use modelarts_ext::{Timestamp, jobs::MetricSeries};
use serde::Serialize;

/// Maximum number of rows of the table of values.
const MAX_ROWS: usize = 60;

/// A chart with its lines. Each line has a value or a gap for each time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// Times, in seconds since 1970.
    pub(crate) times: Vec<i64>,
    pub(crate) series: Vec<Series>,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Series {
    pub(crate) label: String,
    /// Values in percent; `None` is a gap.
    pub(crate) values: Vec<Option<f64>>,
    #[serde(skip)]
    pub(crate) last: String,
    #[serde(skip)]
    pub(crate) mean: String,
    #[serde(skip)]
    pub(crate) max: String,
}

/// A row with the means of some minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueRow {
    /// Time of the first value, RFC 3339.
    pub(crate) time: String,
    /// Means in percent; `None` if all values are gaps.
    pub(crate) values: Vec<Option<String>>,
}

/// Returns the charts of series with their tasks, and the names of metrics without values. If
/// `by_metric` is set, each metric has a chart with a line per task; otherwise each task has one.
pub(crate) fn charts(
    series: &[(&str, &MetricSeries)],
    by_metric: bool,
) -> (Vec<Chart>, Vec<String>) {
    let mut charts: Vec<Chart> = Vec::new();
    let mut blank: Vec<String> = Vec::new();
    for (task, one) in series {
        let metric = metric_name(one.metric());
        if one.is_blank() {
            if !blank.contains(&metric) {
                blank.push(metric);
            }
            continue;
        }
        let (title, label) = match by_metric {
            true => (metric, (*task).to_owned()),
            false => ((*task).to_owned(), metric),
        };
        let index = charts.iter().position(|chart| chart.title == title);
        let index = index.unwrap_or_else(|| {
            charts.push(Chart { title, times: Vec::new(), series: Vec::new() });
            charts.len() - 1
        });
        charts[index].add(label, one);
    }
    // A metric with values of some tasks only is not without values.
    blank.retain(|metric| !charts.iter().any(|chart| chart.title == *metric));
    charts.iter_mut().for_each(Chart::align);
    (charts, blank)
}

fn metric_name(metric: &str) -> String {
    let name = match metric {
        "cpuUsage" => "CPU",
        "memUsage" => "Memory",
        "gpuUtil" => "GPU",
        "gpuMemUsage" => "GPU memory",
        "npuUtil" => "NPU",
        "npuMemUsage" => "NPU memory",
        other => other,
    };
    name.to_owned()
}

fn percent(value: f64) -> String {
    format!("{value:.1}")
}

impl Chart {
    fn add(&mut self, label: String, series: &MetricSeries) {
        let points: Vec<_> = series.points().collect();
        if points.len() > self.times.len() {
            let seconds = |time: &Timestamp| time.as_epoch_millis().div_euclid(1000);
            self.times = points.iter().map(|(time, _)| seconds(time)).collect();
        }
        let text = |value: Option<f64>| value.map(percent).unwrap_or_default();
        self.series.push(Series {
            label,
            values: points.into_iter().map(|(_, value)| value).collect(),
            last: text(series.last().map(|(_, value)| value)),
            mean: text(series.mean()),
            max: text(series.max()),
        });
    }

    /// Extends all lines to the same length with gaps. All series of a job have the same start.
    fn align(&mut self) {
        for series in &mut self.series {
            series.values.resize(self.times.len(), None);
        }
    }

    /// Returns the number of minutes per row of the table of values.
    pub(crate) fn minutes_of_rows(&self) -> usize {
        self.times.len().div_ceil(MAX_ROWS).max(1)
    }

    /// Returns the rows of the table of values, newest first.
    pub(crate) fn rows(&self) -> Vec<ValueRow> {
        let minutes = self.minutes_of_rows();
        let rows = self.times.chunks(minutes).enumerate().map(|(index, times)| {
            let start = index * minutes;
            let values = self.series.iter().map(|series| {
                let values = series.values.iter().skip(start).take(minutes).flatten();
                let (count, sum) =
                    values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
                (count > 0).then(|| percent(sum / f64::from(count)))
            });
            let first = times.first().copied().unwrap_or_default();
            ValueRow {
                time: Timestamp::from_epoch_millis(first.saturating_mul(1000)).to_string(),
                values: values.collect(),
            }
        });
        let mut rows: Vec<_> = rows.collect();
        rows.reverse();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(metric: &str, values: impl IntoIterator<Item = f64>) -> MetricSeries {
        MetricSeries::new(metric, Timestamp::UNIX_EPOCH, values)
    }

    #[test]
    fn gaps_remain_gaps_and_lines_have_one_length() {
        let cpu = series("cpuUsage", [-1.0, 10.0, -1.0, 30.0]);
        let memory = series("memUsage", [5.0]);
        let npu = series("npuUtil", [-1.0; 4]);
        let all = [("worker-0", &cpu), ("worker-0", &memory), ("worker-0", &npu)];
        let (charts, blank) = charts(&all, false);
        assert_eq!(blank, ["NPU"]);
        let [chart] = charts.as_slice() else {
            panic!("{charts:?}");
        };
        assert_eq!(chart.title, "worker-0");
        assert_eq!(chart.times, [0, 60, 120, 180]);
        assert_eq!(chart.series[0].values, [None, Some(10.0), None, Some(30.0)]);
        assert_eq!(chart.series[1].values, [Some(5.0), None, None, None]);
        let cpu = &chart.series[0];
        assert_eq!((&*cpu.last, &*cpu.mean, &*cpu.max), ("30.0", "20.0", "30.0"));
        let rows = chart.rows();
        assert_eq!(rows[0].time, "1970-01-01T00:03:00Z");
        assert_eq!(rows[0].values, [Some("30.0".to_owned()), None]);
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn each_metric_of_several_workers_has_a_chart() {
        let (one, other) = (series("gpuUtil", [50.0]), series("gpuUtil", [-1.0]));
        let memory = series("gpuMemUsage", [20.0]);
        let all = [("worker-0", &one), ("worker-0", &memory), ("worker-1", &other)];
        let (charts, blank) = charts(&all, true);
        let titles: Vec<_> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["GPU", "GPU memory"]);
        assert_eq!(charts[0].series[0].label, "worker-0");
        assert!(blank.is_empty());
    }

    #[test]
    fn three_days_are_few_rows_of_means() {
        let cpu = series("cpuUsage", (0..4320).map(|minute| f64::from(minute % 2)));
        let (charts, _) = charts(&[("worker-0", &cpu)], false);
        assert_eq!(charts[0].minutes_of_rows(), 72);
        let rows = charts[0].rows();
        assert_eq!(rows.len(), 60);
        assert!(rows.iter().all(|row| row.values == [Some("0.5".to_owned())]));
    }
}

//! Series of values, one for each minute: their names, their JSON, and series from a script.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::timestamp::Timestamp;

/// Names of the six series. Responses always contain all of them.
pub(crate) const SERIES: [&str; 6] =
    ["cpuUsage", "memUsage", "gpuUtil", "gpuMemUsage", "npuUtil", "npuMemUsage"];
/// Value of a minute without a sample.
pub(super) const GAP: f64 = -1.0;
/// Number of minutes without samples at the start of a series, while the service's sampler starts.
pub(super) const WARM_UP: usize = 2;
/// Number of minutes that are kept: three days, as on the console.
pub(super) const MAX_MINUTES: usize = 3 * 24 * 60;

/// Values of a series, one for each minute. After the last minute, the last value repeats.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct Values(pub(crate) Vec<f64>);

impl TryFrom<Value> for Values {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let values = match &value {
            Value::Array(list) => list.iter().map(Value::as_f64).collect(),
            value => value.as_f64().map(|value| vec![value]),
        };
        match values {
            Some(values) if !values.is_empty() => Ok(Self(values)),
            _ => Err(format!(
                "the values of a series are a number or a list of numbers, not {value}"
            )),
        }
    }
}

pub(super) type Minutes = BTreeMap<String, Vec<f64>>;

#[derive(Debug)]
pub(super) struct ScriptedSeries {
    pub(super) start: Timestamp,
    pub(super) values: BTreeMap<String, Values>,
}

impl ScriptedSeries {
    /// Returns the minutes up to `now`, or `None` in the first second, before any sample.
    pub(super) fn minutes(&self, now: Timestamp) -> Option<Minutes> {
        let ran = now.since(self.start);
        if ran < Duration::from_secs(1) {
            return None;
        }
        let minutes = usize::try_from(ran.as_secs().div_ceil(60)).unwrap_or(usize::MAX);
        let dropped = minutes.saturating_sub(MAX_MINUTES);
        let series = self.values.iter().map(|(name, Values(values))| {
            let value = |minute: usize| {
                let value = values.get(minute).or(values.last()).copied();
                value.filter(|_| minute >= WARM_UP).unwrap_or(GAP)
            };
            (name.clone(), (dropped..minutes).map(value).collect())
        });
        Some(series.collect())
    }
}

pub(super) fn metrics_json(mut minutes: Minutes) -> Value {
    let length = minutes.values().map(Vec::len).max().unwrap_or_default();
    let metrics = SERIES.map(|name| {
        let mut values = minutes.remove(name).unwrap_or_default();
        values.resize(length, GAP);
        json!({"metric": name, "value": values})
    });
    json!({"metrics": metrics})
}

/// Appends later minutes to earlier minutes, and keeps the most recent [`MAX_MINUTES`].
pub(super) fn append_minutes(earlier: Option<Minutes>, later: Minutes) -> Minutes {
    let mut minutes = earlier.unwrap_or_default();
    let before = minutes.values().map(Vec::len).max().unwrap_or_default();
    for (name, values) in later {
        let series = minutes.entry(name).or_default();
        series.resize(before, GAP);
        series.extend(values);
    }
    let after = minutes.values().map(Vec::len).max().unwrap_or_default();
    let dropped = after.saturating_sub(MAX_MINUTES);
    for series in minutes.values_mut() {
        series.drain(..dropped.min(series.len()));
    }
    minutes
}

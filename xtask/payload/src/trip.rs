//! Decodes one body as one type, and encodes it again.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail};
use modelarts_api::decode::{self, Decode, Skipped};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    compare::{Finding, Sent},
    pointer,
};

/// The result for a body.
#[derive(Debug, Default)]
pub struct Report {
    /// All differences.
    pub findings: Vec<Finding>,
    /// The list elements that decoding skipped.
    pub dropped: Skipped,
}

/// Parses a body; errors name the line and the column.
pub fn parse(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|error| anyhow!("not JSON: {error}"))
}

/// Decodes `body` as `T` in the same way as the client, encodes it again and compares.
pub fn through<T: Decode + Serialize>(body: &[u8]) -> Result<Report> {
    let sent = parse(body)?;
    let (value, dropped) =
        decode::body::<T>(body).map_err(|error| anyhow!("cannot be decoded: {error}"))?;
    let returned = serde_json::to_value(&value).context("cannot be encoded again")?;
    let (unknown, refused) = observe::<T>(&sent)?;
    let findings = Sent { unknown, refused }.compare(&sent, &returned);
    Ok(Report { findings, dropped })
}

/// Like [`through`], but for types that occur only in requests. Decoding is strict: an element that
/// cannot be decoded is an error.
pub fn strictly<T: DeserializeOwned + Serialize>(body: &[u8]) -> Result<Report> {
    let sent = parse(body)?;
    let mut unknown = Unknown::new();
    let mut note = |path: serde_ignored::Path| {
        unknown.insert(pointer::of_ignored(&path));
    };
    let deserializer = serde_ignored::Deserializer::new(&sent, &mut note);
    let value: T = serde_path_to_error::deserialize(deserializer)
        .map_err(|error| anyhow!("cannot be decoded: {error}"))?;
    let returned = serde_json::to_value(&value).context("cannot be encoded again")?;
    let refused = Refused::new();
    Ok(Report {
        findings: Sent { unknown, refused }.compare(&sent, &returned),
        dropped: Skipped::default(),
    })
}

type Unknown = BTreeSet<String>;
type Refused = BTreeMap<String, String>;

/// Returns the fields that `T` does not have, and the list elements that cannot be decoded, with
/// the reasons. Finds these elements one by one: replaces each by null, which decoding skips, until
/// the whole body can be decoded.
fn observe<T: Decode>(sent: &Value) -> Result<(Unknown, Refused)> {
    let mut readable = sent.clone();
    let mut refused = Refused::new();
    loop {
        let mut unknown = Unknown::new();
        let mut track = serde_path_to_error::Track::new();
        let mut note = |path: serde_ignored::Path| {
            unknown.insert(pointer::of_ignored(&path));
        };
        let deserializer = serde_path_to_error::Deserializer::new(&readable, &mut track);
        let deserializer = serde_ignored::Deserializer::new(deserializer, &mut note);
        let Err(error) = decode::read::<T, _>(deserializer) else {
            return Ok((unknown, refused));
        };
        let element = pointer::of_element(&track.path())
            .and_then(|element| Some((readable.pointer_mut(&element)?, element)));
        match element {
            Some((value, element)) if !value.is_null() => {
                *value = Value::Null;
                refused.insert(element, error.to_string());
            }
            _ => bail!("what could not be read is in no list: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use modelarts_api::types::{ListTrainingJobsResponse, TrainingJob, VolumeRequest};

    use super::*;

    fn lines<T: Decode + Serialize>(body: &str) -> Vec<String> {
        let report = through::<T>(body.as_bytes()).unwrap();
        report.findings.iter().map(ToString::to_string).collect()
    }

    fn error<T: Decode + Serialize>(body: &str) -> String {
        through::<T>(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn unchanged_values_give_no_finding() {
        let body = r#"{"kind":"job","metadata":{"id":"a","name":"b"},"status":{"phase":"Odd"}}"#;
        assert_eq!(lines::<TrainingJob>(body), [""; 0]);
    }

    #[test]
    fn other_spellings_are_notes_and_other_fields_are_unknown() {
        let body = r#"{
            "metadata": {"name": "b", "cost": {"per_hour": 1}},
            "status": {"duration": "27", "tasks": null, "running_records": []},
            "spec": []
        }"#;
        assert_eq!(
            lines::<TrainingJob>(body),
            [
                "unknown  /metadata/cost: {\"per_hour\":1} is in no field of the type",
                "note     /spec: [] became absent",
                "note     /status/duration: \"27\" became 27",
                "note     /status/running_records: [] became absent",
                "note     /status/tasks: null became absent",
            ]
        );
    }

    #[test]
    fn invalid_elements_are_named_with_the_reason() {
        let body = r#"{"items": [
            {"metadata": {"name": "a"}},
            null,
            "......",
            {"metadata": {"name": "b", "new": 1}, "status": {"tasks": ["x", {}]}}
        ]}"#;
        assert_eq!(
            lines::<ListTrainingJobsResponse>(body),
            [
                "note     /items/1: null was left out of the list",
                "filler   /items/2: \"......\": invalid type: string \"......\", expected an object",
                "unknown  /items/3/metadata/new: 1 is in no field of the type",
                "dropped  /items/3/status/tasks/1: {}: invalid type: map, expected text, also as a number or flag",
            ]
        );
    }

    #[test]
    fn skipped_elements_are_reported_as_the_client_counts_them() {
        let body = br#"{"items": [null, "......", {"status": {"tasks": ["x", {}, null]}}]}"#;
        let dropped = through::<ListTrainingJobsResponse>(body).unwrap().dropped;
        assert_eq!((dropped.rows, dropped.nested), (2, 2));
    }

    #[test]
    fn requests_are_read_strictly() {
        let report = strictly::<VolumeRequest>(br#"{"nfs":{"size":1,"local_path":"/a"}}"#);
        let lines: Vec<_> = report
            .unwrap()
            .findings
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(lines, ["unknown  /nfs/size: 1 is in no field of the type"]);
        let error = strictly::<VolumeRequest>(br#"{"nfs":{"local_path":7}}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot be decoded: nfs.local_path: invalid type: integer `7`, expected a string"
        );
    }

    #[test]
    fn an_invalid_body_is_an_error_with_its_place() {
        assert_eq!(
            error::<TrainingJob>("{\n \"kind\": }"),
            "not JSON: expected value at line 2 column 10"
        );
        assert_eq!(
            error::<TrainingJob>(""),
            "not JSON: EOF while parsing a value at line 1 column 0"
        );
        assert_eq!(
            error::<TrainingJob>(r#"{"status": {"duration": []}}"#),
            "cannot be decoded: status.duration: invalid type: sequence, expected an integer, also as text at line 1 column 26"
        );
    }
}

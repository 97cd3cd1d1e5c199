//! Comparison of a body with the result of decoding and encoding it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use modelarts_api::decode::Skipped;
use serde_json::{Map, Value};

use crate::{
    meaning::{equals_absence, same_meaning},
    pointer,
};

/// The kind of a difference between a value and its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The encoding is another spelling of the same value.
    Note,
    /// The type has no such field.
    Unknown,
    /// A string in a list of another element type, such as `"......"` (SOURCES D-13).
    Filler,
    /// A list element that could not be decoded.
    Dropped,
    /// A value that is missing in the encoding, although it could be decoded or at least parsed.
    Lost,
    /// A value whose encoding differs from the original.
    Changed,
}

impl Kind {
    /// Returns the kind as one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Filler => "filler",
            Self::Dropped => "dropped",
            Self::Lost => "lost",
            Self::Changed => "changed",
        }
    }
}

/// Difference with its JSON pointer.
#[derive(Debug, PartialEq)]
pub struct Finding {
    kind: Kind,
    pointer: String,
    text: String,
}

impl Finding {
    /// Returns true if a value was lost or changed.
    pub fn is_failure(&self) -> bool {
        matches!(self.kind, Kind::Dropped | Kind::Lost | Kind::Changed)
    }

    /// Returns the kind of the difference.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the JSON pointer to the difference; it is empty for the whole body.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.name();
        // An empty pointer denotes the whole body.
        let pointer = if self.pointer.is_empty() {
            "(body)"
        } else {
            &self.pointer
        };
        write!(f, "{kind:7}  {pointer}: {}", self.text)
    }
}

/// Returns the summary of a body as one line: `ok` or `FAILED`, the number of findings of each
/// kind, and the number of list elements that decoding skipped.
pub fn summary(findings: &[Finding], dropped: &Skipped) -> String {
    let counts: Vec<_> = [
        (Kind::Note, "notes"),
        (Kind::Unknown, "unknown"),
        (Kind::Filler, "filler"),
        (Kind::Dropped, "dropped"),
        (Kind::Lost, "lost"),
        (Kind::Changed, "changed"),
    ]
    .into_iter()
    .map(|(kind, name)| (findings.iter().filter(|f| f.kind == kind).count(), name))
    .filter(|(count, _)| *count > 0)
    .map(|(count, name)| format!("{count} {name}"))
    .collect();
    let verdict = if findings.iter().any(Finding::is_failure) {
        "FAILED"
    } else {
        "ok"
    };
    let mut summary = verdict.to_owned();
    if !counts.is_empty() {
        summary += &format!(": {}", counts.join(", "));
    }
    if !dropped.is_empty() {
        let Skipped { rows, nested, .. } = dropped;
        summary += &format!("; left out of lists: {rows} rows, {nested} nested elements");
    }
    summary
}

/// Returns the JSON text of a value, cut to 60 characters.
pub fn short(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    let beginning: String = text.chars().take(LONGEST - 1).collect();
    format!("{beginning}…")
}

/// Results of decoding the original body: unknown fields and skipped list elements.
#[derive(Default)]
pub struct Sent {
    /// JSON pointers to the fields that the type does not have.
    pub unknown: BTreeSet<String>,
    /// JSON pointers to the list elements that could not be decoded, each with the reason.
    pub refused: BTreeMap<String, String>,
}

impl Sent {
    /// Returns all differences, in the order of keys and indexes.
    pub fn compare(&self, sent: &Value, returned: &Value) -> Vec<Finding> {
        let mut comparison = Comparison {
            sent: self,
            findings: Vec::new(),
        };
        comparison.values("", sent, returned);
        comparison.findings
    }
}

struct Comparison<'a> {
    sent: &'a Sent,
    findings: Vec<Finding>,
}

impl Comparison<'_> {
    fn add(&mut self, kind: Kind, pointer: &str, text: String) {
        self.findings.push(Finding {
            kind,
            pointer: pointer.to_owned(),
            text,
        });
    }

    fn values(&mut self, at: &str, sent: &Value, returned: &Value) {
        if sent == returned {
            return;
        }
        match (sent, returned) {
            (Value::Object(sent), Value::Object(returned)) => self.objects(at, sent, returned),
            (Value::Array(sent), Value::Array(returned)) => self.lists(at, sent, returned),
            (Value::Array(parts), Value::Object(whole))
                if parts.iter().all(|part| part.is_object() || part.is_null()) =>
            {
                self.add(Kind::Note, at, "a list of objects became one object".into());
                self.merged(at, parts, whole);
            }
            (sent, Value::Array(list)) if list.len() == 1 => {
                let what = if sent.is_object() {
                    "an object"
                } else {
                    "a value"
                };
                self.add(Kind::Note, at, format!("{what} became a list of one"));
                self.values(at, sent, &list[0]);
            }
            _ => {
                let kind = if same_meaning(sent, returned) {
                    Kind::Note
                } else {
                    Kind::Changed
                };
                let text = format!("{} became {}", short(sent), short(returned));
                self.add(kind, at, text);
            }
        }
    }

    fn objects(&mut self, at: &str, sent: &Map<String, Value>, returned: &Map<String, Value>) {
        for (key, value) in sent {
            let at = pointer::join(at, key);
            match returned.get(key) {
                Some(returned) => self.values(&at, value, returned),
                None => self.absent(&at, value),
            }
        }
        self.appeared(at, returned, |key| sent.contains_key(key));
    }

    /// Compares a list of objects with the object into which decoding has merged them.
    fn merged(&mut self, at: &str, parts: &[Value], whole: &Map<String, Value>) {
        for (index, part) in parts.iter().enumerate() {
            for (key, value) in part.as_object().into_iter().flatten() {
                let at = pointer::join(&pointer::join(at, index), key);
                match whole.get(key) {
                    Some(returned) => self.values(&at, value, returned),
                    None => self.absent(&at, value),
                }
            }
        }
        self.appeared(at, whole, |key| {
            parts.iter().any(|part| part.get(key).is_some())
        });
    }

    fn absent(&mut self, at: &str, sent: &Value) {
        let value = short(sent);
        if self.sent.unknown.contains(at) {
            let text = format!("{value} is in no field of the type");
            self.add(Kind::Unknown, at, text);
        } else if equals_absence(sent) {
            self.add(Kind::Note, at, format!("{value} became absent"));
        } else {
            self.add(Kind::Lost, at, format!("{value} became absent"));
        }
    }

    fn appeared(&mut self, at: &str, returned: &Map<String, Value>, sent: impl Fn(&str) -> bool) {
        for (key, value) in returned.iter().filter(|(key, _)| !sent(key)) {
            let kind = if equals_absence(value) {
                Kind::Note
            } else {
                Kind::Changed
            };
            let text = format!("absent became {}", short(value));
            self.add(kind, &pointer::join(at, key), text);
        }
    }

    fn lists(&mut self, at: &str, sent: &[Value], returned: &[Value]) {
        let at_index = |index| pointer::join(at, index);
        if sent.len() == returned.len() {
            // This branch also compares lists of arbitrary JSON, in which null is an element.
            for (index, (sent, returned)) in sent.iter().zip(returned).enumerate() {
                self.values(&at_index(index), sent, returned);
            }
            return;
        }
        let readable = |(index, value): &(usize, &Value)| {
            !value.is_null() && !self.sent.refused.contains_key(&at_index(*index))
        };
        let kept = sent.iter().enumerate().filter(readable).count();
        if kept != returned.len() {
            let text = format!("{kept} elements became {}", returned.len());
            self.add(Kind::Lost, at, text);
            return;
        }
        let mut returned = returned.iter();
        for (index, value) in sent.iter().enumerate() {
            let at = at_index(index);
            if value.is_null() {
                let text = "null was left out of the list".to_owned();
                self.add(Kind::Note, &at, text);
            } else if let Some(reason) = self.sent.refused.get(&at) {
                let text = format!("{}: {reason}", short(value));
                let kind = if value.is_string() {
                    Kind::Filler
                } else {
                    Kind::Dropped
                };
                self.add(kind, &at, text);
            } else if let Some(returned) = returned.next() {
                self.values(&at, value, returned);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(sent: &Value, returned: &Value) -> Vec<String> {
        let findings = Sent::default().compare(sent, returned);
        findings.iter().map(ToString::to_string).collect()
    }

    fn failures(sent: &Value, returned: &Value) -> usize {
        let findings = Sent::default().compare(sent, returned);
        findings.iter().filter(|f| f.is_failure()).count()
    }

    #[test]
    fn equal_values_give_no_finding() {
        let value = json!({ "a": [1, null, { "b": "c" }], "d": {}, "e": "" });
        assert_eq!(lines(&value, &value), [""; 0]);
    }

    #[test]
    fn another_form_of_absence_is_a_note() {
        let sent = json!({
            "null": null, "list": [], "object": {}, "blank": " ",
            "nulls": [null, null], "map": { "a": null }, "other": null, "text": "",
        });
        let returned = json!({ "other": [], "text": null });
        assert_eq!(
            lines(&sent, &returned),
            [
                "note     /blank: \" \" became absent",
                "note     /list: [] became absent",
                "note     /map: {\"a\":null} became absent",
                "note     /null: null became absent",
                "note     /nulls: [null,null] became absent",
                "note     /object: {} became absent",
                "note     /other: null became []",
                "note     /text: \"\" became null",
            ]
        );
        assert_eq!(failures(&sent, &returned), 0);
    }

    #[test]
    fn another_spelling_of_a_scalar_is_a_note() {
        let pairs = [
            (json!("27"), json!(27)),
            (json!(" 27 "), json!(27)),
            (json!(27), json!("27")),
            (json!(5.0), json!(5)),
            (json!("1e3"), json!(1000)),
            (json!("2.50"), json!(2.5)),
            (json!("True"), json!(true)),
            (json!("0"), json!(false)),
            (json!(1), json!(true)),
            (json!(true), json!(1)),
            (json!(false), json!("false")),
        ];
        for (sent, returned) in pairs {
            assert_eq!(
                lines(&sent, &returned),
                [format!("note     (body): {sent} became {returned}")]
            );
            assert_eq!(failures(&sent, &returned), 0);
        }
    }

    #[test]
    fn another_value_is_a_change() {
        let pairs = [
            (json!("27"), json!(28)),
            (json!("K8s"), json!("K8S")),
            (json!("a"), json!("a ")),
            (
                json!(9_007_199_254_740_993_i64),
                json!(9_007_199_254_740_992.0),
            ),
            (json!(0.1), json!(0)),
            (json!("NaN"), json!(null)),
            (json!("yes"), json!(true)),
            (json!(2), json!(true)),
            (json!("1"), json!("true")),
            (json!(1), json!({})),
            (json!({ "a": 1 }), json!("a")),
            (json!([1]), json!({ "a": 1 })),
            (json!(null), json!(0)),
        ];
        for (sent, returned) in pairs {
            assert_eq!(
                lines(&sent, &returned),
                [format!("changed  (body): {sent} became {returned}")]
            );
            assert_eq!(failures(&sent, &returned), 1);
        }
    }

    #[test]
    fn a_missing_value_is_lost() {
        let sent = json!({ "a": { "b": 0, "c": false, "d": [[]], "e/f~g": "x" } });
        assert_eq!(
            lines(&sent, &json!({ "a": {} })),
            [
                "lost     /a/b: 0 became absent",
                "lost     /a/c: false became absent",
                "lost     /a/d: [[]] became absent",
                "lost     /a/e~1f~0g: \"x\" became absent",
            ]
        );
        assert_eq!(failures(&sent, &json!({ "a": {} })), 4);
    }

    #[test]
    fn an_added_value_is_a_change_unless_it_equals_absence() {
        assert_eq!(
            lines(&json!({}), &json!({ "a": 0, "b": [], "c": null })),
            [
                "changed  /a: absent became 0",
                "note     /b: absent became []",
                "note     /c: absent became null",
            ]
        );
    }

    #[test]
    fn a_field_that_the_type_lacks_is_unknown() {
        let sent = Sent {
            unknown: ["/a/0/b".to_owned()].into(),
            ..Sent::default()
        };
        let findings = sent.compare(&json!({ "a": [{ "b": 1, "c": 1 }] }), &json!({ "a": [{}] }));
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "unknown  /a/0/b: 1 is in no field of the type",
                "lost     /a/0/c: 1 became absent",
            ]
        );
        assert!(!findings[0].is_failure() && findings[1].is_failure());
    }

    #[test]
    fn left_out_elements_do_not_shift_the_others() {
        let sent = Sent {
            refused: [
                ("/0".to_owned(), "not an object".to_owned()),
                ("/4".to_owned(), "wrong".to_owned()),
            ]
            .into(),
            ..Sent::default()
        };
        let findings = sent.compare(
            &json!(["...", { "a": "1" }, null, { "b": 2 }, { "c": 3 }]),
            &json!([{ "a": 1 }, { "b": 2 }]),
        );
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "filler   /0: \"...\": not an object",
                "note     /1/a: \"1\" became 1",
                "note     /2: null was left out of the list",
                "dropped  /4: {\"c\":3}: wrong",
            ]
        );
        let failures: Vec<_> = findings.iter().map(Finding::is_failure).collect();
        assert_eq!(failures, [false, false, false, true]);
    }

    #[test]
    fn elements_that_are_missing_without_a_reason_are_lost() {
        assert_eq!(
            lines(&json!({ "a": [1, 2, null] }), &json!({ "a": [1] })),
            ["lost     /a: 2 elements became 1"]
        );
        assert_eq!(
            lines(&json!([1]), &json!([1, 2])),
            ["lost     (body): 1 elements became 2"]
        );
    }

    #[test]
    fn an_object_may_become_a_list_of_one() {
        assert_eq!(
            lines(&json!({ "a": { "b": "1" } }), &json!({ "a": [{ "b": 1 }] })),
            [
                "note     /a: an object became a list of one",
                "note     /a/b: \"1\" became 1",
            ]
        );
        assert_eq!(
            lines(&json!("x"), &json!(["x"])),
            ["note     (body): a value became a list of one"]
        );
        assert_eq!(failures(&json!("x"), &json!(["y"])), 1);
    }

    #[test]
    fn a_list_of_objects_may_become_one_object() {
        assert_eq!(
            lines(
                &json!([{ "a": "1" }, null, { "b": "2", "c": null }]),
                &json!({ "a": "1", "b": "2" })
            ),
            [
                "note     (body): a list of objects became one object",
                "note     /2/c: null became absent",
            ]
        );
        // The encoding lacks one of two values for the same key.
        assert_eq!(
            lines(&json!([{ "a": "1" }, { "a": "2" }]), &json!({ "a": "2" })),
            [
                "note     (body): a list of objects became one object",
                "changed  /0/a: \"1\" became \"2\"",
            ]
        );
        assert_eq!(
            lines(&json!([]), &json!({})),
            ["note     (body): a list of objects became one object"]
        );
    }

    #[test]
    fn long_values_are_cut() {
        let long = json!("ä".repeat(100));
        let line = &lines(&json!({ "a": long }), &json!({}))[0];
        assert_eq!(
            line,
            &format!("lost     /a: \"{}… became absent", "ä".repeat(58))
        );
    }

    #[test]
    fn the_summary_counts_by_kind() {
        let findings = Sent::default().compare(&json!({ "a": null, "b": [], "c": 1 }), &json!({}));
        let mut dropped = Skipped::default();
        assert_eq!(summary(&findings, &dropped), "FAILED: 2 notes, 1 lost");
        assert_eq!(summary(&findings[..2], &dropped), "ok: 2 notes");
        assert_eq!(summary(&[], &dropped), "ok");
        dropped.nested = 2;
        assert_eq!(
            summary(&[], &dropped),
            "ok; left out of lists: 0 rows, 2 nested elements"
        );
    }
}

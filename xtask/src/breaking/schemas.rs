//! Comparison of schemas: names, kinds, properties, values and limits.

use serde_json::Value;

use super::{
    change::{Break, compare_setting, display},
    json::{entries, strings},
    usage::{Usage, Ways},
};

/// Lower bounds, which must not increase: a higher bound would reject values that were valid.
const LOWER: [&str; 4] = ["minLength", "minimum", "minItems", "minProperties"];
/// Upper bounds, which must not decrease.
const UPPER: [&str; 4] = ["maxLength", "maximum", "maxItems", "maxProperties"];

/// Compares all named schemas.
pub fn compare_all(before: &Value, after: &Value, breaks: &mut Vec<Break>) {
    let usage = Usage::of(before);
    for (name, old) in entries(&before["components"]["schemas"]) {
        let place = format!("schema {name}");
        let new = &after["components"]["schemas"][name];
        if new.is_null() {
            breaks.push(Break {
                place,
                what: "is gone".into(),
            });
        } else {
            compare(&place, old, new, usage.ways(name), breaks);
        }
    }
}

/// Compares two schemas. The targets of references are compared under their own names.
pub fn compare(place: &str, old: &Value, new: &Value, ways: Ways, breaks: &mut Vec<Break>) {
    let (was, is) = (kind(old), kind(new));
    if was != is {
        breaks.push(Break {
            place: place.to_owned(),
            what: format!("was {was}, is {is}"),
        });
        return;
    }
    let mut say = |what: String| {
        breaks.push(Break {
            place: place.to_owned(),
            what,
        });
    };
    // Generators define a constant for every value, in requests and in responses, so no value may
    // be removed.
    for value in old["enum"].as_array().into_iter().flatten() {
        let values = new["enum"].as_array();
        if values.is_some_and(|values| !values.contains(value)) {
            say(format!("value {value} is gone"));
        }
    }
    let (old_required, new_required) = (strings(&old["required"]), strings(&new["required"]));
    if ways.sent {
        for name in new_required.iter().filter(|it| !old_required.contains(it)) {
            say(format!("{name} is required now"));
        }
        if old["nullable"] == true && new["nullable"] != true {
            say("no longer accepts null".into());
        }
        narrowed(place, old, new, breaks);
    }
    let mut say = |what: String| {
        breaks.push(Break {
            place: place.to_owned(),
            what,
        });
    };
    if ways.received {
        for name in old_required.iter().filter(|it| !new_required.contains(it)) {
            // Skips removed properties, which are reported below.
            if !new["properties"][name].is_null() {
                say(format!("{name} may be missing now"));
            }
        }
        if old["nullable"] != true && new["nullable"] == true {
            say("may be null now".into());
        }
    }
    for (name, property) in entries(&old["properties"]) {
        let place = format!("{place}, {name}");
        match &new["properties"][name] {
            Value::Null => breaks.push(Break {
                place,
                what: "is gone".into(),
            }),
            now => compare(&place, property, now, ways, breaks),
        }
    }
    for (key, of) in [("items", "element"), ("additionalProperties", "value")] {
        if old[key].is_object() && new[key].is_object() {
            compare(
                &format!("{place}, each {of}"),
                &old[key],
                &new[key],
                ways,
                breaks,
            );
        }
    }
}

/// Adds a break for each limit that rejects values which were valid before.
fn narrowed(place: &str, old: &Value, new: &Value, breaks: &mut Vec<Break>) {
    let limits = LOWER.map(|key| (key, false)).into_iter();
    for (key, upper) in limits.chain(UPPER.map(|key| (key, true))) {
        let Some(now) = new[key].as_f64() else {
            continue;
        };
        let narrower = match old[key].as_f64() {
            Some(then) => now != then && (now < then) == upper,
            None => true,
        };
        if narrower {
            breaks.push(Break {
                place: place.to_owned(),
                what: format!(
                    "{key} was {}, is {}",
                    display(&old[key]),
                    display(&new[key])
                ),
            });
        }
    }
    // These keywords must not change: the sets of values that two patterns match, for example,
    // cannot be compared.
    for key in [
        "pattern",
        "uniqueItems",
        "multipleOf",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ] {
        if !new[key].is_null() && new[key] != false {
            compare_setting(place, key, old, new, breaks);
        }
    }
}

/// Returns a short name for the kind of a schema. Only schemas of the same kind are compared in
/// detail.
fn kind(schema: &Value) -> String {
    let name = |schema: &Value| {
        schema["$ref"].as_str().map(|reference| {
            let name = reference.rsplit('/').next().unwrap_or(reference);
            name.to_owned()
        })
    };
    if let Some(name) = name(schema) {
        return name;
    }
    for (key, word) in [
        ("allOf", " with "),
        ("anyOf", " or "),
        ("oneOf", " or else "),
    ] {
        if let Some(parts) = schema[key].as_array() {
            let parts: Vec<_> = parts.iter().map(kind).collect();
            return parts.join(word);
        }
    }
    let mut kind = schema["type"].as_str().unwrap_or("anything").to_owned();
    if let Some(format) = schema["format"].as_str() {
        kind = format!("{kind} ({format})");
    }
    if !schema["enum"].is_null() {
        kind.push_str(" of a few values");
    }
    if schema["additionalProperties"].is_object() {
        kind.push_str(" of any names");
    }
    kind
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::after;

    fn at(rest: &str) -> String {
        format!("/components/schemas/{rest}")
    }

    #[test]
    fn names_of_schemas_stay() {
        assert_eq!(
            after(&at("ApiError"), json!(null)),
            ["schema ApiError: is gone"]
        );
        assert_eq!(
            after(
                &at("Job/properties/phase/allOf"),
                json!([{ "$ref": "#/components/schemas/Order" }])
            ),
            ["schema Job, phase: was Phase, is Order"]
        );
    }

    #[test]
    fn kinds_stay() {
        let nodes = at("JobRequest/properties/nodes");
        assert_eq!(
            after(&format!("{nodes}/type"), json!("string")),
            ["schema JobRequest, nodes: was integer (int32), is string (int32)"]
        );
        assert_eq!(
            after(&format!("{nodes}/format"), json!("int64")),
            ["schema JobRequest, nodes: was integer (int32), is integer (int64)"]
        );
        assert_eq!(
            after(
                &at("JobRequest/properties/labels/items/type"),
                json!("integer")
            ),
            ["schema JobRequest, labels, each element: was string, is integer"]
        );
        assert_eq!(
            after(
                &at("Job/properties/sizes/additionalProperties/type"),
                json!("number")
            ),
            ["schema Job, sizes, each value: was integer, is number"]
        );
        assert_eq!(
            after(
                &at("Phase"),
                json!({ "type": "string", "enum": ["Running", "Failed"] })
            ),
            ["schema Phase: was KnownPhase or string, is string of a few values"]
        );
    }

    #[test]
    fn properties_stay_in_both_directions() {
        assert_eq!(
            after(&at("JobRequest/properties/labels"), json!(null)),
            ["schema JobRequest, labels: is gone"]
        );
        assert_eq!(
            after(&at("Job/properties/id"), json!(null)),
            ["schema Job, id: is gone"]
        );
        assert_eq!(
            after(
                &at("JobRequest/properties/more"),
                json!({ "type": "string" })
            ),
            [""; 0]
        );
        assert_eq!(
            after(&at("Job/properties/more"), json!({ "type": "string" })),
            [""; 0]
        );
    }

    #[test]
    fn required_fields_may_grow_in_answers_and_shrink_in_requests() {
        assert_eq!(
            after(&at("JobRequest/required"), json!(["name", "nodes"])),
            ["schema JobRequest: nodes is required now"]
        );
        assert_eq!(after(&at("JobRequest/required"), json!(null)), [""; 0]);
        assert_eq!(
            after(&at("Job/required"), json!(null)),
            ["schema Job: id may be missing now"]
        );
        assert_eq!(after(&at("Job/required"), json!(["id", "phase"])), [""; 0]);
    }

    #[test]
    fn null_is_taken_on_and_not_sent_anew() {
        assert_eq!(
            after(&at("JobRequest/properties/nodes/nullable"), json!(null)),
            ["schema JobRequest, nodes: no longer accepts null"]
        );
        assert_eq!(
            after(&at("JobRequest/properties/name/nullable"), json!(true)),
            [""; 0]
        );
        assert_eq!(
            after(&at("Job/properties/id/nullable"), json!(true)),
            ["schema Job, id: may be null now"]
        );
    }

    #[test]
    fn values_stay() {
        assert_eq!(
            after(&at("Order/enum"), json!(["asc"])),
            ["schema Order: value \"desc\" is gone"]
        );
        assert_eq!(
            after(&at("KnownPhase/enum"), json!(["Failed"])),
            ["schema KnownPhase: value \"Running\" is gone"]
        );
        assert_eq!(
            after(&at("KnownPhase/enum"), json!(["Running", "Failed", "New"])),
            [""; 0]
        );
    }

    #[test]
    fn limits_of_requests_become_no_narrower() {
        let name = at("JobRequest/properties/name");
        for (key, narrower, wider) in [
            ("minLength", json!(2), json!(0)),
            ("maxLength", json!(63), json!(65)),
            ("pattern", json!("^b"), json!(null)),
            ("uniqueItems", json!(true), json!(false)),
        ] {
            let place = format!("{name}/{key}");
            let found = after(&place, narrower);
            assert_eq!(found.len(), 1, "{key}: {found:?}");
            assert!(
                found[0].starts_with(&format!("schema JobRequest, name: {key} was ")),
                "{found:?}"
            );
            if key != "uniqueItems" {
                assert_eq!(after(&place, wider), [""; 0], "{key}");
            }
        }
        let nodes = at("JobRequest/properties/nodes");
        assert_eq!(
            after(&format!("{nodes}/exclusiveMinimum"), json!(true)),
            ["schema JobRequest, nodes: exclusiveMinimum was not there, is true"]
        );
        assert_eq!(
            after(&format!("{nodes}/maximum"), json!(9)),
            ["schema JobRequest, nodes: maximum was not there, is 9"]
        );
        assert_eq!(after(&at("Job/properties/id/maxLength"), json!(9)), [""; 0]);
    }
}

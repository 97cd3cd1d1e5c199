//! Tests of each tolerance of the decoder.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use modelarts_api::{
    decode::{self, Skipped},
    object,
    types::CreateTrainingJobRequest,
};
use serde_json::{Map, Value, json};

object! {
    /// One field of each kind, in the form of generated structs.
    #[derive(Debug, Default, PartialEq)]
    struct Fields {
        integer: Option<i64>,
        number: Option<f64>,
        flag: Option<bool>,
        text: Option<String>,
        object: Option<Inner>,
        boxed: Option<Box<Inner>>,
        anything: Option<Value>,
        texts: Vec<String>,
        integers: Vec<i64>,
        rows: Vec<Inner>,
        nested: Vec<Vec<i64>>,
        map: BTreeMap<String, String>,
        free: Map<String, Value>,
    }
}

object! {
    #[derive(Debug, Default, PartialEq)]
    struct Inner {
        size: Option<i64>,
        sizes: Vec<i64>,
    }
}

fn inner(size: i64) -> Inner {
    Inner { size: Some(size), sizes: Vec::new() }
}

/// Decodes an object with one field.
fn read(field: &str, json: &str) -> Result<(Fields, Skipped), String> {
    let body = format!(r#"{{"{field}":{json}}}"#);
    decode::body(body.as_bytes()).map_err(|error| error.to_string())
}

/// Decodes an object with one field; the test fails if a list element is skipped.
fn whole(field: &str, json: &str) -> Fields {
    let (fields, skipped) = read(field, json).unwrap();
    assert_eq!(skipped, Skipped::default(), "{field}: {json}");
    fields
}

fn error(field: &str, json: &str) -> String {
    read(field, json).unwrap_err()
}

#[test]
fn an_integer() {
    for (json, value) in [
        ("5", Some(5)),
        ("\"5\"", Some(5)),
        ("\" 5 \"", Some(5)),
        ("5.0", Some(5)),
        ("\"5.0\"", Some(5)),
        ("1e3", Some(1000)),
        ("\"1e3\"", Some(1000)),
        ("-7", Some(-7)),
        ("9223372036854775807", Some(i64::MAX)),
        ("\"9223372036854775807\"", Some(i64::MAX)),
        // Above 2^53, where floats are not exact.
        ("9007199254740993", Some(9_007_199_254_740_993)),
        ("\"9007199254740993\"", Some(9_007_199_254_740_993)),
        ("true", Some(1)),
        ("\"\"", None),
        ("\" \"", None),
        ("null", None),
    ] {
        assert_eq!(whole("integer", json).integer, value, "{json}");
    }
    for json in ["18446744073709551615", "1e300", "5.5", "\"five\"", "\"NaN\"", "[]", "{}"] {
        assert!(error("integer", json).starts_with("integer: invalid"), "{json}");
    }
}

#[test]
fn a_number() {
    for (json, value) in [
        ("0.5", Some(0.5)),
        ("5", Some(5.0)),
        ("-5", Some(-5.0)),
        ("\"0.5\"", Some(0.5)),
        ("\" 5 \"", Some(5.0)),
        ("\"\"", None),
        ("null", None),
    ] {
        assert_eq!(whole("number", json).number, value, "{json}");
    }
    for json in ["\"much\"", "true", "[]", "\"NaN\"", "\"-inf\"", "\"1e999\""] {
        assert!(error("number", json).starts_with("number: invalid"), "{json}");
    }
}

#[test]
fn a_flag() {
    for (json, value) in [
        ("true", Some(true)),
        ("false", Some(false)),
        ("\"true\"", Some(true)),
        ("\"False\"", Some(false)),
        ("\"TRUE \"", Some(true)),
        ("1", Some(true)),
        ("0", Some(false)),
        ("\"1\"", Some(true)),
        ("\"0\"", Some(false)),
        ("\"\"", None),
        ("null", None),
    ] {
        assert_eq!(whole("flag", json).flag, value, "{json}");
    }
    for json in ["2", "-1", "1.0", "18446744073709551615", "\"yes\"", "{}"] {
        assert!(error("flag", json).starts_with("flag: invalid"), "{json}");
    }
}

#[test]
fn a_text() {
    for (json, value) in [
        ("\"a\"", Some("a")),
        ("\"\\u00e4\"", Some("ä")),
        // A blank string is kept as a string.
        ("\"\"", Some("")),
        ("\" \"", Some(" ")),
        ("5", Some("5")),
        ("-5", Some("-5")),
        ("18446744073709551615", Some("18446744073709551615")),
        ("0.5", Some("0.5")),
        ("5.0", Some("5.0")),
        ("true", Some("true")),
        ("null", None),
    ] {
        assert_eq!(whole("text", json).text.as_deref(), value, "{json}");
    }
    for json in ["[]", "{}"] {
        assert!(error("text", json).starts_with("text: invalid"), "{json}");
    }
}

#[test]
fn an_object() {
    for (json, value) in [
        (r#"{"size":"5"}"#, Some(inner(5))),
        ("{}", Some(Inner::default())),
        (r#"{"unknown":{"deep":[1]}}"#, Some(Inner::default())),
        ("null", None),
        ("[]", None),
        ("\"\"", None),
        ("\" \"", None),
        // A list with a single object.
        (r#"[{"size":5}]"#, Some(inner(5))),
        ("[null]", None),
    ] {
        assert_eq!(whole("object", json).object, value, "{json}");
        assert_eq!(whole("boxed", json).boxed.map(|b| *b), value, "{json}");
    }
    for json in ["\"a\"", "5", "true", "[{},{}]"] {
        assert!(error("object", json).starts_with("object: invalid"), "{json}");
    }
    // Objects are not decoded by position.
    assert!(error("object", "[1]").starts_with("object[0]: invalid type: integer"));
}

#[test]
fn anything() {
    for json in [
        "5",
        "true",
        "1.5",
        "-1",
        "18446744073709551615",
        "\"a\"",
        "\"\"",
        "\" \"",
        "[null]",
        r#"{"a":null}"#,
    ] {
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(whole("anything", json).anything, Some(value));
    }
    assert_eq!(whole("anything", "null").anything, None);
}

#[test]
fn a_list() {
    for (json, value) in [
        (r#"["a","b"]"#, vec!["a", "b"]),
        (r#"["a",5,true]"#, vec!["a", "5", "true"]),
        ("[]", vec![]),
        ("null", vec![]),
        ("\"\"", vec![]),
        ("\"a\"", vec!["a"]),
        // A blank string is kept as a string.
        ("\" \"", vec![" "]),
    ] {
        assert_eq!(whole("texts", json).texts, value, "{json}");
    }
    assert_eq!(whole("rows", r#"{"size":1}"#).rows, [inner(1)]);
    assert_eq!(whole("rows", r#"[{"size":1},{"size":"2"}]"#).rows, [inner(1), inner(2)]);
    assert_eq!(whole("nested", "[[1,\"2\"],[]]").nested, [vec![1, 2], vec![]]);
    assert!(error("integers", "true").starts_with("integers: invalid"));
}

#[test]
fn a_map() {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
    };
    for (json, value) in [
        (r#"{"a":"1","b":2}"#, map(&[("a", "1"), ("b", "2")])),
        (r#"{"a":null,"b":"2"}"#, map(&[("b", "2")])),
        (r#"[{"a":"1"},null,{"b":"2","c":"3"}]"#, map(&[("a", "1"), ("b", "2"), ("c", "3")])),
        (r#"[{"a":"1"},{"a":"2"}]"#, map(&[("a", "2")])),
        ("{}", map(&[])),
        ("[]", map(&[])),
        ("null", map(&[])),
        ("\"\"", map(&[])),
    ] {
        assert_eq!(whole("map", json).map, value, "{json}");
    }
    let free = whole("free", r#"{"a":{"b":[null]},"c":null}"#).free;
    assert_eq!(Value::Object(free), json!({ "a": { "b": [null] }, "c": null }));
    for json in ["\"a\"", "5", "[\"a\"]"] {
        assert!(error("map", json).starts_with("map"), "{json}");
    }
}

#[test]
fn cells_of_a_table_keep_their_places() {
    object! {
        #[derive(Default, PartialEq, Debug)]
        struct Table {
            data: Vec<Vec<Value>>,
        }
    }
    let table: Table = serde_json::from_str(r#"{"data":[["a",null,"",{"b":1}]]}"#).unwrap();
    assert_eq!(table.data, [vec![json!("a"), json!(null), json!(""), json!({"b": 1})]]);
}

#[test]
fn missing_and_additional_fields() {
    let (fields, skipped) = decode::body::<Fields>(br#"{"new":{"deep":[[]]}}"#).unwrap();
    assert_eq!((fields, skipped), (Fields::default(), Skipped::default()));
}

fn dropped(field: &str, json: &str) -> (Fields, usize, usize) {
    let (fields, skipped) = read(field, json).unwrap();
    (fields, skipped.rows, skipped.nested)
}

#[test]
fn null_elements_are_left_out_and_counted() {
    let (fields, rows, nested) = dropped("texts", r#"[null,"a",null]"#);
    assert_eq!((fields.texts, rows, nested), (vec!["a".to_owned()], 2, 0));
    let (fields, rows, nested) = dropped("nested", "[[1,null],null,[null]]");
    assert_eq!((fields.nested, rows, nested), (vec![vec![1], vec![]], 1, 2));
}

#[test]
fn one_invalid_element_in_a_hundred_is_skipped() {
    let elements: Vec<_> = (0..100)
        .map(|i| match i {
            41 => "\"......\"".to_owned(),
            _ => format!(r#"{{"size":{i}}}"#),
        })
        .collect();
    let json = format!("[{}]", elements.join(","));
    let (fields, skipped) = read("rows", &json).unwrap();
    let expected: Vec<_> = (0..100).filter(|i| *i != 41).map(inner).collect();
    assert_eq!(fields.rows, expected);
    assert_eq!((skipped.rows, skipped.nested), (1, 0));
    assert_eq!(skipped.first_error.as_deref(), Some("invalid type: string, expected an object"));
}

#[test]
fn only_the_innermost_element_is_skipped() {
    let (fields, rows, nested) = dropped("rows", r#"[{"size":1,"sizes":[1,"x",3]},{"size":2}]"#);
    let first = Inner { size: Some(1), sizes: vec![1, 3] };
    assert_eq!((fields.rows, rows, nested), (vec![first, inner(2)], 0, 1));
    // An invalid field that is not a list makes the element that contains it invalid.
    let (fields, rows, nested) = dropped("rows", r#"[{"size":"x","sizes":[1]},{"size":2}]"#);
    assert_eq!((fields.rows, rows, nested), (vec![inner(2)], 1, 0));
}

#[test]
fn a_list_of_one_is_a_list_also_for_the_count() {
    let (fields, rows, nested) = dropped("rows", r#"{"size":1,"sizes":[1,"x",null]}"#);
    assert_eq!(fields.rows[0].sizes, [1]);
    assert_eq!((rows, nested), (0, 2));
    let (fields, rows, nested) = dropped("rows", r#"{"size":"x"}"#);
    assert_eq!((fields.rows, rows, nested), (vec![], 1, 0));
}

#[test]
fn names_of_fields() {
    // An escape sequence in the field name does not change the name.
    assert_eq!(read("int\\u0065ger", "5"), read("integer", "5"));
    assert_eq!(whole("Integer", "5"), Fields::default());
    assert_eq!(whole("", "5"), Fields::default());
    // Of two equal keys, the last one takes effect, as in most JSON parsers.
    assert_eq!(whole("integer", "1,\"integer\":2").integer, Some(2));
    assert_eq!(whole("integer", "1,\"integer\":null").integer, None);
    assert_eq!(whole("texts", "[\"a\"],\"texts\":[]").texts, [""; 0]);
    for nothing in ["null", "[]", "\"\"", "[null]"] {
        let twice = format!("{{\"size\":1}},\"object\":{nothing}");
        assert_eq!(whole("object", &twice).object, None, "{nothing}");
    }
    let twice = "{\"size\":1},\"object\":{\"sizes\":[2]}";
    let last = Inner { size: None, sizes: vec![2] };
    assert_eq!(whole("object", twice).object, Some(last));
}

#[test]
fn invalid_utf_8_becomes_replacement_characters() {
    let body = b"{\"text\":\"a\xffb\",\"rows\":[{\"size\":1,\"unknown\":\"\xff\"},{\"size\":2}]}";
    let (fields, skipped) = decode::body::<Fields>(body).unwrap();
    assert_eq!(fields.text.as_deref(), Some("a\u{fffd}b"));
    assert_eq!(fields.rows, [inner(1), inner(2)]);
    assert_eq!(skipped, Skipped::default());
}

#[test]
fn absent_fields_are_not_written() {
    let text = |fields: &Fields| serde_json::to_string(fields).unwrap();
    assert_eq!(text(&Fields::default()), "{}");
    let body = r#"{"integer":0,"object":{},"boxed":{"size":1},"texts":["a"],"map":{"a":"b"}}"#;
    let (fields, _) = decode::body::<Fields>(body.as_bytes()).unwrap();
    assert_eq!(text(&fields), body);
    // Conversion to and from serde_json's `Value` preserves the fields.
    let value = serde_json::to_value(&fields).unwrap();
    let back: Fields = serde_json::from_value(value).unwrap();
    assert_eq!(back, fields);
    let nothing = serde_json::from_str::<Fields>("null").unwrap_err();
    assert_eq!(nothing.to_string(), "invalid type: null, expected an object at line 1 column 4");
}

#[test]
fn outside_of_lists_an_error_names_its_place() {
    object! {
        #[derive(Debug, Default)]
        struct Job {
            status: Option<Inner>,
        }
    }
    let error = decode::body::<Job>(br#"{"status":{"size":{}}}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "status.size: invalid type: map, expected an integer, also as text at line 1 column 20"
    );
}

#[test]
fn a_body_that_is_no_object_is_an_error_and_not_taken_by_position() {
    for (body, message) in [
        ("null", "the body has no value"),
        ("\"\"", "the body has no value"),
        ("[]", "the body has no value"),
        ("[5]", "[0]: invalid type: integer `5`, expected an object at line 1 column 2"),
        ("\"a\"", "invalid type: string \"a\", expected an object at line 1 column 3"),
        ("5", "invalid type: integer `5`, expected an object at line 1 column 1"),
    ] {
        let error = decode::body::<Fields>(body.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), message, "{body}");
    }
}

#[test]
fn a_body_is_one_value() {
    for body in [
        "",
        " ",
        "{",
        "{} x",
        "{}{}",
        r#"{"rows":["......"]} x"#,
        r#"{"rows":["......"]}{}"#,
        r#"{"rows":["......"]"#,
    ] {
        assert!(decode::body::<Fields>(body.as_bytes()).is_err(), "{body}");
    }
    assert!(decode::body::<Fields>(b" {} \n").is_ok());
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + "1" + &close.repeat(100_000);
    let lists = deep("[", "]");
    for field in ["anything", "free", "rows", "nested", "object", "texts"] {
        assert!(read(field, &lists).is_err(), "{field}");
    }
    let objects = deep("{\"a\":", "}");
    for field in ["anything", "free", "map", "nested", "texts"] {
        assert!(read(field, &objects).is_err(), "{field}");
        assert!(read(field, &format!("[{objects}]")).is_err(), "{field}");
    }
    // Unknown fields are skipped at any depth.
    assert_eq!(whole("object", &objects).object, Some(Inner::default()));
    assert_eq!(whole("unknown", &lists), Fields::default());
}

#[test]
fn a_partly_decoded_element_is_skipped_as_a_whole() {
    let rows = r#"[{"sizes":[1],"size":1},{"sizes":[2],"size":"x"},{"size":3}]"#;
    let (fields, skipped) = read("rows", rows).unwrap();
    let row = |size, sizes| Inner { size: Some(size), sizes };
    assert_eq!(fields.rows, [row(1, vec![1]), row(3, vec![])]);
    assert_eq!((skipped.rows, skipped.nested), (1, 0));
    // The only element of a list, sent without the list, is skipped in the same way.
    let (fields, skipped) = read("rows", r#"{"sizes":[2],"size":"x"}"#).unwrap();
    assert_eq!((fields.rows, skipped.rows), (vec![], 1));
}

#[test]
fn requests_are_read_strictly() {
    let request = |json: Value| serde_json::from_value::<CreateTrainingJobRequest>(json);
    let valid = json!({"kind": "job", "metadata": {"name": "a"}});
    assert_eq!(serde_json::to_value(request(valid.clone()).unwrap()).unwrap(), valid);
    for (json, error) in [
        (json!({"metadata": {"name": "a"}}), "missing field `kind`"),
        (
            json!({"kind": "job", "metadata": {"name": 7}}),
            "invalid type: integer `7`, expected a string",
        ),
        (
            json!({"kind": "job", "metadata": {"name": "a"}, "tasks": null}),
            "invalid type: null, expected a sequence",
        ),
    ] {
        assert_eq!(request(json).unwrap_err().to_string(), error);
    }
}

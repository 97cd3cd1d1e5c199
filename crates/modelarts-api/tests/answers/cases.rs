//! Spellings of values that the service may send, each with the expected result of decoding and
//! encoding.

use serde_json::{Value, json};

use crate::description::Kind;

/// One spelling of a value, with the expected results.
#[derive(Clone, Debug)]
pub struct Case {
    pub sent: Value,
    /// The value after decoding and encoding; `None` when the field is omitted.
    pub returned: Option<Value>,
    /// The number of list elements that are skipped and counted.
    pub skipped: usize,
}

fn case(sent: Value, returned: impl Into<Option<Value>>) -> Case {
    Case { sent, returned: returned.into(), skipped: 0 }
}

fn gone(sent: Value) -> Case {
    case(sent, None)
}

fn same(value: Value) -> Case {
    case(value.clone(), value)
}

/// Returns a value that is invalid as an element of this kind, so that a list skips it; `None` if
/// every value is valid.
pub fn invalid_element(kind: &Kind) -> Option<Value> {
    match kind {
        Kind::Integer | Kind::Number | Kind::Flag | Kind::Object(_) => Some(json!("......")),
        Kind::Text | Kind::Open(_) => Some(json!({ "text": 1 })),
        Kind::List(_) | Kind::Map { .. } => Some(json!(true)),
        Kind::Any => None,
    }
}

/// Returns all spellings of a value of this kind.
pub fn all(kind: &Kind) -> Vec<Case> {
    let mut cases = match kind {
        Kind::Integer => vec![
            same(json!(5)),
            same(json!(-1)),
            same(json!(9_007_199_254_740_993_i64)),
            case(json!("5"), json!(5)),
            case(json!(" 5 "), json!(5)),
            case(json!("9007199254740993"), json!(9_007_199_254_740_993_i64)),
            case(json!(5.0), json!(5)),
            case(json!("5.0"), json!(5)),
            gone(json!("")),
        ],
        Kind::Number => vec![
            same(json!(0.5)),
            same(json!(-1.0)),
            case(json!(5), json!(5.0)),
            case(json!("0.5"), json!(0.5)),
            case(json!("5"), json!(5.0)),
            gone(json!("")),
        ],
        Kind::Flag => vec![
            same(json!(true)),
            same(json!(false)),
            case(json!("true"), json!(true)),
            case(json!("False"), json!(false)),
            case(json!(1), json!(true)),
            case(json!(0), json!(false)),
            gone(json!("")),
        ],
        Kind::Text => vec![
            same(json!("text")),
            same(json!("")),
            same(json!("5")),
            case(json!(5), json!("5")),
            case(json!(0.5), json!("0.5")),
            case(json!(true), json!("true")),
        ],
        Kind::Open(values) => {
            let mut cases: Vec<_> = values.iter().map(|value| same(json!(value))).collect();
            cases.extend([
                same(json!("Not listed")),
                same(json!(values[0].to_lowercase())),
                same(json!("")),
                case(json!(7), json!("7")),
            ]);
            cases
        }
        Kind::Object(_) => vec![
            same(json!({})),
            case(json!({ "unknown_field": [1] }), json!({})),
            case(json!([{}]), json!({})),
            gone(json!([])),
            gone(json!([null])),
            gone(json!("")),
        ],
        Kind::List(inner) => list(inner),
        Kind::Map { inner, named } => map(inner, *named),
        Kind::Any => vec![
            same(json!(5)),
            same(json!("text")),
            same(json!([null, { "a": null }])),
            same(json!({ "a": [] })),
        ],
    };
    cases.push(gone(json!(null)));
    cases
}

/// Returns a value of this kind in its usual spelling.
fn plain(kind: &Kind) -> Value {
    all(kind).swap_remove(0).sent
}

fn list(inner: &Kind) -> Vec<Case> {
    let one = plain(inner);
    let kept = |list: Vec<Value>| (!list.is_empty()).then_some(Value::Array(list));
    let mut cases = vec![case(json!([one]), kept(element(inner, &one).0))];
    cases.push(gone(json!([])));
    cases.push(gone(json!("")));
    let null = element(inner, &Value::Null);
    let mut with_null = element(inner, &one).0;
    with_null.extend(null.0);
    cases.push(Case { sent: json!([one, null]), returned: kept(with_null), skipped: null.1 });
    // Lists of one element, for each spelling of the element.
    for case in all(inner) {
        let (list, skipped) = element(inner, &case.sent);
        cases.push(Case { sent: json!([case.sent]), returned: kept(list), skipped });
    }
    // The only element of a list, sent without the list.
    cases.push(match inner {
        Kind::Object(_) => case(json!({}), json!([{}])),
        Kind::Map { .. } => case(json!({ "a": one["key"] }), json!([{ "a": one["key"] }])),
        Kind::Any => case(json!({ "a": 1 }), json!([{ "a": 1 }])),
        Kind::List(inner) if **inner == Kind::Any => case(json!({ "a": 1 }), json!([[{ "a": 1 }]])),
        // A list whose only element is skipped decodes as an empty list.
        Kind::List(_) => Case { sent: json!({ "a": 1 }), returned: Some(json!([[]])), skipped: 1 },
        // An object in place of a list of scalars is skipped.
        _ => Case { sent: json!({ "a": 1 }), returned: None, skipped: 1 },
    });
    if let Some(beyond) = invalid_element(inner) {
        cases.push(Case {
            sent: json!([beyond, one]),
            returned: kept(element(inner, &one).0),
            skipped: 1,
        });
    }
    cases
}

/// Decodes the list `[sent]`: returns the remaining elements and the number of skipped elements.
fn element(inner: &Kind, sent: &Value) -> (Vec<Value>, usize) {
    let case = all(inner).into_iter().find(|case| case.sent == *sent);
    let (kept, skipped) = case.unwrap().in_list(inner);
    (kept.into_iter().collect(), skipped)
}

impl Case {
    /// Returns the result of decoding this case as an element of a list of `inner`: the element, if
    /// the list keeps it, and the number of skipped elements, including nested ones.
    pub fn in_list(self, inner: &Kind) -> (Option<Value>, usize) {
        let collection = self.sent.is_array() || self.sent.is_object();
        match (inner, self.returned) {
            // A table cell keeps its position even if it is null.
            (Kind::Any, _) => (Some(self.sent), 0),
            (_, Some(returned)) => (Some(returned), self.skipped),
            // An empty list is omitted as a field, but kept as an element.
            (Kind::List(_), None) if collection => (Some(json!([])), self.skipped),
            (Kind::Map { .. }, None) if collection => (Some(json!({})), self.skipped),
            (_, None) => (None, self.skipped + 1),
        }
    }
}

fn map(inner: &Kind, named: bool) -> Vec<Case> {
    let one = plain(inner);
    let empty = named.then(|| json!({}));
    let mut cases = vec![
        same(json!({ "key": one })),
        case(json!([{ "key": one }, null]), json!({ "key": one })),
        case(json!([]), empty.clone()),
        case(json!({}), empty.clone()),
        gone(json!("")),
    ];
    for case in all(inner) {
        let sent = json!({ "key": case.sent });
        let returned = match (inner, case.returned) {
            // Where any JSON is admitted, null is a value.
            (Kind::Any, _) => Some(sent.clone()),
            (_, Some(returned)) => Some(json!({ "key": returned })),
            (_, None) => empty.clone(),
        };
        cases.push(Case { sent, returned, skipped: case.skipped });
    }
    cases
}

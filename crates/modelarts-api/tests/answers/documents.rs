//! Generator of response bodies with arbitrary fields in arbitrary spellings, up to a fixed depth,
//! and of the expected results of decoding.

use std::{cell::RefCell, collections::HashMap};

use proptest::{
    collection::vec,
    option::weighted,
    prelude::{BoxedStrategy, Just, Strategy, any},
    sample::{self, Index},
};
use serde_json::{Map, Value, json};

use crate::{
    cases::{self, Case},
    description::{Description, Kind},
};

/// Maximum depth of generated documents. Only recursive schemas, such as the tree of code files,
/// can be deeper.
pub const DEPTH: usize = 8;

/// Strategies that generate documents. Strategies with the same arguments are shared.
#[derive(Default)]
pub struct Documents {
    objects: RefCell<HashMap<(String, usize), BoxedStrategy<Case>>>,
}

impl Documents {
    /// Generates a value of a kind, with at most `depth` nested objects.
    pub fn value(
        &self,
        description: &Description,
        kind: &Kind,
        depth: usize,
    ) -> BoxedStrategy<Case> {
        let simple = sample::select(cases::all(kind));
        match kind {
            _ if depth == 0 => simple.boxed(),
            Kind::Object(name) => {
                let object = self.object(description, name, depth);
                // Objects with fields are generated four times as often as the simple cases.
                proptest::prop_oneof![1 => simple, 4 => object].boxed()
            }
            Kind::List(inner) => {
                let elements = vec(self.value(description, inner, depth), 0..4);
                let inner = inner.clone();
                let list = elements.prop_map(move |elements| list(&inner, elements));
                proptest::prop_oneof![1 => simple, 3 => list].boxed()
            }
            _ => simple.boxed(),
        }
    }

    /// Generates an object with an arbitrary subset of its fields, and sometimes with an unknown
    /// field.
    pub fn object(
        &self,
        description: &Description,
        name: &str,
        depth: usize,
    ) -> BoxedStrategy<Case> {
        let key = (name.to_owned(), depth);
        if let Some(known) = self.objects.borrow().get(&key) {
            return known.clone();
        }
        let fields: Vec<_> = description
            .fields(name)
            .into_iter()
            .map(|(field, kind)| {
                let value = self.value(description, &kind, depth - 1);
                weighted(0.4, (Just(field.to_owned()), value))
            })
            .collect();
        let unknown = weighted(0.2, junk());
        let strategy = (fields, unknown)
            .prop_map(|(fields, unknown)| object(fields.into_iter().flatten(), unknown))
            .boxed();
        self.objects.borrow_mut().insert(key, strategy.clone());
        strategy
    }
}

fn object(fields: impl Iterator<Item = (String, Case)>, unknown: Option<Value>) -> Case {
    let (mut sent, mut returned, mut skipped) = (Map::new(), Map::new(), 0);
    for (field, case) in fields {
        sent.insert(field.clone(), case.sent);
        if let Some(value) = case.returned {
            returned.insert(field, value);
        }
        skipped += case.skipped;
    }
    if let Some(value) = unknown {
        sent.insert("unknown_field".to_owned(), value);
    }
    Case { sent: Value::Object(sent), returned: Some(Value::Object(returned)), skipped }
}

/// Returns the expected result of decoding a list with these elements.
pub fn list(inner: &Kind, elements: Vec<Case>) -> Case {
    let sent = elements.iter().map(|case| case.sent.clone()).collect();
    let (mut returned, mut skipped) = (Vec::new(), 0);
    for case in elements {
        let (kept, left_out) = case.in_list(inner);
        returned.extend(kept);
        skipped += left_out;
    }
    Case {
        sent: Value::Array(sent),
        returned: (!returned.is_empty()).then_some(Value::Array(returned)),
        skipped,
    }
}

/// Generates arbitrary JSON.
pub fn junk() -> BoxedStrategy<Value> {
    let leaf = proptest::prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        sample::select(vec!["", " ", "......", "NaN", "1e999", "-0", "true", "ä\u{0}"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        proptest::prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((sample::select(vec!["", "a", "name"]), inner), 0..3).prop_map(|entries| {
                let entries = entries.into_iter();
                Value::Object(entries.map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
    .boxed()
}

/// Generates arbitrary values and the positions in a body at which they replace the original
/// values.
pub fn junk_places() -> impl Strategy<Value = Vec<(Index, Value)>> {
    vec((any::<Index>(), junk()), 1..4)
}

/// Replaces the values of the body at these positions by arbitrary JSON.
pub fn replace_by_junk(mut body: Value, junk_places: Vec<(Index, Value)>) -> Value {
    for (index, junk) in junk_places {
        let mut places = Vec::new();
        collect(&body, "", &mut places);
        let place: &String = index.get(&places);
        *body.pointer_mut(place).unwrap() = junk;
    }
    body
}

fn collect(value: &Value, place: &str, places: &mut Vec<String>) {
    places.push(place.to_owned());
    match value {
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                collect(inner, &format!("{place}/{index}"), places);
            }
        }
        Value::Object(object) => {
            for (key, inner) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(inner, &format!("{place}/{key}"), places);
            }
        }
        _ => {}
    }
}

//! Tests that decode generated bodies as every response type.

use modelarts_api::decode::Skipped;
use proptest::{
    collection::vec,
    prelude::{Strategy, any},
    sample::Index,
    test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner},
};
use serde_json::{Value, json};

use crate::{
    cases,
    description::{Description, Kind},
    documents::{DEPTH, Documents, junk, junk_places, list, replace_by_junk},
    types,
};

/// Runs a test with a fixed seed, so that failures are reproducible on every machine.
fn run<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let outcome = TestRunner::new_with_rng(config, random).run(strategy, test);
    // The failure message contains the smallest body that fails.
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn left_out(skipped: &Skipped) -> usize {
    skipped.rows + skipped.nested
}

/// Returns the response body schemas that are objects, which excludes a single schema.
fn roots(description: &Description) -> Vec<&str> {
    let roots = description.roots.iter().map(String::as_str);
    let roots: Vec<_> =
        roots.filter(|name| matches!(description.named(name), Kind::Object(_))).collect();
    assert!(roots.len() > 30, "{}", roots.len());
    roots
}

#[test]
fn bodies_in_any_spelling_decode_to_the_expected_value() {
    let (description, documents) = (Description::read(), Documents::default());
    for root in roots(&description) {
        let bodies = documents.object(&description, root, DEPTH);
        let trip = types::find(root).unwrap();
        run(48, &bodies, |case| {
            let body = case.sent.to_string();
            let (returned, skipped) = trip(body.as_bytes()).expect(&body);
            assert_eq!(Some(&returned), case.returned.as_ref(), "{root} {body}");
            assert_eq!(left_out(&skipped), case.skipped, "{root} {body}");
            let again = trip(returned.to_string().as_bytes());
            assert_eq!(again, Ok((returned, Skipped::default())), "{root} {body}");
            Ok(())
        });
    }
}

#[test]
fn bodies_with_junk_are_refused_or_decode_to_a_stable_value() {
    let (description, documents) = (Description::read(), Documents::default());
    let (mut read, mut refused) = (0_usize, 0_usize);
    for root in roots(&description) {
        let bodies = (documents.object(&description, root, DEPTH), junk_places());
        let trip = types::find(root).unwrap();
        let (reads, refusals) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        run(48, &bodies, |(case, junk)| {
            let body = replace_by_junk(case.sent, junk).to_string();
            match trip(body.as_bytes()) {
                Ok((returned, _)) => {
                    let again = trip(returned.to_string().as_bytes());
                    assert_eq!(again, Ok((returned, Skipped::default())), "{root} {body}");
                    reads.set(reads.get() + 1);
                }
                Err(error) => {
                    assert!(!error.is_empty());
                    refusals.set(refusals.get() + 1);
                }
            }
            Ok(())
        });
        read += reads.get();
        refused += refusals.get();
    }
    // Both successful and failed decoding occur often.
    println!("{read} read, {refused} refused");
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn damaged_bodies_never_panic() {
    let (description, documents) = (Description::read(), Documents::default());
    for root in roots(&description) {
        let bodies = documents.object(&description, root, 3);
        let damage = vec((any::<Index>(), any::<u8>()), 0..4);
        let trip = types::find(root).unwrap();
        run(32, &(bodies, damage, any::<Index>()), |(case, damage, end)| {
            let mut body = case.sent.to_string().into_bytes();
            for (index, byte) in damage {
                *index.get_mut(&mut body) = byte;
            }
            body.truncate(end.index(body.len()) + 1);
            // Some damaged bodies are still valid, so both results are correct.
            let _ = trip(&body);
            Ok(())
        });
    }
}

#[test]
fn one_invalid_element_in_a_hundred_is_skipped_and_counted() {
    let (description, documents) = (Description::read(), Documents::default());
    let mut lists = 0;
    for schema in &description.in_answers {
        for (field, kind) in description.fields(schema) {
            let Kind::List(inner) = kind else { continue };
            let Some(beyond) = cases::invalid_element(&inner) else {
                continue;
            };
            lists += 1;
            // Every other element decodes without error, so only the invalid element is skipped.
            let element = documents.value(&description, &inner, 2);
            let whole = {
                let inner = inner.clone();
                element.prop_filter("costs an element", move |case| {
                    let (kept, skipped) = case.clone().in_list(&inner);
                    kept.is_some() && skipped == 0
                })
            };
            let trip = types::find(schema).unwrap();
            run(2, &(vec(whole, 99), any::<Index>()), |(elements, at)| {
                let expected = list(&inner, elements.clone()).returned;
                let mut sent: Vec<Value> = elements.into_iter().map(|case| case.sent).collect();
                sent.insert(at.index(100), beyond.clone());
                let body = json!({ field: sent }).to_string();
                let (returned, skipped) = trip(body.as_bytes()).expect(&body);
                assert_eq!(returned.get(field), expected.as_ref(), "{schema} {body}");
                assert_eq!((skipped.rows, skipped.nested), (1, 0), "{schema} {body}");
                assert!(skipped.first_error.is_some(), "{schema}.{field}");
                Ok(())
            });
        }
    }
    println!("{lists} lists");
    assert!(lists > 50, "{lists}");
}

#[test]
fn junk_is_of_every_type() {
    let seen = std::cell::RefCell::new(std::collections::BTreeSet::new());
    run(200, &junk(), |value| {
        seen.borrow_mut().insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "flag",
            Value::Number(_) => "number",
            Value::String(_) => "text",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        });
        Ok(())
    });
    assert_eq!(seen.borrow().len(), 6, "{seen:?}");
}

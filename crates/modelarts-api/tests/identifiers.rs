//! Comparison of the generated identifier validation, which is plain code, with the patterns of the
//! description. Both must accept the same strings.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used)]

use std::str::FromStr;

use modelarts_api::{DESCRIPTION, types};
use proptest::prelude::*;
use serde_json::Value;

/// Returns the pattern of an identifier in the description.
fn pattern(schema: &str) -> regress::Regex {
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    let pattern = &description["components"]["schemas"][schema]["pattern"];
    regress::Regex::new(pattern.as_str().unwrap()).unwrap()
}

/// Generates strings that are close to valid identifiers: characters of different classes, with
/// lengths near the limits.
fn texts() -> impl Strategy<Value = String> {
    let character = prop::sample::select(vec![
        'a',
        'Z',
        '5',
        '_',
        '~',
        '-',
        '.',
        '/',
        ' ',
        '\n',
        '\u{e9}',
        '\u{1f600}',
    ]);
    let right = prop::sample::select(vec!['b', 'Q', '0', '-']);
    let lengths = prop_oneof![0..4_usize, 62..66_usize, 126..130_usize, 254..258_usize];
    (
        lengths.prop_flat_map(move |length| prop::collection::vec(right.clone(), length)),
        prop::collection::vec((any::<prop::sample::Index>(), character), 0..3),
    )
        .prop_map(|(mut text, changes)| {
            for (at, character) in changes {
                if !text.is_empty() {
                    let at = at.index(text.len());
                    text[at] = character;
                }
            }
            text.into_iter().collect()
        })
}

fn agrees<T: FromStr>(schema: &str) {
    let pattern = pattern(schema);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    runner
        .run(&texts(), |text| {
            let matches = pattern.find(&text).is_some();
            prop_assert_eq!(T::from_str(&text).is_ok(), matches, "{:?}", text);
            Ok(())
        })
        .unwrap();
    assert!(T::from_str("a").is_ok() && T::from_str("a/b").is_err());
}

#[test]
fn identifiers_are_checked_as_the_description_says() {
    agrees::<types::AlgorithmId>("AlgorithmId");
    agrees::<types::ExperimentId>("ExperimentId");
    agrees::<types::HyperparameterName>("HyperparameterName");
    agrees::<types::ProjectId>("ProjectId");
    agrees::<types::SearchAlgorithmName>("SearchAlgorithmName");
    agrees::<types::SearchAlgorithmType>("SearchAlgorithmType");
    agrees::<types::TaskId>("TaskId");
    agrees::<types::TrainingJobId>("TrainingJobId");
    agrees::<types::TrialId>("TrialId");
}

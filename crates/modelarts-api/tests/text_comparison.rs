//! Comparisons of open enumerations and identifiers with text.

use modelarts_api::types::{Phase, TrainingJobId};

const ID: &str = "cf63aba9-63b1-4219-b717-708a2665100b";

#[test]
fn open_enumerations_equal_their_text_in_both_directions() {
    let phase = Phase::Running;
    assert_eq!(phase, "Running");
    assert_eq!("Running", phase);
    assert_eq!(&phase, "Running");
    assert_eq!(phase, "Running".to_owned());
    assert_eq!("Running".to_owned(), phase);
    assert_ne!(phase, "Completed");
    assert_ne!("", phase);
    assert!(Some(&phase).is_some_and(|phase| phase == "Running"));
}

#[test]
fn text_in_another_case_equals_an_enumeration_like_another_value_does() {
    for text in ["RUNNING", "running", "Running"] {
        assert_eq!(Phase::Running, Phase::Other(text.to_owned()));
        assert_eq!(Phase::Running, text);
        assert_eq!(text, Phase::Running);
    }
    let unknown = Phase::from("Paused");
    assert_eq!(unknown, "paused");
    assert_ne!(unknown, "Pause");
}

#[test]
fn identifiers_equal_only_their_exact_text() {
    let id = TrainingJobId::try_from(ID).unwrap();
    assert_eq!(id, ID);
    assert_eq!(ID, id);
    assert_eq!(id, ID.to_owned());
    assert_eq!(ID.to_owned(), id);
    assert_eq!(&id, ID);
    assert_ne!(id, ID.to_uppercase());
    assert_ne!(id, "");
}

//! Collection of the offences against a rule.

use std::collections::BTreeSet;

/// Offences against one rule, each with a JSON Pointer and the requirement that is not met.
#[derive(Default)]
pub struct Report {
    pub offences: Vec<(String, String)>,
}

impl Report {
    pub fn add(&mut self, place: String, message: impl Into<String>) {
        self.offences.push((place, message.into()));
    }

    /// Adds an offence unless the condition holds.
    pub fn must(&mut self, holds: bool, place: String, message: impl Into<String>) {
        if !holds {
            self.add(place, message);
        }
    }

    /// Adds an offence unless the text is a sentence. Redocly checks other texts.
    pub fn sentence(&mut self, place: String, text: &str) {
        let questions = ["What", "Whether", "Who", "Whose", "Where", "When", "How"];
        let first = text.split(|c: char| !c.is_alphabetic()).next();
        let is_question = first.is_some_and(|word| questions.contains(&word));
        self.must(
            !is_question && text.starts_with(char::is_uppercase) && text.ends_with('.'),
            place,
            "must be a sentence that begins with a capital letter and its subject",
        );
    }

    /// Adds an offence for each repeated name.
    pub fn unique<'a>(&mut self, names: impl Iterator<Item = (String, &'a str)>) {
        let mut seen = BTreeSet::new();
        for (place, name) in names {
            self.must(seen.insert(name), place, format!("must not occur twice: {name}"));
        }
    }
}

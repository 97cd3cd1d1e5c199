//! Rules on the description that neither types nor Redocly's rules can express.
//!
//! The comment of a rule describes the problem that the rule prevents.

mod codes;
mod events;
mod operations;
mod pagination;
mod schemas;
mod waiters;

use super::{document::Document, report::Report};

type Rule = fn(&Document, &mut Report);

/// Rules with their names, in the order in which their messages are printed.
pub const ALL: &[(&str, Rule)] = &[
    ("version", schemas::version),
    ("component-names", schemas::component_names),
    ("property-names", schemas::property_names),
    ("references", schemas::references),
    ("extensions", schemas::extensions),
    ("known-values", schemas::known_values),
    ("lists", schemas::lists),
    ("units", schemas::units),
    ("defaults", schemas::defaults),
    ("external-docs", operations::external_docs),
    ("effects", operations::effects),
    ("clouds", operations::clouds),
    ("sources", operations::sources),
    ("versions", operations::versions),
    ("error-table", codes::table),
    ("error-codes", codes::of_operations),
    ("known-error-codes", codes::known),
    ("pagination", pagination::check),
    ("events", events::check),
    ("waiters", waiters::check),
];

/// Returns a sentence for each offence, which names its rule.
pub fn offences(document: &Document) -> Vec<String> {
    let mut offences = Vec::new();
    for (name, rule) in ALL {
        let mut report = Report::default();
        rule(document, &mut report);
        let broken = report.offences.into_iter();
        offences.extend(broken.map(|(place, message)| format!("{place}: {message} ({name})")));
    }
    offences
}

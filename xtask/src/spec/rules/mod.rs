//! Rules on the description. Some rules exclude constructs for which a code generator fails or
//! silently generates wrong code. Other rules concern documentation and extensions.
//!
//! The comment of a rule describes the problem that the rule prevents.

mod bodies;
mod codes;
mod compositions;
mod described;
mod effects;
mod enums;
mod events;
mod form;
mod formats;
mod identifiers;
mod inline;
mod names;
mod nullable;
mod pagination;
mod parameters;
mod references;
mod responses;
mod rustdoc;
mod tags;
mod units;
mod version;
mod waiters;

#[cfg(test)]
mod sample;

use super::{document::Document, offence::Offence};

/// Rule on the description.
pub struct Rule {
    pub name: &'static str,
    pub check: fn(&Document) -> Vec<Offence>,
}

macro_rules! rules {
    ($($name:literal: $check:path,)*) => {
        /// All rules, in the order in which their messages are printed.
        pub const ALL: &[Rule] = &[$(Rule { name: $name, check: $check }),*];
    };
}

rules! {
    "version": version::check,
    "named-schemas": inline::named,
    "no-title": inline::no_title,
    "no-default": inline::no_default,
    "open-objects": inline::open_objects,
    "schema-names": names::schemas,
    "component-names": names::components,
    "property-names": names::properties,
    "operation-ids": identifiers::operations,
    "external-docs": references::operations,
    "tags": tags::display_names,
    "compositions": compositions::check,
    "closed-enums": enums::closed,
    "enum-values": enums::values,
    "nullable": nullable::check,
    "formats": formats::check,
    "parameters": parameters::check,
    "path-parameters": parameters::in_paths,
    "responses": responses::check,
    "body-examples": bodies::examples,
    "json-bodies": bodies::json,
    "described": described::check,
    "first-word": described::first_word,
    "short-info": described::info,
    "rustdoc": rustdoc::check,
    "units": units::check,
    "x-effect": effects::effect,
    "x-clouds": effects::clouds,
    "clouds-in-words": effects::clouds_in_words,
    "x-sources": effects::sources,
    "x-error-table": codes::table,
    "x-error-codes": codes::of_operations,
    "known-error-codes": codes::known,
    "x-pagination": pagination::check,
    "x-events": events::check,
    "x-waiters": waiters::check,
    "extensions": effects::known_extensions,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::document::Document, ALL, sample};

    #[test]
    fn every_rule_is_silent_on_the_sample() {
        let sample = sample::description();
        let document = Document::new(&sample);
        for rule in ALL {
            assert_eq!((rule.check)(&document), [], "{}", rule.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = ALL.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}

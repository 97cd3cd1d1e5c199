//! Comparison of the description with the types, which finds all differences, explained or not.

use std::collections::BTreeSet;

use crate::{
    difference::{Difference, Kind},
    shape::{Field, Shape, Types},
};

/// Returns the differences of all types, in the order of names and fields.
pub fn all(described: &Types, derived: &Types) -> Vec<Difference> {
    let mut differences = Vec::new();
    let names: BTreeSet<_> = described.keys().chain(derived.keys()).collect();
    for name in names {
        let place = Place { name, field: None };
        place.compare(described.get(name), derived.get(name), &mut differences);
    }
    differences
}

#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    field: Option<&'a str>,
}

impl Place<'_> {
    fn difference(&self, kind: Kind) -> Difference {
        Difference {
            name: self.name.to_owned(),
            field: self.field.map(str::to_owned),
            kind,
        }
    }

    fn compare(
        self,
        described: Option<&Field>,
        derived: Option<&Field>,
        differences: &mut Vec<Difference>,
    ) {
        match (described, derived) {
            (Some(described), Some(derived)) => self.both(described, derived, differences),
            (Some(_), None) => differences.push(self.difference(Kind::NotDerived)),
            (None, Some(_)) => differences.push(self.difference(Kind::NotDescribed)),
            (None, None) => {}
        }
    }

    fn both(self, described: &Field, derived: &Field, differences: &mut Vec<Difference>) {
        let mut found = |kind| differences.push(self.difference(kind));
        for (keywords, others, is_described) in [
            (&described.keywords, &derived.keywords, true),
            (&derived.keywords, &described.keywords, false),
        ] {
            for keyword in keywords.difference(others) {
                found(Kind::Keyword {
                    keyword: keyword.clone(),
                    described: is_described,
                });
            }
        }
        if described.nullable != derived.nullable {
            found(Kind::Null {
                described: described.nullable,
                shape: described.shape.clone(),
                required: derived.required,
            });
        }
        if described.required != derived.required {
            found(Kind::Required {
                described: described.required,
                shape: described.shape.clone(),
            });
        }
        match (&described.shape, &derived.shape) {
            (Shape::Object(ours), Shape::Object(theirs)) => {
                let fields: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
                for field in fields {
                    let place = Place {
                        name: self.name,
                        field: Some(field),
                    };
                    place.compare(ours.get(field), theirs.get(field), differences);
                }
            }
            (ours, theirs) if ours != theirs => found(Kind::Shape {
                described: ours.clone(),
                derived: theirs.clone(),
            }),
            _ => {}
        }
    }
}

//! Tables of fields as trees.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::Value;

use crate::validation::fields::{
    field_spec::{FieldSpec, Handling, Type},
    field_specs,
};

/// A node of the table as a tree: a step of a path is a name, or `[]` for the elements of a list.
#[derive(Default)]
pub(super) struct Node {
    pub(super) line: Option<&'static FieldSpec>,
    pub(super) below: BTreeMap<&'static str, Node>,
}

/// The tree of a creation's fields.
pub(super) static CREATION: LazyLock<Node> = LazyLock::new(|| Node::of(field_specs()));

impl Node {
    pub(super) fn of(lines: impl IntoIterator<Item = &'static FieldSpec>) -> Self {
        let mut root = Self::default();
        for line in lines {
            let mut node = &mut root;
            for step in line.0.split('.') {
                let name = step.strip_suffix("[]");
                node = node.below.entry(name.unwrap_or(step)).or_default();
                if name.is_some() {
                    node = node.below.entry("[]").or_default();
                }
            }
            node.line = Some(line);
        }
        root
    }

    pub(super) fn handling(&self) -> Handling {
        self.line.map_or(Handling::Acted, |line| line.3)
    }

    /// True if the value is a text without an effect here.
    pub(super) fn has_no_effect(&self, value: &Value) -> bool {
        let Some((_, Type::Open(values), ..)) = self.line else {
            return false;
        };
        !values.iter().any(|known| value == known)
    }

    /// True if members that are not in the table are part of the value.
    pub(super) fn is_free(&self) -> bool {
        self.line
            .is_some_and(|line| matches!(line.1, Type::Any | Type::Texts(..)))
    }
}

//! `Form`: the submitted values of the form.

use std::collections::{BTreeMap, BTreeSet};

use modelarts_ext::masking::MASK;

use crate::{
    access::visitor::Fields,
    create::finding::Control,
    parameters::{List, Mode, controls, lists},
};

/// Name of the field with the mode: preset image, custom image or stored algorithm.
pub(super) const MODE: &str = "mode";
/// Name of the field with the settings that the form has no control for, as JSON.
pub(super) const OTHER: &str = "other";
/// Name of the field with the id of the draft, which contains the dropped files.
pub(super) const DRAFT: &str = "draft";
/// Name of the field with the id of the job whose secrets are masked in the form.
pub(super) const FROM: &str = "from";
/// Name of the column with the members of an element that have no other column, as JSON.
pub(super) const EXTRA: &str = "extra";

const MAX_ROW: u32 = 9_999;
/// Name of the columns whose leading and trailing whitespace is significant.
const VERBATIM: &str = "value";

/// A row of a list: the values by the names of the columns.
pub(super) type Row = BTreeMap<&'static str, String>;

#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    values: BTreeMap<&'static str, String>,
    rows: BTreeMap<&'static str, BTreeMap<u32, Row>>,
}

impl Form {
    /// Reads the known fields. If a name occurs several times, the first field applies.
    pub(super) fn parse(fields: &Fields) -> Self {
        let names = controls().map(|control| control.name);
        let names: BTreeSet<&str> = names.chain([MODE, OTHER, DRAFT, FROM]).collect();
        let mut form = Self::default();
        for (name, value) in &fields.0 {
            let value = value.replace("\r\n", "\n");
            if let Some(name) = names.get(name.as_str()) {
                let value = value.trim().to_owned();
                form.values.entry(name).or_insert(value);
            } else if let Some((list, index, column)) = cell(name) {
                let value = match column {
                    VERBATIM => value,
                    _ => value.trim().to_owned(),
                };
                let rows = form.rows.entry(list).or_default();
                rows.entry(index).or_default().entry(column).or_insert(value);
            }
        }
        form
    }

    /// Returns the value of a control; empty if it is not set.
    pub(super) fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.values.insert(name, value.into());
    }

    pub(super) fn mode(&self) -> Mode {
        Mode::named(self.get(MODE))
    }

    /// Returns the rows of a list with their numbers.
    pub(super) fn rows(&self, list: &str) -> impl Iterator<Item = (u32, &Row)> {
        let rows = self.rows.get(list).into_iter().flatten();
        rows.map(|(index, row)| (*index, row))
    }

    pub(super) fn push(&mut self, list: &'static str, row: Row) {
        let rows = self.rows.entry(list).or_default();
        let next = rows.keys().next_back().map_or(0, |last| last + 1);
        rows.insert(next, row);
    }

    pub(super) fn clear_column(&mut self, list: &str, column: &str) {
        for row in self.rows.get_mut(list).into_iter().flatten() {
            row.1.remove(column);
        }
    }

    /// Replaces values that equal those of `masked` by the values of `source`. Both are forms of
    /// the same job. Rows are matched by their names.
    pub(super) fn unmask(&mut self, masked: &Self, source: &Self) {
        for (name, value) in &mut self.values {
            if masked.get(name) == value {
                source.get(name).clone_into(value);
            }
        }
        for (list, rows) in &mut self.rows {
            for (number, row) in rows {
                let known = masked.rows(list).zip(source.rows(list));
                let named =
                    known.filter(|((_, known), _)| text(known, "name") == text(row, "name"));
                // Several hyper-parameters may have the same name.
                let Some(((_, masked), (_, source))) =
                    named.max_by_key(|((known, _), _)| known == number)
                else {
                    continue;
                };
                for (column, value) in row {
                    if text(masked, column) == value {
                        text(source, column).clone_into(value);
                    }
                }
            }
        }
    }

    /// Returns the controls whose values contain a mask.
    pub(super) fn masks(&self) -> Vec<Control> {
        let marks = [format!("\"{MASK}"), format!("?{MASK}")];
        let is_mask = |value: &str| value == MASK || marks.iter().any(|mark| value.contains(mark));
        let values = self.values.iter().filter(|(_, value)| is_mask(value));
        let mut masked_controls: Vec<_> =
            values.map(|(name, _)| Control::new(*name, *name)).collect();
        for list in lists() {
            for (number, row) in self.rows(list.name) {
                let masked = row.iter().filter(|(_, value)| is_mask(value));
                let names = masked.map(|(column, _)| cell_name(list, number, column));
                masked_controls.extend(names.map(|name| Control::new(name, list.title)));
            }
        }
        masked_controls
    }

    /// Returns the number of the next new row.
    pub(super) fn next_row(&self, list: &str) -> u32 {
        let rows = self.rows.get(list);
        let last = rows.and_then(|rows| rows.keys().next_back());
        last.map_or(0, |last| last + 1)
    }
}

/// Returns the text in a column of a row; empty if it is not set.
pub(super) fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    row.get(column).map_or("", String::as_str)
}

/// Returns the name of a cell in the form, such as `inputs[0].name`.
pub(super) fn cell_name(list: &List, index: impl std::fmt::Display, column: &str) -> String {
    format!("{}[{index}].{column}", list.name)
}

/// Parses the name of a cell into list, row number and column.
fn cell(name: &str) -> Option<(&'static str, u32, &'static str)> {
    let (list, rest) = name.split_once('[')?;
    let (index, column) = rest.split_once("].")?;
    let list = lists().find(|known| known.name == list)?;
    let index = index.parse().ok().filter(|index| *index <= MAX_ROW)?;
    if column == EXTRA {
        return Some((list.name, index, EXTRA));
    }
    let column = list.columns.iter().find(|known| known.name == column)?;
    Some((list.name, index, column.name))
}

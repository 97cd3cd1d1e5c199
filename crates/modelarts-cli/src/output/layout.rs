//! `Layout`: column widths of a table.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

const GAP: usize = 2;
/// Minimum width to which a wider column is cut if other columns need space. Narrower columns, such
/// as ids and phases, are never cut.
const MIN_CELL: usize = 12;
const CUT: &str = "…";

/// How a column gives way if the terminal is too narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is cut, then left out.
    Cut,
    /// It is left out before it is cut, because its beginning alone says nothing.
    Whole,
    /// It is left out or cut only after all other columns.
    Key,
}

/// Column widths of a table. They grow with the rows that are added.
pub(super) struct Layout {
    /// Width of the terminal in columns; `None` if no text is cut.
    width: Option<usize>,
    fits: Vec<Fit>,
    /// Widths of the contents.
    natural: Vec<usize>,
    /// Widths on the terminal.
    fitted: Vec<usize>,
}

impl Layout {
    pub(super) fn new(width: Option<u16>, fits: Vec<Fit>) -> Self {
        Self { width: width.map(usize::from), fits, natural: Vec::new(), fitted: Vec::new() }
    }

    /// Adds the widths of these rows.
    pub(super) fn add(&mut self, rows: &[Vec<String>]) {
        for row in rows {
            self.natural.resize(row.len().max(self.natural.len()), 0);
            for (width, cell) in self.natural.iter_mut().zip(row) {
                *width = measure_text_width(cell).max(*width);
            }
        }
        self.fitted = match self.width {
            Some(width) => self.fit(width),
            None => self.natural.clone(),
        };
    }

    /// Returns the positions of the columns to leave out, from the right, so that the others fit.
    /// The first column and key columns stay. The last column, such as the reason in a job list,
    /// stays as long as there are five columns.
    pub(super) fn excess(&self) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.natural.len()).collect();
        let mut excess = Vec::new();
        let Some(width) = self.width else {
            return excess;
        };
        let is_key = |column: usize| self.fits.get(column) == Some(&Fit::Key);
        let minimum = |column: &usize| match self.fits.get(*column) {
            Some(Fit::Key | Fit::Whole) => self.natural[*column] + GAP,
            _ => self.natural[*column].min(MIN_CELL) + GAP,
        };
        while kept.iter().map(minimum).sum::<usize>() > width + GAP {
            let end = kept.len() - usize::from(kept.len() > 4);
            let Some(position) = (1..end).rev().find(|position| !is_key(kept[*position])) else {
                break;
            };
            excess.push(kept.remove(position));
        }
        excess.sort_unstable();
        excess
    }

    /// Returns widths that fit on the terminal. Cuts the widest columns first, and whole and key
    /// columns only if necessary. Columns keep [`MIN_CELL`], so the sum may still be too large.
    fn fit(&self, width: usize) -> Vec<usize> {
        let mut widths = self.natural.clone();
        let gaps = GAP * widths.len().saturating_sub(1);
        let mut surplus = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
        for may_cut_all in [false, true] {
            while surplus > 0 {
                let columns = widths.iter_mut().zip(&self.fits);
                let columns = columns.filter(|(_, fit)| may_cut_all || **fit == Fit::Cut);
                let widest = columns.map(|(width, _)| width).max();
                let Some(widest) = widest.filter(|widest| **widest > MIN_CELL) else {
                    break;
                };
                *widest -= 1;
                surplus -= 1;
            }
        }
        widths
    }

    pub(super) fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (position, (cell, width)) in row.iter().zip(&self.fitted).enumerate() {
            if position > 0 {
                line += "  ";
            }
            // The last column needs no padding.
            line += &match (position + 1 == row.len(), self.width) {
                (false, Some(_)) => pad_str(cell, *width, Alignment::Left, Some(CUT)),
                (false, None) => pad_str(cell, *width, Alignment::Left, None),
                (true, Some(_)) => truncate_str(cell, *width, CUT),
                (true, None) => cell.into(),
            };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let row = |row: &&[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        rows.iter().map(row).collect()
    }

    #[test]
    fn nothing_is_cut_without_a_terminal() {
        let mut layout = Layout::new(None, vec![Fit::Cut; 6]);
        let rows = rows(&[&["NAME", "WHY"], &["a", &"long ".repeat(50)]]);
        layout.add(&rows);
        assert!(layout.excess().is_empty());
        assert_eq!(layout.line(&rows[0]), "NAME  WHY");
        assert_eq!(layout.line(&rows[1]), format!("a     {}", "long ".repeat(50).trim_end()));
    }

    #[test]
    fn the_widest_column_is_cut_first() {
        let mut layout = Layout::new(Some(40), vec![Fit::Cut; 6]);
        let rows = rows(&[&["a-name-of-thirty-characters-yes", "0c11ad02", "Running", "1"]]);
        layout.add(&rows);
        assert!(layout.excess().is_empty());
        let line = layout.line(&rows[0]);
        assert_eq!(line, "a-name-of-thirty-…  0c11ad02  Running  1");
        assert_eq!(measure_text_width(&line), 40);
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_and_the_first_one_stays() {
        let cells = [
            "a-name-of-thirty-characters-yes",
            "0c11ad02",
            "Terminated",
            "16",
            "modelarts.vm.cpu.8u",
            "out of memory",
        ];
        let mut layout = Layout::new(Some(44), vec![Fit::Cut; 6]);
        layout.add(&rows(&[&cells]));
        assert_eq!(layout.excess(), [3, 4, 5]);
        let mut layout = Layout::new(Some(60), vec![Fit::Cut; 6]);
        layout.add(&rows(&[&cells]));
        assert_eq!(layout.excess(), [4]);
        let mut layout = Layout::new(Some(4), vec![Fit::Cut; 6]);
        layout.add(&rows(&[&cells]));
        assert_eq!(layout.excess(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn other_columns_give_way_to_keys() {
        let cells = ["modelarts.p3.large.public.free", "GPU", "8", "64 GB", "1 x GP-Vnt1"];
        let keys = || vec![Fit::Key, Fit::Cut, Fit::Cut, Fit::Cut, Fit::Cut];
        let mut layout = Layout::new(Some(44), keys());
        layout.add(&rows(&[&cells]));
        assert_eq!(layout.excess(), [3, 4]);
        let mut layout = Layout::new(Some(20), keys());
        layout.add(&rows(&[&cells]));
        assert_eq!(layout.excess(), [1, 2, 3, 4]);
        let mut layout = Layout::new(Some(20), vec![Fit::Key]);
        let only = rows(&[&cells[..1]]);
        layout.add(&only);
        assert_eq!(layout.line(&only[0]), "modelarts.p3.large.…");
    }

    #[test]
    fn a_whole_column_is_left_out_and_not_cut() {
        let cells = ["leaves-x7k2", "Failed", "modelarts.vm.cpu.8u", "5m", "ann", "out of memory"];
        let fits = vec![Fit::Cut, Fit::Cut, Fit::Whole, Fit::Cut, Fit::Cut, Fit::Cut];
        let excess = |width| {
            let mut layout = Layout::new(Some(width), fits.clone());
            layout.add(&rows(&[&cells]));
            layout.excess()
        };
        assert_eq!(excess(60), [4]);
        assert_eq!(excess(54), [3, 4]);
        assert_eq!(excess(38), [2, 3, 4, 5]);
    }

    #[test]
    fn styles_and_wide_characters_have_their_width_on_the_screen() {
        let mut layout = Layout::new(Some(80), vec![Fit::Cut; 6]);
        let rows = rows(&[&["\u{1b}[1mab\u{1b}[0m", "x"], &["训练", "y"]]);
        layout.add(&rows);
        assert_eq!(layout.line(&rows[0]), "\u{1b}[1mab\u{1b}[0m    x");
        assert_eq!(layout.line(&rows[1]), "训练  y");
    }
}

//! Lists of rows: tables, JSON, ids. Rows are printed page by page, as they arrive.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use futures::{Stream, StreamExt};
use modelarts_ext::Error;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    output::{
        Format, Output, Stdout,
        columns::{self, Column},
        document::no_id,
    },
    terminal::{Emphasis, Terminal},
};

/// A row of a list.
pub(crate) trait Row: Serialize + JsonSchema + Sized + 'static {
    /// Field of the JSON document that has the rows, such as `jobs`.
    const LIST: &'static str;
    /// Columns, in the order of the format `wide`.
    const COLUMNS: &'static [Column<Self>];

    /// Returns the id; `None` for rows without one.
    fn id(&self) -> Option<&str>;
}

impl Output {
    /// Prints the rows of these pages. Returns the number of rows. Rows before an error are printed.
    ///
    /// The widths of the columns are those of the first page, so that its rows are printed before
    /// the others arrive.
    pub(crate) async fn list<R: Row>(
        &self,
        pages: impl Stream<Item = Result<Vec<R>, Error>>,
    ) -> Result<usize, Failure> {
        let mut pages = std::pin::pin!(pages);
        let mut stdout = Stdout::lock();
        let mut printer = Printer::new(self)?;
        let mut count = 0;
        while let Some(page) = pages.next().await {
            let rows = match page {
                Ok(rows) => rows,
                Err(error) => {
                    stdout.flush()?;
                    return Err(error.into());
                }
            };
            count += rows.len();
            printer.print(rows, &mut stdout)?;
            stdout.flush()?;
        }
        printer.finish(&mut stdout)?;
        stdout.flush()?;
        Ok(count)
    }
}

/// State of printing a list.
struct Printer<'a, R: 'static> {
    output: &'a Output,
    columns: Vec<&'static Column<R>>,
    /// Widths of the columns; `None` before the first page.
    widths: Option<Vec<u16>>,
    /// Rows of a document that is printed as a whole.
    rows: Vec<Value>,
}

impl<'a, R: Row> Printer<'a, R> {
    fn new(output: &'a Output) -> Result<Self, Failure> {
        let wide = output.format == Format::Wide;
        Ok(Self {
            output,
            columns: columns::select(R::COLUMNS, output.columns.as_deref(), wide)?,
            widths: None,
            rows: Vec::new(),
        })
    }

    fn print(&mut self, rows: Vec<R>, stdout: &mut Stdout) -> Result<(), Failure> {
        match self.output.format {
            Format::Table | Format::Wide => self.print_table(&rows, stdout),
            Format::Id => {
                for row in &rows {
                    stdout.line(row.id().ok_or_else(no_id)?)?;
                }
                Ok(())
            }
            Format::Ndjson => {
                for row in &rows {
                    self.output.print_json(stdout, row)?;
                }
                Ok(())
            }
            Format::Json | Format::Yaml => {
                for row in &rows {
                    self.rows
                        .push(serde_json::to_value(row).map_err(Failure::local)?);
                }
                Ok(())
            }
        }
    }

    fn print_table(&mut self, rows: &[R], stdout: &mut Stdout) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        match self.output.terminal.width() {
            Some(width) => table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        if self.widths.is_none() {
            let headings = self.columns.iter();
            table.set_header(headings.map(|column| Terminal::styled(column.name, Emphasis::Bold)));
        }
        for row in rows {
            table.add_row(self.columns.iter().map(|column| (column.text)(row)));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            let last = index + 1 == self.columns.len();
            column.set_padding((0, if last { 0 } else { 2 }));
            // Later pages have the widths of the first. Longer texts are not cut in the last column.
            if let Some(width) = self.widths.as_ref().and_then(|widths| widths.get(index)) {
                column.set_constraint(match last {
                    true => ColumnConstraint::LowerBoundary(Width::Fixed(*width)),
                    false => ColumnConstraint::Absolute(Width::Fixed(*width)),
                });
            }
        }
        if self.widths.is_none() {
            self.widths = Some(table.column_max_content_widths());
        }
        for line in table.lines() {
            stdout.line(line.trim_end())?;
        }
        Ok(())
    }

    fn finish(self, stdout: &mut Stdout) -> Result<(), Failure> {
        match self.output.format {
            Format::Json | Format::Yaml => self
                .output
                .print_json(stdout, &json!({ R::LIST: self.rows })),
            _ => Ok(()),
        }
    }
}

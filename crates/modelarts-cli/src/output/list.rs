//! Lists of rows: tables, JSON, ids. Rows are printed page by page, as they arrive.

use futures::{Stream, StreamExt};
use modelarts_ext::Error;
use schemars::JsonSchema;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    failure::Failure,
    output::{
        Format, Output, Stdout,
        columns::{self, Column},
        document::no_id,
        layout::Layout,
        text::one_line,
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
    /// Prints the rows of these pages. Returns the number of rows. Rows before an error are
    /// printed, except in the formats `json` and `yaml`, which have no part of a document.
    ///
    /// The rows of a page are printed before the next one arrives, so the columns may become wider
    /// from page to page.
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
    layout: Option<Layout>,
    /// Rows of a document that is printed as a whole.
    rows: Vec<R>,
}

impl<'a, R: Row> Printer<'a, R> {
    fn new(output: &'a Output) -> Result<Self, Failure> {
        let wide = output.format == Format::Wide;
        Ok(Self {
            output,
            columns: columns::select(R::COLUMNS, output.columns.as_deref(), wide)?,
            layout: None,
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
                self.rows.extend(rows);
                Ok(())
            }
        }
    }

    fn print_table(&mut self, rows: &[R], stdout: &mut Stdout) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut lines = cells(&self.columns, rows);
        let layout = match &mut self.layout {
            Some(layout) => {
                layout.add(&lines);
                layout
            }
            None => {
                let width = self.output.terminal.width();
                let mut layout = Layout::new(width, keys(&self.columns));
                layout.add(&[headings(&self.columns)]);
                layout.add(&lines);
                let excess = layout.excess();
                // Columns that the user has chosen are cut, but not left out.
                if !excess.is_empty() && self.output.columns.is_none() {
                    let mut position = 0;
                    self.columns.retain(|_| {
                        position += 1;
                        !excess.contains(&(position - 1))
                    });
                    lines = cells(&self.columns, rows);
                    layout = Layout::new(width, keys(&self.columns));
                    layout.add(&[headings(&self.columns)]);
                    layout.add(&lines);
                }
                stdout.line(&layout.line(&headings(&self.columns)))?;
                self.layout.insert(layout)
            }
        };
        for line in lines {
            stdout.line(&layout.line(&line))?;
        }
        Ok(())
    }

    fn finish(self, stdout: &mut Stdout) -> Result<(), Failure> {
        match self.output.format {
            Format::Json | Format::Yaml => {
                self.output.print_json(stdout, &ListDocument(&self.rows))
            }
            _ => Ok(()),
        }
    }
}

fn keys<R>(columns: &[&Column<R>]) -> Vec<bool> {
    columns.iter().map(|column| column.key).collect()
}

fn headings<R>(columns: &[&Column<R>]) -> Vec<String> {
    let heading = |column: &&Column<R>| Terminal::styled(column.name, Emphasis::Bold);
    columns.iter().map(heading).collect()
}

fn cells<R>(columns: &[&Column<R>], rows: &[R]) -> Vec<Vec<String>> {
    let row = |row| {
        let cells = columns.iter().map(|column| one_line((column.text)(row)));
        cells.collect()
    };
    rows.iter().map(row).collect()
}

/// The document of a list: an object with the rows.
struct ListDocument<'a, R>(&'a [R]);

impl<R: Row> Serialize for ListDocument<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(R::LIST, self.0)?;
        map.end()
    }
}

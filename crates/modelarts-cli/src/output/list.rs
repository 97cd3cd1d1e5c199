//! Lists of rows: tables, JSON documents and ids. Pages are printed as they arrive.

use std::future;

use futures::{Stream, StreamExt};
use modelarts_ext::Error;
use schemars::JsonSchema;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::{
    failure::Failure,
    output::{
        Format, Output, csv,
        csv::cell,
        layout::{Fit, Layout},
        no_id,
        stdout::Stdout,
        text::one_line,
    },
    terminal::{self, Emphasis, Terminal},
};

/// A column of a table of rows of type `R`.
pub(crate) struct Column<R> {
    /// Heading, in upper case.
    pub(crate) name: &'static str,
    /// `true` if only the format `wide` has the column.
    pub(crate) wide: bool,
    pub(crate) fit: Fit,
    /// Function that returns the text of a row, which may contain styles.
    pub(crate) text: fn(&R) -> String,
}

impl<R> Column<R> {
    pub(crate) const fn new(name: &'static str, text: fn(&R) -> String) -> Self {
        Self { name, wide: false, fit: Fit::Cut, text }
    }

    /// Creates a column that is left out before it is cut.
    pub(crate) const fn whole(name: &'static str, text: fn(&R) -> String) -> Self {
        Self { name, wide: false, fit: Fit::Whole, text }
    }

    /// Creates a column that all table formats contain, for values such as ids that other commands
    /// accept as arguments. On a narrow terminal, other columns are cut first.
    pub(crate) const fn key(name: &'static str, text: fn(&R) -> String) -> Self {
        Self { name, wide: false, fit: Fit::Key, text }
    }

    pub(crate) const fn wide(name: &'static str, text: fn(&R) -> String) -> Self {
        Self { name, wide: true, fit: Fit::Cut, text }
    }
}

pub(crate) trait Row: Serialize + JsonSchema + Sized + 'static {
    /// Name of the field with the rows in the JSON document, such as `jobs`.
    const LIST: &'static str;
    /// Columns, in the order of the format `wide`.
    const COLUMNS: &'static [Column<Self>];

    /// Returns `true` if rows may have a value with this name as another column.
    fn may_have_value(_name: &str) -> bool {
        false
    }

    /// Returns the values that are further columns, with their names, which are those of all rows.
    /// The JSON has them as the field `values`.
    fn values(&self) -> &[(String, Value)] {
        &[]
    }

    /// Returns the id of the row; `None` if it has no id.
    fn id(&self) -> Option<&str> {
        None
    }
}

impl Output {
    /// Prints pages as they arrive, so columns may become wider. Returns the number of rows. Rows
    /// before an error are printed, except in the formats `json` and `yaml`.
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

    /// Returns the lines of a table with headings that fits this width; no line without rows.
    pub(crate) fn table<R: Row>(&self, rows: &[R], width: u16) -> Result<Vec<String>, Failure> {
        let mut printer = Printer::new(self)?;
        printer.width = Some(width);
        Ok(printer.table(rows))
    }

    /// Prints rows as [`list`](Self::list) does. If there are none, prints a note on stderr.
    pub(crate) async fn list_or_note<R: Row>(
        &self,
        pages: impl Stream<Item = Result<Vec<R>, Error>>,
        note: &str,
    ) -> Result<(), Failure> {
        if self.list(pages).await? == 0 && self.is_text() {
            terminal::note(note);
        }
        Ok(())
    }
}

/// Serializes the values of a row as an object.
pub(crate) fn as_object<S: Serializer>(
    values: &[(String, Value)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, value)))
}

/// Ends the stream before an error and stores the error, so that all formats print earlier rows.
pub(crate) fn until_error<T>(
    pages: impl Stream<Item = Result<T, Error>>,
    failure: &mut Option<Error>,
) -> impl Stream<Item = Result<T, Error>> {
    pages.scan(failure, |failure, page| {
        let page = page.map_err(|error| **failure = Some(error));
        future::ready(page.ok().map(Ok))
    })
}

/// A column of the table, or a value of the rows.
enum Selected<R: 'static> {
    Column(&'static Column<R>),
    Value(String),
}

impl<R: Row> Selected<R> {
    fn heading(&self) -> String {
        match self {
            Self::Column(column) => Terminal::styled(column.name, Emphasis::Bold),
            Self::Value(name) => {
                let name = name.rsplit_once(':').map_or(name.as_str(), |(_, name)| name);
                Terminal::styled(name.to_uppercase(), Emphasis::Bold)
            }
        }
    }

    fn text(&self, row: &R) -> String {
        match self {
            Self::Column(column) => (column.text)(row),
            Self::Value(name) => {
                let value = row.values().iter().find(|(known, _)| known == name);
                let text = value.map(|(_, value)| cell(value.clone()));
                text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
            }
        }
    }

    fn fit(&self) -> Fit {
        match self {
            Self::Column(column) => column.fit,
            Self::Value(_) => Fit::Cut,
        }
    }
}

struct Printer<'a, R: 'static> {
    output: &'a Output,
    /// Width of the terminal in columns; `None` if no text is cut.
    width: Option<u16>,
    columns: Vec<Selected<R>>,
    /// Widths of the columns; `None` before the first page.
    layout: Option<Layout>,
    /// Rows of the document that the formats `json` and `yaml` print as a whole.
    rows: Vec<R>,
    /// `true` if the header of the format `csv` is printed.
    has_header: bool,
}

impl<'a, R: Row> Printer<'a, R> {
    fn new(output: &'a Output) -> Result<Self, Failure> {
        let wide = output.format == Format::Wide;
        Ok(Self {
            output,
            width: output.terminal.width(),
            columns: select(output.columns.as_deref(), wide)?,
            layout: None,
            rows: Vec::new(),
            has_header: false,
        })
    }

    fn print(&mut self, rows: Vec<R>, stdout: &mut Stdout) -> Result<(), Failure> {
        match self.output.format {
            Format::Table | Format::Wide => {
                self.table(&rows).iter().try_for_each(|line| stdout.line(line))
            }
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
            Format::Csv => self.print_csv(&rows, stdout),
            Format::Json | Format::Yaml | Format::Job => {
                self.rows.extend(rows);
                Ok(())
            }
        }
    }

    /// Prints the fields of the rows, or the texts of the columns that the user has chosen.
    fn print_csv(&mut self, rows: &[R], stdout: &mut Stdout) -> Result<(), Failure> {
        let has_header = std::mem::replace(&mut self.has_header, true);
        if self.output.columns.is_none() {
            return stdout.write(&csv::records(rows, R::values, has_header)?);
        }
        let plain =
            |text: String| anstream::adapter::strip_str(&text).to_string().trim_end().to_owned();
        let header = headings(&self.columns).into_iter().map(|name| plain(name).to_lowercase());
        let header = (!has_header).then(|| header.collect());
        let rows = cells(&self.columns, rows);
        let rows = rows.into_iter().map(|row| row.into_iter().map(plain).collect());
        stdout.write(&csv::lines(header.into_iter().chain(rows))?)
    }

    /// Returns the lines of the rows, after the headings if these are the first rows.
    fn table(&mut self, rows: &[R]) -> Vec<String> {
        let mut table = Vec::new();
        let Some(first) = rows.first() else {
            return table;
        };
        let mut layout = match self.layout.take() {
            Some(layout) => layout,
            None => {
                if self.output.columns.is_none() {
                    // The last column is the longest.
                    let end = self.columns.len().saturating_sub(1);
                    let names = first.values().iter().map(|(name, _)| name.clone());
                    self.columns.splice(end..end, names.map(Selected::Value));
                }
                let mut excess = self.layout_of(rows).excess();
                // Columns that the user has chosen are cut, but not left out.
                if self.output.columns.is_some() {
                    excess.clear();
                }
                let mut positions = 0..self.columns.len();
                self.columns.retain(|_| !positions.next().is_some_and(|at| excess.contains(&at)));
                let layout = self.layout_of(rows);
                table.push(layout.line(&headings(&self.columns)));
                layout
            }
        };
        let lines = cells(&self.columns, rows);
        layout.add(&lines);
        table.extend(lines.iter().map(|line| layout.line(line)));
        self.layout = Some(layout);
        table
    }

    fn layout_of(&self, rows: &[R]) -> Layout {
        let fits = self.columns.iter().map(Selected::fit).collect();
        let mut layout = Layout::new(self.width, fits);
        layout.add(&[headings(&self.columns)]);
        layout.add(&cells(&self.columns, rows));
        layout
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

/// Returns the columns with these names; if `names` is `None`, the columns of the format.
fn select<R: Row>(names: Option<&[String]>, wide: bool) -> Result<Vec<Selected<R>>, Failure> {
    let all = R::COLUMNS;
    let Some(names) = names else {
        let columns = all.iter().filter(|column| wide || !column.wide);
        return Ok(columns.map(Selected::Column).collect());
    };
    let find = |name: &String| {
        let found = all.iter().find(|column| column.name.eq_ignore_ascii_case(name.trim()));
        let value = || R::may_have_value(name).then(|| Selected::Value(name.clone()));
        found.map(Selected::Column).or_else(value).ok_or_else(|| {
            let known: Vec<String> = all.iter().map(|column| column.name.to_lowercase()).collect();
            Failure::usage(format_args!(
                "--columns {name:?}: no column has this name; it must be one of: {}",
                known.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}

fn headings<R: Row>(columns: &[Selected<R>]) -> Vec<String> {
    columns.iter().map(Selected::heading).collect()
}

fn cells<R: Row>(columns: &[Selected<R>], rows: &[R]) -> Vec<Vec<String>> {
    let row = |row| {
        let cells = columns.iter().map(|column| one_line(column.text(row)));
        cells.collect()
    };
    rows.iter().map(row).collect()
}

/// JSON document of a list: an object with the rows.
struct ListDocument<'a, R>(&'a [R]);

impl<R: Row> Serialize for ListDocument<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(R::LIST, self.0)?;
        map.end()
    }
}

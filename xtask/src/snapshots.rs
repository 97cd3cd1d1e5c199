//! Snapshots of the generated code, by which reviewers see every change: one insta snapshot for
//! each generated item. The concatenation of all snapshots is the generated file.

use std::{collections::BTreeSet, fmt::Write as _, fs, io::ErrorKind, path::Path};

use anyhow::{Context, Result};
use insta::{Settings, Snapshot, assert_snapshot};
use similar::TextDiff;

use crate::codegen::{
    self, Piece,
    snapshots::{join, text},
};

/// Environment variables with which insta writes snapshots. insta offers no other way of
/// configuring this.
///
/// `force` is necessary because the other modes keep a snapshot that differs only in whitespace.
/// The concatenation of such snapshots would differ from the generated file.
pub const WRITING: [(&str, &str); 4] = [
    ("INSTA_UPDATE", "force"),
    ("INSTA_OUTPUT", "none"),
    ("INSTA_FORCE_PASS", "0"),
    ("INSTA_REQUIRE_FULL_MATCH", "0"),
];

/// Maximum number of printed lines of a diff. `git diff` shows the complete diff after the
/// snapshots were regenerated.
const DIFF_LINES: usize = 40;
/// Maximum number of printed diffs. After a change of the generator, every item may differ.
const DIFFS: usize = 10;

/// Differences between a directory of snapshots and the generated items.
#[derive(Debug, Default, PartialEq)]
pub struct Difference {
    /// Pieces without a snapshot.
    pub added: Vec<String>,
    /// Pieces with an outdated snapshot.
    pub changed: Vec<Changed>,
    /// Files that belong to no piece.
    pub orphans: Vec<String>,
    /// First difference between the concatenated snapshots and the generated file. It is searched
    /// only if the other fields are empty: insta ignores trailing whitespace.
    pub join: Option<String>,
}

/// Piece with an outdated snapshot.
#[derive(Debug, PartialEq)]
pub struct Changed {
    pub name: String,
    pub diff: String,
}

impl Difference {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Formats the differences for the user.
    pub fn report(&self) -> String {
        let mut report = String::new();
        for changed in self.changed.iter().take(DIFFS) {
            report += &changed.diff;
        }
        let mut list = |what: &str, names: &[&str]| {
            if !names.is_empty() {
                // Writing to a `String` cannot fail.
                let _ = writeln!(report, "{what} ({}): {}", names.len(), names.join(", "));
            }
        };
        let changed: Vec<_> = self.changed.iter().map(|c| c.name.as_str()).collect();
        list("changed", &changed);
        list("without a snapshot", &strs(&self.added));
        list("belong to nothing", &strs(&self.orphans));
        if let Some(join) = &self.join {
            report += join;
        }
        report
    }
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Compares the snapshots in `directory` with `pieces`.
pub fn compare(directory: &Path, pieces: &[Piece]) -> Result<Difference> {
    let mut difference = Difference {
        orphans: orphans(directory, pieces)?,
        ..Difference::default()
    };
    let mut joined = Vec::new();
    for piece in pieces {
        let path = directory.join(file_name(piece));
        let stored = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                difference.added.push(piece.name.clone());
                continue;
            }
            stored => stored.with_context(|| path.display().to_string())?,
        };
        // insta's parser decides on equality. A file that it cannot parse, such as one with
        // conflict markers, counts as different.
        let seen = Snapshot::from_file(&path).ok();
        let seen = seen.as_ref().and_then(Snapshot::as_text);
        let seen = seen.map(ToString::to_string).unwrap_or_default();
        if seen != piece.text.trim_end() {
            difference.changed.push(Changed {
                name: piece.name.clone(),
                diff: diff(&piece.name, text(&stored), &piece.text),
            });
        }
        joined.push((piece, text(&stored).to_owned()));
    }
    // The concatenation rejects some names of orphans, so it is compared only if no other
    // difference exists.
    if difference == Difference::default() {
        difference.join = join_difference(directory, pieces, &joined)?;
    }
    Ok(difference)
}

/// Writes `pieces` as snapshots into `directory`, and deletes all others there.
///
/// The process must run with the variables of [`WRITING`].
pub fn write(directory: &Path, pieces: &[Piece]) -> Result<()> {
    fs::create_dir_all(directory)?;
    for orphan in orphans(directory, pieces)? {
        fs::remove_file(directory.join(orphan))?;
    }
    let mut settings = Settings::new();
    settings.set_snapshot_path(directory);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for piece in pieces {
            assert_snapshot!(piece.name.as_str(), piece.text);
        }
    });
    Ok(())
}

fn file_name(piece: &Piece) -> String {
    format!("{}.snap", piece.name)
}

/// Returns the snapshots in `directory`, accepted or pending, that belong to no piece.
fn orphans(directory: &Path, pieces: &[Piece]) -> Result<Vec<String>> {
    let wanted: BTreeSet<_> = pieces.iter().map(file_name).collect();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| directory.display().to_string())?,
    };
    let mut orphans = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let snapshot = name.ends_with(".snap") || name.ends_with(".snap.new");
        if snapshot && !wanted.contains(&name) {
            orphans.push(name);
        }
    }
    orphans.sort();
    Ok(orphans)
}

/// Compares the generated file with the concatenation that the build script of modelarts-api
/// produces when the generator is disabled.
fn join_difference(
    directory: &Path,
    pieces: &[Piece],
    stored: &[(&Piece, String)],
) -> Result<Option<String>> {
    if join(directory)? == codegen::join(pieces) {
        return Ok(None);
    }
    let mut report = "the joined snapshots are not the generated file\n".to_owned();
    for (piece, stored) in stored.iter().filter(|(piece, text)| *text != piece.text) {
        let (mut new, mut old) = (
            piece.text.split_inclusive('\n'),
            stored.split_inclusive('\n'),
        );
        let (mut line, mut pair) = (1, (new.next(), old.next()));
        while pair.0 == pair.1 {
            (line, pair) = (line + 1, (new.next(), old.next()));
        }
        // `Debug` makes differences in whitespace visible.
        let _ = writeln!(
            report,
            "  {} line {line}: generated {:?}, stored {:?}",
            piece.name,
            pair.0.unwrap_or_default(),
            pair.1.unwrap_or_default(),
        );
    }
    Ok(Some(report))
}

fn diff(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let unified = diff
        .unified_diff()
        .context_radius(3)
        .header(
            &format!("{name} (snapshot)"),
            &format!("{name} (generated)"),
        )
        .to_string();
    let lines = unified.lines().count();
    let mut shown: String = unified.split_inclusive('\n').take(DIFF_LINES).collect();
    if lines > DIFF_LINES {
        let _ = writeln!(shown, "… and {} more lines", lines - DIFF_LINES);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(name: &str, text: &str) -> Piece {
        Piece {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    fn pieces() -> Vec<Piece> {
        vec![
            piece("client", "struct Client;\n"),
            piece("schema.Job", "struct Job {\n    name: String,\n}\n"),
        ]
    }

    /// Creates a directory with snapshots of `pieces` in the format of insta.
    fn stored(pieces: &[Piece]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for piece in pieces {
            let stored = format!("---\nsource: somewhere.rs\n---\n{}", piece.text);
            fs::write(directory.path().join(file_name(piece)), stored).unwrap();
        }
        directory
    }

    #[test]
    fn the_same_is_no_difference() {
        let directory = stored(&pieces());
        fs::write(directory.path().join("README.md"), "not a snapshot").unwrap();
        let difference = compare(directory.path(), &pieces()).unwrap();
        assert!(difference.is_none(), "{difference:?}");
        assert_eq!(difference.report(), "");
    }

    #[test]
    fn a_change_is_shown_as_a_diff() {
        let directory = stored(&pieces());
        let mut now = pieces();
        now[1].text = "struct Job {\n    name: Text,\n}\n".into();
        let difference = compare(directory.path(), &now).unwrap();
        assert_eq!(
            difference.report(),
            "--- schema.Job (snapshot)\n\
             +++ schema.Job (generated)\n\
             @@ -1,3 +1,3 @@\n \
              struct Job {\n\
             -    name: String,\n\
             +    name: Text,\n \
              }\n\
             changed (1): schema.Job\n"
        );
    }

    #[test]
    fn long_diffs_and_many_diffs_are_cut() {
        let many: Vec<_> = (0..20)
            .map(|i| piece(&format!("p{i:02}"), &"old\n".repeat(100)))
            .collect();
        let directory = stored(&many);
        let now: Vec<_> = many
            .iter()
            .map(|p| piece(&p.name, &"new\n".repeat(100)))
            .collect();
        let report = compare(directory.path(), &now).unwrap().report();
        assert_eq!(report.lines().count(), DIFFS * (DIFF_LINES + 1) + 1);
        assert!(report.contains("… and 163 more lines\n"), "{report}");
        assert!(report.contains("changed (20): p00, p01,"), "{report}");
    }

    #[test]
    fn a_piece_without_a_snapshot_is_a_difference() {
        let directory = stored(&pieces()[..1]);
        let difference = compare(directory.path(), &pieces()).unwrap();
        assert_eq!(difference.report(), "without a snapshot (1): schema.Job\n");
        let nowhere = directory.path().join("nowhere");
        let difference = compare(&nowhere, &pieces()).unwrap();
        assert_eq!(difference.added, ["client", "schema.Job"]);
    }

    #[test]
    fn a_snapshot_of_nothing_is_a_difference() {
        let directory = stored(&pieces());
        let difference = compare(directory.path(), &pieces()[..1]).unwrap();
        assert_eq!(
            difference.report(),
            "belong to nothing (1): schema.Job.snap\n"
        );
        fs::write(directory.path().join("client.snap.new"), "").unwrap();
        let difference = compare(directory.path(), &pieces()).unwrap();
        assert_eq!(difference.orphans, ["client.snap.new"]);
    }

    #[test]
    fn a_join_that_is_not_the_file_is_a_difference() {
        let directory = stored(&pieces());
        let path = directory.path().join("schema.Job.snap");
        let with_space = fs::read_to_string(&path).unwrap() + "\n";
        fs::write(&path, with_space).unwrap();
        let difference = compare(directory.path(), &pieces()).unwrap();
        assert!(
            difference.changed.is_empty(),
            "insta sees this: {difference:?}"
        );
        assert_eq!(
            difference.report(),
            "the joined snapshots are not the generated file\n  \
             schema.Job line 4: generated \"\", stored \"\\n\"\n"
        );
    }

    #[test]
    fn a_snapshot_that_insta_cannot_parse_differs() {
        let directory = stored(&pieces());
        fs::write(directory.path().join("client.snap"), "<<<<<<< HEAD\n").unwrap();
        let difference = compare(directory.path(), &pieces()).unwrap();
        assert_eq!(difference.changed[0].name, "client");
    }

    /// The documentation of each operation must state its method and path, its effect and its
    /// sources.
    #[test]
    fn every_page_of_an_operation_says_method_path_effect_and_source() {
        let description = crate::regenerate::read(&crate::workspace::description()).unwrap();
        let mut pages = 0;
        for (path, item) in description["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let Some(id) = operation["operationId"].as_str() else {
                    continue;
                };
                let file = crate::workspace::snapshots().join(format!("operation.{id}.snap"));
                let page = fs::read_to_string(file).unwrap();
                let method = method.to_uppercase();
                for said in [
                    format!("Sends a `{method}` request to `{path}`\n"),
                    format!("/**`{method} {path}`\n"),
                    "\n- Effect: ".to_owned(),
                    "\n- Sources: ".to_owned(),
                ] {
                    assert!(page.contains(&said), "{id} does not say {said}");
                }
                pages += 1;
            }
        }
        assert_eq!(pages, 55);
    }
}

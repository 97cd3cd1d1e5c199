//! `cargo xtask bench instructions`: counts the instructions of the SDK and of a client written by
//! hand, and compares the ratios of the counts with those in BENCH.md.
//!
//! Other programs on the machine hardly affect instruction counts, but they affect durations.
//! Counts therefore reveal smaller increases than durations.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use crate::{
    markdown,
    workspace::{self, cargo},
};

const BEGIN: &str = "<!-- cargo xtask bench instructions --write: begin -->\n";
const END: &str = "<!-- cargo xtask bench instructions --write: end -->\n";

/// Maximum factor by which a ratio may grow.
const GROWTH: f64 = 1.03;

/// Number of calls in the shorter of two runs; the difference of their counts is the cost of the
/// additional calls.
const FEW: u32 = 20;
const MANY: u32 = 120;

/// The options of `cargo xtask bench instructions`.
#[derive(Parser)]
#[command(name = "cargo xtask bench instructions")]
struct Cli {
    /// Write the result to BENCH.md instead of comparing it
    #[arg(long)]
    write: bool,
}

/// Runs the command with its own arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let program = "cargo xtask bench instructions".to_owned();
    let cli = Cli::parse_from([program].iter().chain(args));
    let file = workspace::root().join("BENCH.md");
    let document = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let counted = Record {
        compiler: compiler()?,
        rows: count(&build()?)?,
    };
    let table = counted.render();
    println!("{table}");
    if cli.write {
        let after = markdown::between(&document, BEGIN, END, &table)
            .with_context(|| format!("BENCH.md lacks the marks {BEGIN}and {END}"))?;
        fs::write(&file, after)?;
        return Ok(ExitCode::SUCCESS);
    }
    let verdict = judge(&Record::parse(&document)?, &counted)?;
    println!("{}", verdict.text);
    Ok(match verdict.failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Result of comparing counts with BENCH.md.
struct Verdict {
    text: String,
    failed: bool,
}

/// Compares the counts with those in BENCH.md. With a compiler other than the recorded one, growth
/// is only reported, because that compiler produces different machine code.
fn judge(recorded: &Record, counted: &Record) -> Result<Verdict> {
    let mut lines = grown(&recorded.rows, &counted.rows)?;
    let failed = !lines.is_empty() && recorded.compiler == counted.compiler;
    lines.push(if lines.is_empty() {
        "no ratio exceeds that in BENCH.md by more than 3 %".to_owned()
    } else if failed {
        "make the code cheaper, or justify the cost and run the command with --write".to_owned()
    } else {
        format!(
            "reported only: BENCH.md was written with {}; this is {}",
            recorded.compiler, counted.compiler
        )
    });
    Ok(Verdict {
        text: lines.join("\n"),
        failed,
    })
}

/// Returns the reason why the measurement is not possible, if valgrind is not installed.
pub fn unavailable() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").output();
    match output {
        Ok(output) if output.status.success() => None,
        _ => Some("valgrind is not installed".to_owned()),
    }
}

/// Counts of one kind of work, for the SDK and for the client written by hand.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    work: String,
    sdk: u64,
    by_hand: u64,
}

impl Row {
    fn ratio(&self) -> f64 {
        // The conversion is exact, because counts are far below 2^52.
        self.sdk as f64 / self.by_hand as f64
    }
}

/// Recorded counts, with the compiler and the target of the programs.
#[derive(Debug, PartialEq)]
struct Record {
    compiler: String,
    rows: Vec<Row>,
}

impl Record {
    fn render(&self) -> String {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                [
                    row.work.clone(),
                    row.sdk.to_string(),
                    row.by_hand.to_string(),
                    format!("{:.3}", row.ratio()),
                ]
            })
            .collect();
        let table = markdown::table(["instructions", "modelarts-ext", "by hand", "ratio"], &rows);
        format!("Compiler: {}\n\n{table}", self.compiler)
    }

    /// Parses the record in the text of BENCH.md.
    fn parse(document: &str) -> Result<Self> {
        let (_, text) = document
            .split_once(BEGIN)
            .with_context(|| format!("BENCH.md lacks the mark {BEGIN}"))?;
        let (text, _) = text
            .split_once(END)
            .with_context(|| format!("BENCH.md lacks the mark {END}"))?;
        let compiler = text
            .lines()
            .find_map(|line| line.strip_prefix("Compiler: "))
            .context("BENCH.md names no compiler; run `cargo xtask bench instructions --write`")?;
        let mut rows = Vec::new();
        for line in text.lines().filter(|line| line.starts_with('|')).skip(2) {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [work, sdk, by_hand, _] = *cells.as_slice() else {
                bail!("BENCH.md: the row {line:?} must have four cells");
            };
            rows.push(Row {
                work: work.to_owned(),
                sdk: sdk.parse().with_context(|| line.to_owned())?,
                by_hand: by_hand.parse().with_context(|| line.to_owned())?,
            });
        }
        Ok(Self {
            compiler: compiler.to_owned(),
            rows,
        })
    }
}

/// Returns a message for each ratio that has grown by more than [`GROWTH`].
fn grown(recorded: &[Row], counted: &[Row]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let is_counted = |row: &&Row| counted.iter().any(|counted| counted.work == row.work);
    if let Some(row) = recorded.iter().find(|row| !is_counted(row)) {
        bail!("the row {:?} of BENCH.md is not counted", row.work);
    }
    for row in counted {
        let before = recorded
            .iter()
            .find(|before| before.work == row.work)
            .with_context(|| format!("BENCH.md has no row {:?}", row.work))?;
        if row.ratio() > before.ratio() * GROWTH {
            lines.push(format!(
                "{}: the ratio is {:.3}; it must be at most {:.3}, 3 % above that in BENCH.md",
                row.work,
                row.ratio(),
                before.ratio() * GROWTH
            ));
        }
    }
    Ok(lines)
}

/// Returns the version of the compiler and its target.
fn compiler() -> Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .current_dir(workspace::root())
        .output()
        .context("rustc could not be started")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    match (text.lines().next(), host) {
        (Some(version), Some(host)) => Ok(format!("{version}, {host}")),
        _ => bail!("rustc -vV: {text}"),
    }
}

/// Builds the program, and returns its path.
fn build() -> Result<PathBuf> {
    const PACKAGE: &str = "modelarts-instructions";
    let output = cargo(["build", "--release", "--package", PACKAGE])
        .arg("--message-format=json-render-diagnostics")
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    ensure!(output.status.success(), "{PACKAGE} could not be built");
    String::from_utf8(output.stdout)?
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo names no program")
}

fn count(program: &Path) -> Result<Vec<Row>> {
    let work = |name: &str| -> Result<[u64; 2]> {
        Ok([
            instructions(program, name, "sdk")?,
            instructions(program, name, "by-hand")?,
        ])
    };
    let [get, token_get, jobs, events] = [
        work("get")?,
        work("token-get")?,
        work("jobs")?,
        work("events")?,
    ];
    let signature = [
        signing(get[0], token_get[0])?,
        signing(get[1], token_get[1])?,
    ];
    Ok([
        ("one get, signed", get),
        ("signing: a signed get less one with a token", signature),
        ("decoding 50 jobs", jobs),
        ("decoding 100 events", events),
    ]
    .map(|(work, [sdk, by_hand])| Row {
        work: work.to_owned(),
        sdk,
        by_hand,
    })
    .to_vec())
}

/// Returns the number of instructions for signing: that of a signed call minus that of a call with
/// a token.
fn signing(get: u64, token_get: u64) -> Result<u64> {
    let difference = get.checked_sub(token_get);
    difference.context("a signed get must cost more than one with a token")
}

/// Returns the number of instructions per call of a kind of work.
fn instructions(program: &Path, work: &str, side: &str) -> Result<u64> {
    let few = callgrind(program, work, side, FEW)?;
    let many = callgrind(program, work, side, MANY)?;
    let difference = many.checked_sub(few).context("fewer calls cost more")?;
    Ok(difference / u64::from(MANY - FEW))
}

fn callgrind(program: &Path, work: &str, side: &str, times: u32) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([work, side, &times.to_string()])
        .output()
        .context("valgrind could not be started; install it, for instance by apt")?;
    let report = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{work} {side}: {}: {report}",
        output.status
    );
    report
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, count)| count.trim().parse().ok())
        .with_context(|| format!("valgrind reports no count: {report}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(work: &str, sdk: u64, by_hand: u64) -> Row {
        Row {
            work: work.to_owned(),
            sdk,
            by_hand,
        }
    }

    #[test]
    fn a_written_record_is_read_again() {
        let record = Record {
            compiler: "rustc 1.91.0, x86_64".to_owned(),
            rows: vec![row("one get", 110, 100), row("decoding", 7, 9)],
        };
        let document = format!("# Measurements\n{BEGIN}\n{}\n{END}", record.render());
        assert_eq!(Record::parse(&document).unwrap(), record);
    }

    #[test]
    fn the_document_has_a_record() {
        let document = fs::read_to_string(workspace::root().join("BENCH.md")).unwrap();
        let rows = Record::parse(&document).unwrap().rows;
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn a_ratio_may_grow_by_three_percent() {
        let before = [row("one get", 1000, 1000)];
        assert!(
            grown(&before, &[row("one get", 1030, 1000)])
                .unwrap()
                .is_empty()
        );
        assert_eq!(
            grown(&before, &[row("one get", 1031, 1000)]).unwrap(),
            ["one get: the ratio is 1.031; it must be at most 1.030, 3 % above that in BENCH.md"]
        );
        let more = [row("one get", 1000, 1000), row("another", 1, 1)];
        let error = grown(&before, &more).unwrap_err();
        assert_eq!(error.to_string(), "BENCH.md has no row \"another\"");
        let error = grown(&more, &before).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the row \"another\" of BENCH.md is not counted"
        );
    }

    #[test]
    fn signing_costs_instructions() {
        assert_eq!(signing(30, 20).unwrap(), 10);
        assert_eq!(
            signing(20, 30).unwrap_err().to_string(),
            "a signed get must cost more than one with a token"
        );
    }

    #[test]
    fn growth_with_another_compiler_is_only_reported() {
        let record = |compiler: &str, sdk| Record {
            compiler: compiler.to_owned(),
            rows: vec![row("one get", sdk, 1000)],
        };
        let same = judge(&record("rustc 1", 1000), &record("rustc 1", 1100)).unwrap();
        assert!(same.failed, "{}", same.text);
        let other = judge(&record("rustc 1", 1000), &record("rustc 2", 1100)).unwrap();
        assert!(!other.failed);
        assert_eq!(
            other.text,
            "one get: the ratio is 1.100; it must be at most 1.030, 3 % above that in BENCH.md\n\
             reported only: BENCH.md was written with rustc 1; this is rustc 2"
        );
        let less = judge(&record("rustc 1", 1000), &record("rustc 1", 900)).unwrap();
        assert!(!less.failed);
        assert_eq!(
            less.text,
            "no ratio exceeds that in BENCH.md by more than 3 %"
        );
    }
}

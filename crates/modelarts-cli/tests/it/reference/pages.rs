//! The pages that are written from the document of the command line. `UPDATE=1` writes them.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use super::{
    document,
    markdown::{arguments, codes, commands, exit_codes, list, section, text},
};

/// Pages of the repository that `llms.txt` lists, by sections, with their contents.
const PAGES: [(&str, &[(&str, &str)]); 5] = [
    (
        "The tool",
        &[
            ("crates/modelarts-cli/FROM-ZERO.md", "from nothing to a job on the service"),
            ("crates/modelarts-cli/README.md", "the tool `modelarts`, and its pages"),
            ("crates/modelarts-cli/OUTPUT.md", "exit codes, and formats for other programs"),
            ("book/src/reference/commands.md", "all commands, flags and exit codes"),
            ("skills/modelarts/SKILL.md", "instructions for coding assistants"),
        ],
    ),
    (
        "Python",
        &[
            ("crates/modelarts-python/FROM-ZERO.md", "from nothing to a job on the service"),
            ("crates/modelarts-python/README.md", "the module `modelarts_tools`"),
        ],
    ),
    (
        "Programs",
        &[
            ("README.md", "the SDK for Rust, and the parts of the repository"),
            ("crates/modelarts-ext/CREATING.md", "from a local script to a running job"),
            ("crates/modelarts-ext/README.md", "credentials, retries, lists, events, waiting"),
            ("crates/modelarts-obs/README.md", "code, data and outputs in OBS"),
        ],
    ),
    (
        "The service",
        &[
            ("openapi/README.md", "operations, errors, events and clients in other languages"),
            ("openapi/modelarts.json", "the OpenAPI description of the service"),
            ("openapi/causes.yaml", "why jobs fail, with advice"),
        ],
    ),
    (
        "The emulator",
        &[
            ("crates/modelarts-emulator/README.md", "the service on this machine"),
            ("crates/modelarts-emulator/TESTING.md", "tests in any language against it"),
        ],
    ),
];

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file of the repository with its text, or writes it.
fn hold(path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        return;
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == text, "{path} is not current; set UPDATE=1 to write it");
}

/// Compares the part of a file between two comments with its text, or writes it.
fn hold_part(path: &str, name: &str, text: &str) {
    let page = fs::read_to_string(root().join(path)).unwrap();
    let [begin, end] = ["begin", "end"].map(|place| format!("<!-- {place} {name} -->\n"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{path} lacks {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{path} lacks {end}"));
    hold(path, &format!("{before}{begin}{text}{end}{after}"));
}

#[test]
fn the_reference_is_current() {
    let program = document(&[]);
    let schemas =
        "https://github.com/modelarts-rs/modelarts-rs/tree/HEAD/crates/modelarts-cli/schemas";
    let mut page = format!(
        "# Commands\n\n<!-- Written by the tests `reference` of modelarts-cli. -->\n\n{}. `modelarts help --json` prints this page as JSON, and `modelarts help \
         --json COMMAND` one command.\n\n```text\n{}\n```\n\n{}\n## Exit codes\n\n{}",
        text(&program["about"]),
        text(&program["usage"]),
        commands(&program, true),
        exit_codes(&program),
    );
    let (_, settings) = text(&program["notes"]).split_once("\n\n").unwrap();
    write!(page, "\n{}\n\n## Flags of all commands\n", settings.replace('\n', " ")).unwrap();
    page += &arguments(&program["global_flags"], "flag");
    page += &arguments(&program["flags"], "flag without a command");
    write!(
        page,
        "\n## JSON documents\n\nThe documents that commands print have [schemas]({schemas}), and \
         the field `schema_version`. A schema with `.line` is that of a line of the format \
         `ndjson`.\n\n{}\n",
        codes(&program["schemas"])
    )
    .unwrap();
    for command in list(&program["commands"]) {
        page += &section(command, "modelarts", 2);
    }
    hold("book/src/reference/commands.md", &page);
}

#[test]
fn the_tables_in_other_pages_are_current() {
    let program = document(&[]);
    let skill = "skills/modelarts/SKILL.md";
    hold_part(skill, "commands", &commands(&program, false));
    for path in ["crates/modelarts-cli/OUTPUT.md", skill] {
        hold_part(path, "exit codes", &exit_codes(&program));
    }
}

#[test]
fn the_index_for_language_models_is_current() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect(path);
    let readme = read("README.md");
    let (first, _) = readme.lines().nth(2).unwrap().split_once(". ").unwrap();
    let about = text(&document(&[])["about"]).to_owned();
    let mut page = format!(
        "# modelarts-rs\n\n> {}. The tool `modelarts`: {about}.\n\n`modelarts help --json` prints \
         all commands, flags and exit codes as one document.\n",
        first.replace("**", "")
    );
    for (heading, pages) in PAGES {
        write!(page, "\n## {heading}\n\n").unwrap();
        for (path, note) in pages {
            let file = read(path);
            let name = Path::new(path).file_name().unwrap().to_str().unwrap();
            let title = match name.ends_with(".md") {
                true => file.lines().find_map(|line| line.strip_prefix("# ")).expect(path),
                false => name,
            };
            writeln!(page, "- [{title}]({path}): {note}").unwrap();
        }
    }
    hold("llms.txt", &page);
}

//! Comparison of the programs in `blocks` with those of the pages.

use std::{env, fs, path::Path};

/// Pages of the repository with programs in Rust, and the names of their copies, in order. Programs
/// that use modelarts-obs are compiled by the doc tests of that crate.
const PAGES: [(&str, &[&str]); 3] = [
    ("crates/modelarts-ext/README.md", &["package"]),
    ("crates/modelarts-ext/CREATING.md", &["creating"]),
    ("crates/modelarts-emulator/README.md", &["emulator"]),
];

/// Page whose program is a doc test of this crate.
const DOC_TEST: &str = "crates/modelarts-ext/FROM-ZERO.md";

/// Returns the text of a page of the repository.
pub(super) fn page(path: &str) -> String {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(repository.join(path)).unwrap()
}

/// Returns the info string and the text of each code block of a page.
pub(super) fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let code = lines.by_ref().take_while(|line| *line != "```");
        let text = code.map(|line| format!("{line}\n")).collect();
        blocks.push((language.to_owned(), text));
    }
    blocks
}

/// Returns the first block of a page that has this info string and contains a text.
pub(super) fn block(page: &str, language: &str, text: &str) -> String {
    let mut found = blocks(page).into_iter();
    let found = found.find(|block| block.0 == language && block.1.contains(text));
    found.unwrap_or_else(|| panic!("no {language} block contains {text}")).1
}

/// Returns the pages at the root of the repository and in the folders of its parts, without
/// modelarts-obs.
fn all_pages() -> Vec<String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        "",
        "openapi/",
        "openapi/vectors/",
        "book/src/concepts/",
        "crates/modelarts-api/",
        "crates/modelarts-emulator/",
        "crates/modelarts-ext/",
    ];
    let mut pages = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(repository.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                pages.push(format!("{folder}{name}"));
            }
        }
    }
    pages
}

#[test]
fn every_program_of_a_page_is_compiled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/process/pages/blocks");
    for path in all_pages().into_iter().filter(|path| path != DOC_TEST) {
        let programs = blocks(&page(&path)).into_iter();
        let programs = programs.filter(|(language, _)| language.starts_with("rust"));
        let programs = programs.map(|(_, text)| text);
        let programs: Vec<_> = programs.filter(|text| !text.contains("modelarts_obs")).collect();
        let names = PAGES.iter().find(|(page, _)| *page == path);
        let names = names.map_or(&[][..], |(_, names)| *names);
        assert_eq!(programs.len(), names.len(), "programs of {path}");
        for (program, name) in programs.iter().zip(names) {
            let copy = folder.join(format!("{name}.rs"));
            if env::var_os("UPDATE").is_some() {
                fs::write(copy, program).unwrap();
                continue;
            }
            assert!(
                *program == fs::read_to_string(&copy).unwrap(),
                "{} differs from {path}: run `UPDATE=1 cargo test -p modelarts-ext --test process \
                 every_program`",
                copy.display()
            );
        }
    }
}

/// Tests that the versions of the dependencies that pages name are those of the packages.
#[test]
fn the_dependencies_of_the_pages_exist() {
    let version = env!("CARGO_PKG_VERSION");
    let (version, _) = version.rsplit_once('.').unwrap();
    for path in ["README.md", "crates/modelarts-ext/README.md", DOC_TEST] {
        let dependencies = block(&page(path), "toml", "[dependencies]");
        let line = format!("modelarts-ext = \"{version}\"\n");
        assert!(dependencies.contains(&line), "{path}: {dependencies}");
    }
}

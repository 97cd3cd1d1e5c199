//! `cargo xtask docs`: the reference as one HTML page that loads nothing.
//!
//! Redocly makes it from a copy of the description, in which extensions are text.

mod errors;
mod events;
mod markdown;
mod operations;
mod reference;

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::{tools::redocly, workspace};

/// What makes a browser load something. The page is one file, so nothing may.
const LOADS: &[&str] = &[
    "<script src",
    "<link ",
    "<img src=\"http",
    "<iframe",
    "@import url",
    "url(http",
    "url(\"http",
];

/// Builds the page at `target/docs/modelarts.html`.
pub fn run() -> Result<ExitCode> {
    let page = workspace::root().join("target/docs/modelarts.html");
    build(&page)?;
    println!("{}", page.display());
    Ok(ExitCode::SUCCESS)
}

/// Builds the page in a file.
pub fn build(page: &Path) -> Result<()> {
    let read = |file: &Path| fs::read_to_string(file).with_context(|| file.display().to_string());
    let description = workspace::description();
    let readme = description.with_file_name("README.md");
    let copy = workspace::root().join("target/docs/reference.yaml");
    fs::create_dir_all(copy.with_file_name(""))?;
    fs::write(
        &copy,
        reference::with_text(&read(&description)?, &read(&readme)?)?,
    )?;
    // With the script inside; without this it comes from a server.
    redocly::make(&["build-docs", "--inlineBundle"], &copy, page)?;
    let html = read(page)?;
    loads_nothing(&html).with_context(|| page.display().to_string())
}

fn loads_nothing(html: &str) -> Result<()> {
    ensure!(html.contains("<script"), "the page has no script inside");
    match LOADS.iter().find(|what| html.contains(**what)) {
        Some(what) => bail!("the page would load something: {what}"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_loads_something_is_refused() {
        loads_nothing("<script>run()</script>").unwrap();
        for (html, message) in [
            ("<p>", "the page has no script inside"),
            (
                "<script src=\"https://cdn.example/a.js\">",
                "the page would load something: <script src",
            ),
            (
                "<link rel=\"stylesheet\"><script>",
                "the page would load something: <link ",
            ),
        ] {
            assert_eq!(loads_nothing(html).unwrap_err().to_string(), message);
        }
    }
}

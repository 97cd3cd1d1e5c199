//! `cargo xtask docs`: builds the API reference as one HTML page, which loads no other files.
//!
//! Redocly builds the page from a copy of the description. In the copy, the extensions are
//! converted to text.

mod errors;
mod events;
mod fields;
mod operations;
mod reference;

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::{tools::redocly, workspace};

/// Content security policy of the page. It prevents a browser from loading any resource, such as
/// the logo whose address Redoc's script contains. It permits the worker that the script creates
/// for the search.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; \
    img-src data:; font-src data:\">";

/// HTML fragments that make a browser load a resource. The page is self-contained and must not
/// contain any of them.
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

/// Builds the page and writes it to a file.
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
    // The option embeds the script, which the page would otherwise load from a server.
    redocly::make(&["build-docs", "--inlineBundle"], &copy, page)?;
    let html = with_policy(&read(page)?)?;
    fs::write(page, &html)?;
    loads_nothing(&html).with_context(|| page.display().to_string())
}

/// Returns the page with the policy as the first element of its head.
fn with_policy(html: &str) -> Result<String> {
    let (before, after) = html.split_once("<head>").context("the page has no head")?;
    Ok(format!("{before}<head>\n    {POLICY}{after}"))
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
    fn the_policy_comes_first() {
        let html = with_policy("<html><head><script>run()</script></head></html>").unwrap();
        let (_, after) = html.split_once("<head>\n    ").unwrap();
        assert!(after.starts_with("<meta http-equiv=\"Content-Security-Policy\""));
        assert!(after.ends_with("><script>run()</script></head></html>"));
        assert_eq!(
            with_policy("<p>").unwrap_err().to_string(),
            "the page has no head"
        );
    }

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

//! `cargo xtask docs`: the reference as one HTML page that loads nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{ci::redocly, node, workspace};

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
    // With the script inside; without this it comes from a server.
    redocly(&["build-docs", "--inlineBundle"], page)?;
    let html = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    loads_nothing(&html).with_context(|| page.display().to_string())
}

/// Runs a command of Redocly that makes one file of the description.
pub fn redocly(command: &[&str], file: &Path) -> Result<()> {
    if let Some(why) = redocly::unavailable() {
        bail!("Redocly cannot run: {why:?}");
    }
    node::install(
        &workspace::lint(),
        redocly::PACKAGE,
        node::Optional::LeftOut,
    )?;
    let directory = file.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(directory)?;
    let output = redocly::command()
        .args(command)
        .arg("../modelarts.yaml")
        .arg("-o")
        .arg(file)
        .output()
        .context("node could not be started")?;
    ensure!(
        output.status.success(),
        "redocly ended with {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
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

//! Builds the API reference of a release as one HTML page, which loads no other files.
//!
//! Redocly builds the page from a copy of the description. In the copy, the extensions are
//! converted to text.

pub mod reference;

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

use crate::{json, redocly, workspace};

/// Content security policy of the page. It prevents a browser from loading any resource, such as
/// the logo whose address Redoc's script contains. It permits the worker that the script creates
/// for the search.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; \
    img-src data:; font-src data:\">";

/// Builds the page and writes it to a file.
pub fn build(page: &Path) -> Result<()> {
    let read = |file: &Path| fs::read_to_string(file).with_context(|| file.display().to_string());
    let description = workspace::description();
    let signing = description.with_file_name("SIGNING.md");
    let copy = workspace::root().join("target/docs/reference.yaml");
    fs::create_dir_all(copy.with_file_name(""))?;
    let complete = json::with_statuses(json::bundle(&description)?)?;
    fs::write(&copy, reference::with_text(complete, &read(&signing)?)?)?;
    // The option embeds the script, which the page would otherwise load from a server.
    redocly::make(&["build-docs", "--inlineBundle"], &copy, page)?;
    let html = read(page)?;
    ensure!(!html.contains("<script src"), "the page must contain its script");
    fs::write(page, with_policy(&html)?)?;
    Ok(())
}

/// Returns the page with the policy as the first element of its head.
fn with_policy(html: &str) -> Result<String> {
    let (before, after) = html.split_once("<head>").context("the page has no head")?;
    Ok(format!("{before}<head>\n    {POLICY}{after}"))
}

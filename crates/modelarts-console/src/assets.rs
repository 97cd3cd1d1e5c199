//! Scripts, style sheet and libraries of the page, which are embedded in the program.

use std::sync::LazyLock;

use axum::{
    Router,
    extract::Path,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use modelarts_ext::api::hex;
use ring::digest;

use crate::{problem::Problem, site::State};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

struct Asset {
    name: &'static str,
    kind: &'static str,
    contents: &'static str,
}

macro_rules! assets {
    ($($name:literal $kind:ident),+ $(,)?) => {
        &[$(Asset {
            name: $name,
            kind: $kind,
            contents: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/", $name)),
        }),+]
    };
}

/// All files. Scripts import each other by name, so all files have the same base path.
const ASSETS: &[Asset] = assets! {
    "style.css" STYLE,
    "emulator.js" SCRIPT,
    "page.js" SCRIPT,
    "browse.js" SCRIPT,
    "chart.js" SCRIPT,
    "create.js" SCRIPT,
    "drop.js" SCRIPT,
    "patch.js" SCRIPT,
    "events.js" SCRIPT,
    "job.js" SCRIPT,
    "jobs.js" SCRIPT,
    "lines.js" SCRIPT,
    "log.js" SCRIPT,
    "turns.js" SCRIPT,
    "times.js" SCRIPT,
    "vendor/uplot/LICENSE" TEXT,
    "vendor/uplot/uPlot.iife.min.js" SCRIPT,
    "vendor/uplot/uPlot.min.css" STYLE,
};

/// Hash of the names and contents of all files, which is part of their URLs. A browser may
/// therefore cache a file indefinitely, and never combines files of two versions.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut context = digest::Context::new(&digest::SHA256);
    for asset in ASSETS {
        context.update(asset.name.as_bytes());
        context.update(asset.contents.as_bytes());
    }
    let digest = context.finish();
    hex::encode(&digest.as_ref()[..8])
});

/// Returns the base path of the URLs of the files, without a slash at the end.
pub(crate) fn base() -> String {
    format!("/assets/{}", *VERSION)
}

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/assets/{version}/{*name}", get(read))
}

async fn read(Path((version, name)): Path<(String, String)>) -> Result<Response, Problem> {
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    let asset = asset.filter(|_| version == *VERSION);
    let asset = asset.ok_or_else(|| Problem::not_found("the page has no such file; reload it"))?;
    let headers =
        [(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.contents).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns the SHA-256 checksum in hexadecimal digits.
    fn sha256(contents: &[u8]) -> String {
        hex::encode(digest::digest(&digest::SHA256, contents).as_ref())
    }

    #[test]
    fn libraries_have_the_checksums_of_their_table_and_their_licence() {
        let table = include_str!("../assets/vendor/README.md");
        let rows = table.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, name, _, sum, _] = cells.as_slice() else {
                return None;
            };
            (sum.len() == 64).then(|| (format!("vendor/{name}"), (*sum).to_owned()))
        });
        let listed: BTreeMap<String, String> = rows.collect();
        let vendored = ASSETS.iter().filter(|asset| asset.name.starts_with("vendor/"));
        let vendored: BTreeMap<String, String> = vendored
            .map(|asset| (asset.name.to_owned(), sha256(asset.contents.as_bytes())))
            .collect();
        assert_eq!(listed, vendored);
        let names: Vec<&str> = vendored.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "vendor/uplot/LICENSE",
                "vendor/uplot/uPlot.iife.min.js",
                "vendor/uplot/uPlot.min.css"
            ]
        );
        let licence = include_str!("../assets/vendor/uplot/LICENSE");
        assert!(licence.starts_with("The MIT License (MIT)"));
    }
}

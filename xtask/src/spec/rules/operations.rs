//! Rules on single operations.

use super::{
    super::{document::Document, report::Report},
    schemas::is_version,
};
use crate::codegen::{
    SOURCES,
    description::text,
    extensions::{Cloud, Effect},
    pointer::join,
};

/// URL prefixes of the vendor's public reference, in which pages are named after operations. The
/// second prefix is that of the Chinese edition, for operations whose English page is missing or
/// has another name.
const PAGES: [&str; 2] = [
    "https://support.huaweicloud.com/intl/en-us/api-modelarts/",
    "https://support.huaweicloud.com/api-modelarts/",
];

/// Checks that the link of an operation leads to the page of this operation.
pub fn external_docs(document: &Document, report: &mut Report) {
    for operation in &document.operations {
        let id = operation.inner.id;
        let pages = PAGES.map(|page| format!("{page}{id}.html"));
        let url = text(&operation.inner.definition["externalDocs"], "url").unwrap_or_default();
        report.must(
            pages.iter().any(|page| page == url),
            format!("{}/externalDocs/url", operation.place),
            format!("must be {} or {}", pages[0], pages[1]),
        );
    }
}

/// Checks `x-effect`, on which retries depend.
pub fn effects(document: &Document, report: &mut Report) {
    for operation in &document.operations {
        let message = match (operation.extensions.x_effect, operation.inner.method) {
            (Effect::Read, "put" | "delete" | "patch") => {
                "must not be read, which is a GET or a POST that searches"
            }
            (Effect::Idempotent | Effect::Create, "get") => "must be read for a GET",
            _ => continue,
        };
        report.add(join(&operation.place, "x-effect"), message);
    }
}

/// Checks `x-clouds`. The description of an operation that only one cloud has must end with a
/// sentence that names the cloud, because generated code does not show `x-clouds`.
pub fn clouds(document: &Document, report: &mut Report) {
    for operation in &document.operations {
        let clouds = operation.extensions.x_clouds.as_slice();
        report.must(
            matches!(clouds, [_] | [Cloud::Huawei, Cloud::Otc]),
            join(&operation.place, "x-clouds"),
            "must be [huawei], [otc] or [huawei, otc]",
        );
        let description = text(operation.inner.definition, "description").unwrap_or_default();
        for (cloud, sentence) in
            [(Cloud::Huawei, "Huawei Cloud only."), (Cloud::Otc, "Open Telekom Cloud only.")]
        {
            let is_only = clouds == [cloud];
            let word = if is_only { "must" } else { "must not" };
            report.must(
                is_only == description.trim_end().ends_with(sentence),
                join(&operation.place, "description"),
                format!("{word} end with: {sentence}"),
            );
        }
    }
}

/// Checks that each operation has sources, which SOURCES.md names.
pub fn sources(document: &Document, report: &mut Report) {
    let is_known = |tag: &String| SOURCES.iter().any(|(known, _)| known == tag);
    for operation in &document.operations {
        let sources = &operation.extensions.x_sources;
        report.must(
            !sources.is_empty() && sources.iter().all(is_known),
            join(&operation.place, "x-sources"),
            "must be sources of SOURCES.md",
        );
    }
}

/// Checks the first and the last version of the vendor's SDK with an operation.
pub fn versions(document: &Document, report: &mut Report) {
    for operation in &document.operations {
        for key in ["x-since", "x-until"] {
            let version = operation.inner.definition.get(key);
            let holds = version.is_none_or(is_version);
            report.must(holds, join(&operation.place, key), "must be a version, such as 3.1.206");
        }
    }
}

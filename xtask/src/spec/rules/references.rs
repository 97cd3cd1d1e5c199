//! Rule on links from operations to the vendor's public pages.

use serde_json::Value;

use super::super::{document::Document, offence::Offence, pointer::join};

/// URL prefixes of the vendor's public reference, in which pages are named after operations. The
/// second prefix is that of the Chinese edition, for operations whose English page is missing or
/// has another name.
const PAGES: [&str; 2] = [
    "https://support.huaweicloud.com/intl/en-us/api-modelarts/",
    "https://support.huaweicloud.com/api-modelarts/",
];

/// Checks `externalDocs` of an operation, the link to the vendor's page.
pub fn operations(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for operation in &document.operations {
        let text = |pointer: &str| operation.value.pointer(pointer).and_then(Value::as_str);
        let id = text("/operationId").unwrap_or_default();
        let place = join(&operation.place, "externalDocs");
        let is_page = |url: &str| {
            let file = PAGES.iter().find_map(|page| url.strip_prefix(page));
            file.and_then(|file| file.strip_suffix(".html")) == Some(id)
        };
        if !text("/externalDocs/url").is_some_and(is_page) {
            let message = format!("must be {}{id}.html, or {}{id}.html", PAGES[0], PAGES[1]);
            offences.push(Offence::new(join(&place, "url"), message));
        }
        if text("/externalDocs/description").is_none_or(str::is_empty) {
            let message = "must name the document that the link leads to";
            offences.push(Offence::new(join(&place, "description"), message));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{LIST, with},
        *,
    };

    #[test]
    fn a_link_to_another_page_fires() {
        for url in [
            "https://support.huaweicloud.com/intl/en-us/api-modelarts/ListTrials.html",
            "http://support.huaweicloud.com/api-modelarts/ListJobs.html",
            "https://example.com/api-modelarts/ListJobs.html",
        ] {
            let docs = json!({ "url": url, "description": "Reference." });
            assert_eq!(
                with(operations, LIST, "externalDocs", docs),
                [format!(
                    "{LIST}/externalDocs/url: must be \
                     https://support.huaweicloud.com/intl/en-us/api-modelarts/ListJobs.html, or \
                     https://support.huaweicloud.com/api-modelarts/ListJobs.html"
                )]
            );
        }
    }

    #[test]
    fn a_missing_link_fires_twice() {
        assert_eq!(with(operations, LIST, "externalDocs", json!(null)).len(), 2);
    }

    #[test]
    fn both_forms_of_the_page_are_silent() {
        for page in PAGES {
            let docs =
                json!({ "url": format!("{page}ListJobs.html"), "description": "Reference." });
            assert_eq!(with(operations, LIST, "externalDocs", docs), [""; 0]);
        }
    }
}

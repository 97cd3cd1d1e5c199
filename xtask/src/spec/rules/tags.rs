//! Rules on tags, which group operations.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{
    document::{Document, entries, list},
    offence::Offence,
    pointer::join,
};

/// Extension with the title of a tag in rendered documentation. The name of a tag cannot contain
/// spaces, because it becomes part of file and class names in generated clients.
const DISPLAY_NAME: &str = "x-displayName";

/// Checks the display names of tags.
pub fn display_names(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut names = BTreeSet::new();
    for (index, tag) in list(document.at("/tags")).iter().enumerate() {
        let place = join("/tags", &index.to_string());
        for (key, _) in entries(Some(tag)) {
            if key.starts_with("x-") && key != DISPLAY_NAME {
                let message = format!("no such extension; tags have {DISPLAY_NAME}");
                offences.push(Offence::new(join(&place, key), message));
            }
        }
        let place = join(&place, DISPLAY_NAME);
        match tag.get(DISPLAY_NAME).and_then(Value::as_str) {
            None | Some("") => {
                offences.push(Offence::new(place, "must be the title of the tag on pages"));
            }
            Some(name) if !names.insert(name) => {
                offences.push(Offence::new(place, "must differ from those of other tags"));
            }
            Some(_) => {}
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::sample::with, *};

    const TAG: &str = "/tags/0";

    #[test]
    fn a_tag_without_a_title_fires() {
        for none in [json!(null), json!("")] {
            assert_eq!(
                with(display_names, TAG, DISPLAY_NAME, none),
                ["/tags/0/x-displayName: must be the title of the tag on pages"]
            );
        }
    }

    #[test]
    fn a_title_that_two_tags_have_fires() {
        let tag = json!({ "name": "Jobs", "x-displayName": "Jobs" });
        assert_eq!(
            with(display_names, "", "tags", json!([tag, tag])),
            ["/tags/1/x-displayName: must differ from those of other tags"]
        );
    }

    #[test]
    fn another_extension_fires() {
        assert_eq!(
            with(display_names, TAG, "x-traitTag", json!(true)),
            ["/tags/0/x-traitTag: no such extension; tags have x-displayName"]
        );
    }
}

//! Rule on `x-events`: the kinds of events with their texts, which clients parse and the emulator
//! writes.

use heck::ToUpperCamelCase;
use regress::Regex;

use super::super::{document::Document, report::Report};

/// Regular expression for the admitted patterns, which have the same meaning in every language. It
/// excludes `\d`, which matches further digits in some languages, and `$`, which may also match
/// before a final line break. It also excludes numbered groups, which would change the numbers of a
/// client's own groups.
const PATTERN: &str = r"^([^()^$\\]|\[\^|\(\?:|\)|\\[^A-Za-z0-9])+$";

pub fn check(document: &Document, report: &mut Report) {
    let events = &document.extensions.x_events;
    let matches = |pattern: &str, text: &str| {
        Regex::new(pattern).is_ok_and(|pattern| pattern.find(text).is_some())
    };
    let kinds = || {
        let kinds = events.kinds.iter().enumerate();
        kinds.map(|(index, kind)| (format!("/x-events/kinds/{index}"), kind))
    };
    let texts = || {
        kinds().flat_map(|(place, kind)| {
            let wordings = [("guide", &kind.texts.guide), ("api", &kind.texts.api)];
            wordings.into_iter().flat_map(move |(wording, texts)| {
                let place = format!("{place}/texts/{wording}");
                let texts = texts.iter().enumerate();
                texts.map(move |(index, text)| (format!("{place}/{index}"), text.as_str()))
            })
        })
    };
    for (index, placeholder) in events.placeholders.iter().enumerate() {
        let place = |key| format!("/x-events/placeholders/{index}/{key}");
        let (name, pattern) = (&placeholder.name, &placeholder.pattern);
        report.sentence(place("description"), &placeholder.description);
        let is_name = matches("^[a-z_]+$", name);
        report.must(is_name, place("name"), "must be of small letters and underscores");
        report.must(
            matches(PATTERN, pattern),
            place("pattern"),
            "must mean the same in every language: no ^, $, \\d or numbered group",
        );
        report.must(
            matches(&format!("^(?:{pattern})$"), &placeholder.example),
            place("example"),
            "must match the pattern as a whole",
        );
        let is_used = texts().any(|(_, text)| text.contains(&format!("{{{name}}}")));
        report.must(is_used, place("name"), "must occur in a text");
    }
    for (place, text) in texts() {
        let mut rest = text.to_owned();
        for placeholder in &events.placeholders {
            rest = rest.replace(&format!("{{{}}}", placeholder.name), "");
        }
        let holds = !text.is_empty() && !rest.contains(['{', '}']);
        report.must(holds, place, "must be text with only placeholders in braces");
    }
    let values = |schema: &str| document.values(schema).collect::<Vec<_>>();
    let (levels, sources) = (values("KnownEventLevel"), values("KnownEventSource"));
    for (place, kind) in kinds() {
        report.sentence(format!("{place}/when"), &kind.when);
        let name = kind.kind.to_upper_camel_case();
        report.must(name == kind.kind, format!("{place}/kind"), "must be in PascalCase");
        let has_text = !kind.texts.guide.is_empty() || !kind.texts.api.is_empty();
        report.must(has_text, format!("{place}/texts"), "must have a text");
        let source = "must be a value of KnownEventSource";
        let is_known = sources.contains(&kind.source.as_str());
        report.must(is_known, format!("{place}/source"), source);
        let is_known = levels.contains(&kind.level.as_str());
        report.must(is_known, format!("{place}/level"), "must be a value of KnownEventLevel");
        for (index, example) in kind.examples.iter().enumerate() {
            let is_known = sources.iter().any(|it| it.eq_ignore_ascii_case(&example.source));
            let place = format!("{place}/examples/{index}/source");
            report.must(is_known, place, format!("{source}, in any case"));
        }
    }
    let placeholders = events.placeholders.iter().enumerate();
    let place = |index| format!("/x-events/placeholders/{index}/name");
    report.unique(placeholders.map(|(index, it)| (place(index), it.name.as_str())));
    report.unique(kinds().map(|(place, it)| (format!("{place}/kind"), it.kind.as_str())));
    report.unique(texts());
}

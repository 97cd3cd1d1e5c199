//! Compiler of `causes.yaml`: the causes of states of jobs, with their texts, and the lines of logs
//! that show them.

use heck::ToUpperCamelCase;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use serde::Deserialize;

use super::{error::Error, extensions::read, parse};

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Causes {
    documents: Vec<Document>,
    causes: Vec<Cause>,
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    id: String,
    title: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    name: String,
    meaning: String,
    /// Codes of the cause in the service's own diagnosis.
    #[serde(default)]
    codes: Vec<String>,
    summary: String,
    #[serde(default)]
    advice: Vec<String>,
    #[serde(default)]
    links: Vec<String>,
    #[serde(default)]
    cases: Vec<Case>,
}

/// Texts that replace those of the cause under a condition.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    when: Condition,
    summary: Option<String>,
    advice: Option<Vec<String>>,
    links: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    confidence: Option<Confidence>,
    #[serde(default)]
    known: Vec<String>,
    #[serde(default)]
    detail: Vec<String>,
    #[serde(default)]
    signal: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    cause: String,
    #[serde(default)]
    class: Class,
    #[serde(default)]
    confidence: Confidence,
    #[serde(default)]
    position: Position,
    parts: Vec<String>,
    excerpt: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Confidence {
    #[default]
    Certain,
    Likely,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Class {
    #[default]
    Root,
    Consequence,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Position {
    #[default]
    Anywhere,
    Start,
    Line,
}

/// Values that a text may name in braces.
const PLACEHOLDERS: [&str; 14] = [
    "task",
    "exit_code",
    "signal",
    "runs",
    "detail",
    "pool",
    "limit",
    "flavor",
    "package",
    "input",
    "code",
    "process",
    "storage",
    "since",
];
/// Facts that a condition may require: values of texts, and the log of a task.
const KNOWN: [&str; 5] = ["package", "input", "code", "pool", "log"];

/// Generates the enumeration of the causes and the tables from the text of `causes.yaml`.
pub fn generate(yaml: &str) -> Result<String, Error> {
    let file: Causes = read("", &parse(yaml)?)?;
    let variant = |name: &str| Ident::new(&name.to_upper_camel_case(), Span::call_site());
    let document = |place: &str, id: &String| {
        let found = file.documents.iter().find(|document| document.id == *id);
        let Document { title, url, .. } = found
            .ok_or_else(|| Error(format!("{place}/links: must be ids of `documents`: {id:?}")))?;
        Ok(quote!(crate::diagnosis::Link { title: #title, url: #url }))
    };
    let texts = |place: &str, summary: &str, advice: &[String], links: &[String]| {
        for text in advice.iter().map(String::as_str).chain([summary]) {
            check_placeholders(place, text)?;
        }
        let links = links.iter().map(|id| document(place, id));
        let links = links.collect::<Result<Vec<TokenStream>, Error>>()?;
        Ok(quote!(crate::diagnosis::Texts {
            summary: #summary,
            advice: &[#(#advice),*],
            links: &[#(#links),*],
        }))
    };

    let mut variants = Vec::new();
    let mut rows = Vec::new();
    for (index, cause) in file.causes.iter().enumerate() {
        let place = format!("/causes/{index}");
        let mut names = file.causes.iter().take(index);
        if names.any(|other| other.name == cause.name) {
            return Err(Error(format!("{place}/name: must be unique: {:?}", cause.name)));
        }
        let mut earlier = file.causes.iter().take(index).flat_map(|cause| &cause.codes);
        if let Some(code) = earlier.find(|code| cause.codes.contains(code)) {
            return Err(Error(format!("{place}/codes: must be of one cause only: {code:?}")));
        }
        let own = texts(&place, &cause.summary, &cause.advice, &cause.links)?;
        let mut cases = Vec::new();
        for (index, case) in cause.cases.iter().enumerate() {
            let place = format!("{place}/cases/{index}");
            let (summary, advice, links) = (
                case.summary.as_ref().unwrap_or(&cause.summary),
                case.advice.as_ref().unwrap_or(&cause.advice),
                case.links.as_ref().unwrap_or(&cause.links),
            );
            let condition = condition(&place, &case.when)?;
            let texts = texts(&place, summary, advice, links)?;
            cases.push(quote!((#condition, #texts)));
        }
        let codes = &cause.codes;
        rows.push(quote!(crate::diagnosis::CauseTexts {
            codes: &[#(#codes),*],
            texts: #own,
            cases: &[#(#cases),*],
        }));
        variants.push((variant(&cause.name), &cause.name, &cause.meaning));
    }

    let mut signatures = Vec::new();
    for (index, row) in file.signatures.iter().enumerate() {
        let place = format!("/signatures/{index}");
        if !file.causes.iter().any(|cause| cause.name == row.cause) {
            let name = &row.cause;
            return Err(Error(format!("{place}/cause: must be one of `causes`: {name:?}")));
        }
        if row.parts.is_empty() {
            return Err(Error(format!("{place}/parts: must have an element")));
        }
        let cause = variant(&row.cause);
        let word = |value: String| Ident::new(&value, Span::call_site());
        let class = word(format!("{:?}", row.class));
        let confidence = word(format!("{:?}", row.confidence));
        let position = word(format!("{:?}", row.position));
        let (parts, excerpt) = (&row.parts, &row.excerpt);
        signatures.push(quote!(crate::diagnosis::Signature {
            cause: Cause::#cause,
            class: crate::diagnosis::Class::#class,
            confidence: crate::diagnosis::Confidence::#confidence,
            position: crate::diagnosis::Position::#position,
            parts: &[#(#parts),*],
            excerpt: #excerpt,
        }));
    }

    let names: Vec<&Ident> = variants.iter().map(|(variant, ..)| variant).collect();
    let words = variants.iter().map(|(_, name, _)| name);
    let meanings = variants.iter().map(|(.., meaning)| format!(" {meaning}"));
    let items = quote! {
        /// Cause of the state of a job: of its failure, its stop, or its wait.
        ///
        /// A cause is printed and serialized as its name, such as `out_of_memory`. Names are
        /// stable; later versions may add causes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Cause {
            #(#[doc = #meanings] #names,)*
        }
        impl Cause {
            /// All causes of this version.
            pub const ALL: &'static [Self] = &[#(Self::#names),*];
            /// Returns the name of the cause, such as `out_of_memory`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    #(Self::#names => #words,)*
                }
            }
        }
        /// The texts of the causes, in the order of [`Cause::ALL`].
        pub static CAUSES: &[crate::diagnosis::CauseTexts] = &[#(#rows),*];
        /// The lines of logs that show a cause. The first row that matches a line counts.
        pub static SIGNATURES: &[crate::diagnosis::Signature] = &[#(#signatures),*];
    };
    let items = syn::parse2(items).map_err(Error::new)?;
    Ok(prettyplease::unparse(&items))
}

fn condition(place: &str, condition: &Condition) -> Result<TokenStream, Error> {
    if let Some(other) = condition.known.iter().find(|it| !KNOWN.contains(&it.as_str())) {
        let known = KNOWN.join(", ");
        return Err(Error(format!("{place}/when/known: must be of {known}: {other:?}")));
    }
    let is_likely = condition.confidence == Some(Confidence::Likely);
    if condition.confidence == Some(Confidence::Certain) {
        return Err(Error(format!("{place}/when/confidence: must be likely, or left out")));
    }
    let (known, detail, signal) = (&condition.known, &condition.detail, &condition.signal);
    Ok(quote!(crate::diagnosis::Condition {
        is_likely: #is_likely,
        known: &[#(#known),*],
        detail: &[#(#detail),*],
        signal: &[#(#signal),*],
    }))
}

/// Checks the names in braces, and that brackets are closed and not nested.
fn check_placeholders(place: &str, text: &str) -> Result<(), Error> {
    let names = text.split('{').skip(1);
    for name in names.map(|rest| rest.split_once('}').map_or(rest, |(name, _)| name)) {
        if !PLACEHOLDERS.contains(&name) {
            let known = PLACEHOLDERS.join(", ");
            return Err(Error(format!(
                "{place}: the names in braces must be of {known}: {name:?} in {text:?}"
            )));
        }
    }
    let brackets: String = text.chars().filter(|c| ['[', ']'].contains(c)).collect();
    if !brackets.replace("[]", "").is_empty() {
        return Err(Error(format!("{place}: brackets must be in pairs: {text:?}")));
    }
    Ok(())
}

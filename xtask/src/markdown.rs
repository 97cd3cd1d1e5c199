//! Functions that read and write Markdown.

/// Escapes a string as a table cell: a vertical bar would begin another cell, and a newline another
/// row.
pub fn cell(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// Formats a string as inline code. The delimiters are longer than any sequence of backquotes in
/// the string.
pub fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    match longest.unwrap_or_default() {
        0 => format!("`{text}`"),
        inside => {
            let fence = "`".repeat(inside + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

/// Returns a table. The cells are Markdown text; bars and newlines in them are escaped.
pub fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(heads.map(str::to_owned)) + &line(heads.map(|_| "---".to_owned()));
    for row in rows {
        table += &line(row.each_ref().map(|text| cell(text)));
    }
    table
}

/// Returns a collapsed HTML section with a summary.
pub fn collapsed(summary: &str, text: &str) -> String {
    // The empty lines end the HTML block, so that the text is parsed as Markdown.
    format!("<details>\n<summary>{summary}</summary>\n\n{text}\n</details>\n")
}

/// Returns the text with `inner` between two marks; `None` if the text lacks a mark.
pub fn between(text: &str, begin: &str, end: &str, inner: &str) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{inner}\n{end}{after}"))
}

/// Link in a Markdown text.
struct Link<'a> {
    /// Text between the previous link and this link.
    before: &'a str,
    label: &'a str,
    target: &'a str,
}

/// Returns the links of a Markdown text, and the text after the last link.
fn links(text: &str) -> (Vec<Link<'_>>, &str) {
    let mut links = Vec::new();
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let (before, after) = (&rest[..middle], &rest[middle + 2..]);
        let (Some(begin), Some((target, after))) = (before.rfind('['), after.split_once(')'))
        else {
            break;
        };
        links.push(Link { before: &before[..begin], label: &before[begin + 1..], target });
        rest = after;
    }
    (links, rest)
}

fn is_relative(target: &str) -> bool {
    !target.contains("://")
}

/// Returns the targets of links to files, without fragments.
pub fn linked_files(text: &str) -> Vec<&str> {
    let (links, _) = links(text);
    let targets = links.iter().map(|link| link.target);
    targets
        .filter(|target| is_relative(target))
        .map(|target| target.split('#').next().unwrap_or(target))
        .filter(|file| !file.is_empty())
        .collect()
}

/// Replaces links to other files by their labels, because such links do not work on a separate
/// page.
pub fn without_relative_links(text: &str) -> String {
    let mut result = String::new();
    let (links, rest) = links(text);
    for link in links {
        let Link { before, label, target } = link;
        result += before;
        match is_relative(target) {
            true => result += label,
            false => result += &format!("[{label}]({target})"),
        }
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_any_text_in_its_cells() {
        let rows = [[code("a|b"), "one\n two".to_owned()]];
        assert_eq!(
            table(["text", "words"], &rows),
            "| text | words |\n| --- | --- |\n| `a\\|b` | one two |\n"
        );
    }

    #[test]
    fn code_with_backquotes_stays_code() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a `b` c"), "`` a `b` c ``");
    }

    #[test]
    fn text_between_marks_is_replaced() {
        assert_eq!(
            between("a\n<b>\nold\n<e>\nz\n", "<b>\n", "<e>\n", "new\n").unwrap(),
            "a\n<b>\n\nnew\n\n<e>\nz\n"
        );
        assert_eq!(between("a\n<b>\n", "<b>\n", "<e>\n", "new"), None);
    }

    #[test]
    fn only_links_to_the_web_stay() {
        for (text, without) in [
            ("see [`a`](b/a.py), [c](d.md)", "see `a`, c"),
            ("[a](https://b.example/c)", "[a](https://b.example/c)"),
            ("a[0] and [b](c) [", "a[0] and b ["),
            ("[[a](b)", "[a"),
            ("a](b) [c](d", "a](b) [c](d"),
        ] {
            assert_eq!(without_relative_links(text), without);
        }
    }

    #[test]
    fn linked_files_are_without_places_and_hosts() {
        let text = "[a](b.md#c) and [d](#e), [f](https://g.example/h), [`i`](j/k.py)";
        assert_eq!(linked_files(text), ["b.md", "j/k.py"]);
    }
}

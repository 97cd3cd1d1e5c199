//! Facts of the command line as Markdown.

use std::fmt::Write;

use serde_json::Value;

/// Returns the members of a list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns a text of the definition for a page: characters with a meaning are escaped, except in
/// code.
pub(super) fn escaped(text: &str) -> String {
    let mut page = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            write!(page, "`{}`", part.replace('|', "\\|")).unwrap();
            continue;
        }
        for character in part.chars() {
            match character {
                '<' => page.push_str("&lt;"),
                '>' => page.push_str("&gt;"),
                '*' | '_' | '[' | ']' | '|' | '~' | '\\' => page.extend(['\\', character]),
                _ => page.push(character),
            }
        }
    }
    page
}

/// Returns a text with a full stop.
pub(super) fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', ':', '?']) { "" } else { "." };
    format!("{}{end}", escaped(text))
}

/// Returns the rows of a table: the names of the commands, with a link if the page has one, and
/// their purposes.
pub(super) fn commands(program: &Value, link: bool) -> String {
    let mut table = "| command | purpose |\n|---|---|\n".to_owned();
    for command in list(&program["commands"]) {
        let name = text(&command["name"]);
        let about = sentence(text(&command["about"]));
        match link {
            true => writeln!(table, "| [`{name}`](#modelarts-{name}) | {about} |").unwrap(),
            false => writeln!(table, "| `{name}` | {about} |").unwrap(),
        }
    }
    table
}

pub(super) fn exit_codes(program: &Value) -> String {
    let mut table = "| code | meaning | next step |\n|---|---|---|\n".to_owned();
    for code in list(&program["exit_codes"]) {
        let meaning = escaped(text(&code["meaning"]));
        let advice = escaped(text(&code["advice"]));
        writeln!(table, "| {} | {meaning} | {advice} |", code["code"]).unwrap();
    }
    table
}

/// Returns the section of a command and those of its commands.
pub(super) fn section(command: &Value, parent: &str, level: usize) -> String {
    let path = format!("{parent} {}", text(&command["name"]));
    let mut page = format!("\n{} {path}\n", "#".repeat(level));
    let about = command["long_about"].as_str().unwrap_or(text(&command["about"]));
    writeln!(page, "\n{}\n\n```text\n{}\n```", sentence(about), text(&command["usage"])).unwrap();
    if !list(&command["aliases"]).is_empty() {
        writeln!(page, "\nAlso called {}.", codes(&command["aliases"])).unwrap();
    }
    page += &arguments(&command["arguments"], "argument");
    let flags = list(&command["flags"]);
    let mut headings: Vec<&str> = flags.iter().map(|flag| text(&flag["heading"])).collect();
    let mut known = Vec::new();
    headings.retain(|heading| {
        !known.contains(heading) && {
            known.push(*heading);
            true
        }
    });
    for heading in headings {
        let group = flags.iter().filter(|flag| text(&flag["heading"]) == heading);
        let name = if heading.is_empty() { "flag".to_owned() } else { format!("flag: {heading}") };
        page += &arguments(&group.cloned().collect(), &name);
    }
    if let Some(notes) = command["notes"].as_str() {
        writeln!(page, "\n```text\n{notes}\n```").unwrap();
    }
    for command in list(&command["commands"]) {
        page += &section(command, &path, level + 1);
    }
    page
}

/// Returns a table of arguments or flags; nothing if there are none.
pub(super) fn arguments(arguments: &Value, name: &str) -> String {
    if list(arguments).is_empty() {
        return String::new();
    }
    let mut table = format!("\n| {name} | description |\n|---|---|\n");
    for argument in list(arguments) {
        let form = form(argument).replace('|', "\\|");
        writeln!(table, "| `{form}` | {} |", description(argument)).unwrap();
    }
    table
}

/// Returns the form of an argument in a command line, such as `-p, --param <NAME=VALUE>...`.
fn form(argument: &Value) -> String {
    let name = text(&argument["name"]);
    let end = if argument["repeatable"] == true { "..." } else { "" };
    if !name.starts_with("--") {
        return format!("<{name}>{end}");
    }
    let names = [&argument["short"]].into_iter().chain([&argument["name"]]);
    let names: Vec<&str> =
        names.chain(list(&argument["aliases"])).filter_map(Value::as_str).collect();
    let values = list(&argument["value_names"]).iter().map(|value| format!(" <{}>", text(value)));
    format!("{}{}{end}", names.join(", "), values.collect::<String>())
}

fn description(argument: &Value) -> String {
    let mut cell = sentence(&text(&argument["help"]).replace('\n', " "));
    if argument["required"] == true {
        cell += " Required.";
    }
    for (label, facts) in [("Default", "default"), ("Not with", "conflicts")] {
        if !list(&argument[facts]).is_empty() {
            write!(cell, " {label}: {}.", codes(&argument[facts])).unwrap();
        }
    }
    if let Some(variable) = argument["environment"].as_str() {
        write!(cell, " Variable: `{variable}`.").unwrap();
    }
    let values = list(&argument["values"]);
    if values.iter().all(|value| value["help"].is_null()) && !values.is_empty() {
        let names = values.iter().map(|value| value["name"].clone());
        write!(cell, " Values: {}.", codes(&names.collect())).unwrap();
        return cell;
    }
    for value in values {
        let (name, help) = (text(&value["name"]), escaped(text(&value["help"])));
        write!(cell, "<br>`{name}`: {help}").unwrap();
    }
    cell
}

/// Returns texts as code, separated by commas.
pub(super) fn codes(texts: &Value) -> String {
    let texts = list(texts).iter().map(|item| format!("`{}`", text(item)));
    texts.collect::<Vec<_>>().join(", ")
}

#[test]
fn text_of_the_definition_is_not_markup() {
    for (text, expected) in [
        ("the <NAME> of a_b*", "the &lt;NAME&gt; of a\\_b\\*"),
        ("`obs://<B>|x` and [x]", "`obs://<B>\\|x` and \\[x\\]"),
    ] {
        assert_eq!(escaped(text), expected);
    }
}

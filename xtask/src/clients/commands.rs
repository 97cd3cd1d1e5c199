//! Reads the commands in `openapi/README.md`. The check runs the commands as they are printed
//! there, not a copy that could differ.

use anyhow::{Context, Result};

use crate::markdown;

const SECTION: &str = "Generated clients";
const BEGIN: &str = "\n```sh\n";
const END: &str = "\n```";

/// Returns the first block of commands after the name of a language in bold.
pub fn of(readme: &str, language: &str) -> Result<String> {
    markdown::section(readme, SECTION)
        .ok()
        .and_then(|section| block(section, language))
        .map(str::to_owned)
        .with_context(|| {
            format!(
                "openapi/README.md must have a block of sh after **{language}** in \"Generated \
                 clients\""
            )
        })
}

fn block<'a>(section: &'a str, language: &str) -> Option<&'a str> {
    let mut paragraphs = section.split("\n**").skip(1);
    let text = paragraphs.find_map(|paragraph| {
        let (name, text) = paragraph.split_once("**")?;
        name.eq_ignore_ascii_case(language).then_some(text)
    })?;
    let (_, block) = text.split_once(BEGIN)?;
    let (block, _) = block.split_once(END)?;
    Some(block)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{clients::languages::LANGUAGES, workspace};

    const README: &str = "# A\n\n```sh\nno\n```\n\n## Generated clients\n\n\
        Each has one.\n\n**Go** (1.19), with:\n\n```text\nno\n```\n\n```sh\ncd go\ngo run .\n```\n\nMore.\n\n\
        ```sh\nno\n```\n\n**Java** is here:\n\n**Rust**:\n\n```sh\ncargo run\n\n## B\n\n\
        **C**\n\n```sh\nno\n```\n";

    #[test]
    fn the_block_of_a_language_follows_its_name() {
        assert_eq!(of(README, "go").unwrap(), "cd go\ngo run .");
    }

    #[test]
    fn a_language_without_commands_is_an_error() {
        // The cases, in this order: no block before the next language, an unclosed block, a block
        // in another section, and a missing language.
        for language in ["java", "rust", "c", "python"] {
            let error = of(README, language).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "openapi/README.md must have a block of sh after **{language}** in \"Generated \
                     clients\""
                )
            );
        }
        of("", "go").unwrap_err();
    }

    #[test]
    fn every_language_has_commands_that_begin_in_its_directory() {
        let readme = fs::read_to_string(workspace::root().join("openapi/README.md")).unwrap();
        for language in LANGUAGES {
            let commands = of(&readme, language.name).unwrap();
            let first = format!("cd openapi/clients/{}\n", language.name);
            assert!(commands.starts_with(&first), "{commands}");
        }
    }
}

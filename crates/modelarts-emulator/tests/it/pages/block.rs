//! Code blocks of a page.

/// Fenced block of code.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The info string after the fence, such as `console`.
    pub(super) language: String,
    pub(super) text: String,
}

/// Returns the code blocks of a page, in their order.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let code = lines.by_ref().take_while(|line| *line != "```");
        let text = code.map(|line| format!("{line}\n")).collect();
        let language = language.to_owned();
        blocks.push(Block { language, text });
    }
    blocks
}

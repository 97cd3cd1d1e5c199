//! The command of `modelarts` that creates a job.

use crate::snippets::{description::Description, shell::quote};

/// Returns the command with flags, or with the body on its input if there are none for it.
pub(super) fn render(
    description: Option<&Description>,
    context: Option<&str>,
    json: &str,
) -> String {
    let mut command = "modelarts submit".to_owned();
    if let Some(context) = context {
        command += &flag("--context", context);
    }
    let Some(description) = description else {
        // A line of JSON never begins with a letter.
        return format!("{command} -f - <<'JSON'\n{json}\nJSON");
    };
    if let Some(script) = &description.script {
        command += &format!(" {}", quote(script));
    }
    let mut lines = vec![command, format!(" {}", flag("--name", &description.name))];
    let flags = description.pieces.iter().filter_map(|piece| piece.flag.as_ref());
    lines.extend(flags.map(|(name, value)| format!(" {}", flag(name, value))));
    lines.join(" \\\n")
}

/// Returns a flag with its value. A value that looks like a flag is part of the same word.
fn flag(name: &str, value: &str) -> String {
    match (name, value.starts_with('-')) {
        (name, false) => format!(" {name} {}", quote(value)),
        ("-p", true) => format!(" {}", quote(&format!("--param={value}"))),
        (name, true) => format!(" {}", quote(&format!("{name}={value}"))),
    }
}

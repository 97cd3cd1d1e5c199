//! The commands of `modelarts` and of curl that create a job.

use modelarts_ext::Client;

use crate::snippets::description::Description;

/// Returns the command with flags, or with the body on its input if there are none for it.
pub(super) fn modelarts(
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

/// Returns the command. The token of the service comes from the variable `TOKEN`.
pub(super) fn curl(client: &Client, json: &str) -> String {
    let url = format!(
        "{}/v2/{}/training-jobs",
        client.endpoint().trim_end_matches('/'),
        client.project_id()
    );
    // A line of JSON never begins with a letter.
    format!(
        "curl --fail-with-body -sS {} \\\n  -H \"X-Auth-Token: $TOKEN\" \\\n  -H 'Content-Type: \
         application/json' \\\n  --data-binary @- <<'JSON'\n{json}\nJSON",
        quote(&url)
    )
}

/// Returns a word of a shell, in quotes if it needs them.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_characters_of_the_shell_is_quoted() {
        for (word, quoted) in [
            ("obs://bucket/code/train.py", "obs://bucket/code/train.py"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)`x`", "'$(reboot)`x`'"),
            ("a\nb", "'a\nb'"),
            ("~root", "'~root'"),
        ] {
            assert_eq!(quote(word), quoted);
        }
    }
}

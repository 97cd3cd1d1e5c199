//! Command lines of `modelarts` and of curl that create a job.

use modelarts_ext::Client;

use crate::snippets::description::Description;

/// Returns the command with flags, or with the body on stdin if flags cannot describe the job.
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
        // A line of JSON never begins with a letter, so `JSON` ends the input.
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

/// Returns a flag with its value. If the value begins with a hyphen, both form one argument.
fn flag(name: &str, value: &str) -> String {
    match (name, value.starts_with('-')) {
        (name, false) => format!(" {name} {}", quote(value)),
        ("-p", true) => format!(" {}", quote(&format!("--param={value}"))),
        (name, true) => format!(" {}", quote(&format!("{name}={value}"))),
    }
}

/// Returns the curl command. The environment variable `TOKEN` must contain the token.
pub(super) fn curl(client: &Client, json: &str) -> String {
    let url = format!(
        "{}/v2/{}/training-jobs",
        client.endpoint().trim_end_matches('/'),
        client.project_id()
    );
    // A line of JSON never begins with a letter, so `JSON` ends the input.
    format!(
        "curl --fail-with-body -sS {} \\\n  -H \"X-Auth-Token: $TOKEN\" \\\n  -H 'Content-Type: \
         application/json' \\\n  --data-binary @- <<'JSON'\n{json}\nJSON",
        quote(&url)
    )
}

/// Returns an argument of a shell command, in quotes if necessary.
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

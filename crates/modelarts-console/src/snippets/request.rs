//! The request of curl that creates a job.

use modelarts_ext::Client;

use crate::snippets::shell::quote;

/// Returns the command. The token of the service comes from the variable `TOKEN`.
pub(super) fn render(client: &Client, json: &str) -> String {
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

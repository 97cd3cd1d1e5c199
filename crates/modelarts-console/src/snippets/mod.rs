//! `Snippets`: a job as a request body, a command, a program and a curl request.
//!
//! `description` splits the body into pieces, each of which is a flag of `modelarts submit` and a
//! call of the SDK. `command` and `program` join the pieces.

mod command;
pub(crate) mod description;
mod program;

use modelarts_ext::Client;
use serde_json::Value;

use crate::snippets::description::Description;

/// Forms of a job with which a user can create the job elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snippets {
    /// Request body, as indented JSON.
    pub(crate) body: String,
    pub(crate) command: String,
    pub(crate) program: String,
    /// curl command, which takes the token from the environment variable `TOKEN`.
    pub(crate) curl: String,
}

impl Snippets {
    /// Creates the forms of a body of CreateTrainingJob. `context` is a context of `modelarts`.
    pub(crate) fn new(client: &Client, context: Option<&str>, body: &Value) -> Self {
        let json = format!("{body:#}");
        let description = Description::new(client, body);
        Self {
            command: command::modelarts(description.as_ref(), context, &json),
            program: program::render(description.as_ref(), &json),
            curl: command::curl(client, &json),
            body: json,
        }
    }
}

#[cfg(test)]
mod tests {
    use modelarts_ext::Credentials;
    use serde_json::json;

    use super::*;

    fn snippets(body: &Value) -> Snippets {
        let client = Client::builder()
            .endpoint("https://modelarts.example.com")
            .project_id("p")
            .credentials(Credentials::token("secret-token"))
            .build()
            .unwrap();
        Snippets::new(&client, None, body)
    }

    #[test]
    fn fields_without_a_flag_are_set_by_their_paths() {
        let snippets = snippets(&json!({
            "kind": "job",
            "metadata": {"name": "n", "annotations": {"fault-tolerance/hang-retry": "true"}},
            "algorithm": {"engine": {"image_url": "o/i:t", "run_user": "1000"},
                          "command": "-x", "parameters": [{"name": "-p", "value": "v"}],
                          "outputs": [{"name": "out", "local_dir": "/tmp/out",
                                       "remote": {"obs": {"obs_url": "/b/out/"}}}]},
            "spec": {"resource": {"flavor_id": "f", "node_count": 1},
                     "volumes": [{"nfs": {"nfs_server_path": "10.0.0.5:/s", "local_path": "/m",
                                          "read_only": true}}]},
        }));
        let expected = "modelarts submit \\\n  --name n \\\n  --image o/i:t \\\n  \
            --run-user 1000 \\\n  --command=-x \\\n  --out out=obs://b/out/ \\\n  \
            --param=-p=v \\\n  --flavor f \\\n  \
            --set 'algorithm.outputs[0].local_dir=/tmp/out' \\\n  \
            --set metadata.annotations.fault-tolerance/hang-retry=true \\\n  \
            --set 'spec.volumes[0].nfs.local_path=/m' \\\n  \
            --set 'spec.volumes[0].nfs.nfs_server_path=10.0.0.5:/s' \\\n  \
            --set 'spec.volumes[0].nfs.read_only=true'";
        assert_eq!(snippets.command, expected);
        let program = &snippets.program;
        for call in [
            ".custom_image(\"o/i:t\")",
            ".run_user(1000)",
            ".set_field(\"spec.volumes[0].nfs.read_only\", \"true\")?",
        ] {
            assert!(program.contains(call), "{program}");
        }
    }

    #[test]
    fn a_body_that_flags_cannot_describe_is_an_input() {
        let body = json!({
            "kind": "job",
            "metadata": {"name": "n", "description": "a \"#quoted\"## text"},
            "algorithm": {"subscription_id": "s", "item_version_id": "v"},
            "spec": {"resource": {"flavor_id": "f"}},
        });
        let snippets = snippets(&body);
        let input = snippets.command.strip_prefix("modelarts submit -f - <<'JSON'\n");
        let input = input.and_then(|input| input.strip_suffix("\nJSON")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(input).unwrap(), body);
        let (_, text) = snippets.program.split_once("r###\"").unwrap();
        let text = text.strip_suffix("\"###;\n").unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), body);
    }

    #[test]
    fn the_token_is_a_variable() {
        let body = json!({"kind": "job", "metadata": {"name": "it's"}});
        let Snippets { body, command, program, curl } = snippets(&body);
        assert!(curl.starts_with(
            "curl --fail-with-body -sS https://modelarts.example.com/v2/p/training-jobs \\\n  \
             -H \"X-Auth-Token: $TOKEN\""
        ));
        for text in [body, command, program, curl] {
            assert!(!text.contains("secret-token"));
        }
    }
}

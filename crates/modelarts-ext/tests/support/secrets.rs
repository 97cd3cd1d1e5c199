//! Secrets of a client and its jobs. Each contains the substring "-hidden-".

use modelarts_ext::Credentials;

use crate::support::server::{Reply, json_answer};

pub(crate) const SECRET_KEY: &str = "sk-hidden-1";
pub(crate) const SECURITY_TOKEN: &str = "st-hidden-2";
pub(crate) const TOKEN: &str = "tk-hidden-3";
pub(crate) const JUPYTER_TOKEN: &str = "jl-hidden-4";
pub(crate) const ENVIRONMENT: &str = "env-hidden-5";
pub(crate) const IN_LOCATION: &str = "location-hidden-6";
pub(crate) const PASSWORD: &str = "password-hidden-7";

pub(crate) fn keys() -> Credentials {
    Credentials::temporary_keys("AK", SECRET_KEY, SECURITY_TOKEN)
}

/// Returns a response for a job whose details contain a `JupyterLab` endpoint.
pub(crate) fn job_answer(phase: &str) -> Reply {
    let body = format!(
        r#"{{"kind":"job","metadata":{{"id":"some-job","name":"n"}},"status":{{"phase":"{phase}"}},
            "endpoints":{{"jupyter_lab":{{"url":"https://jl.test/","token":"{JUPYTER_TOKEN}"}}}}}}"#
    );
    json_answer("200 OK", "x-request-id: r1\r\n", &body)
}

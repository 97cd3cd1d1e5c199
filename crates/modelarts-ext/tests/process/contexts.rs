//! Tests of clients that are made from a context of the tool.

use std::{collections::BTreeMap, fs};

use modelarts_emulator::Emulator;
use modelarts_ext::Client;
use tempfile::TempDir;

use crate::{
    child::{child, is_child},
    support::errors::refused,
};

/// The variables of the process address another service, and have keys of another user.
#[tokio::test(flavor = "multi_thread")]
async fn a_context_of_an_emulator_has_all_settings_of_a_client() {
    if is_child() {
        let client = Client::from_context("dev").unwrap();
        assert_eq!(client.training_jobs().list().collect(1).await.unwrap().len(), 0);
        let home = std::env::var("HOME").unwrap();
        let message = |name| refused(Client::from_context(name)).to_string().replace(&home, "DIR");
        assert_eq!(
            message("old"),
            "the emulator of the context old is not running; start it with `modelarts dev --name \
             old --data-dir DIR/old`"
        );
        assert_eq!(
            message("prod"),
            "no context is named \"prod\" in DIR/config.toml; it must be one of: dev, old, otc"
        );
        // The keys are those of the variables, and the endpoint is not.
        let client = Client::from_context("otc").unwrap();
        assert_eq!(client.endpoint(), "https://modelarts.eu-de.otc.t-systems.com/");
        assert_eq!(client.project_id(), "p1");
        let error = refused(Client::from_env());
        assert_eq!(
            error.advice(),
            Some(
                "MODELARTS_CONTEXT is read only by the tool `modelarts`; call \
                 Client::from_context(\"dev\") (feature `contexts`), or set the variables with \
                 `eval \"$(modelarts context env dev)\"`"
            )
        );
        return;
    }
    let emulator = Emulator::start().await.unwrap();
    let place = TempDir::new().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    fs::create_dir(path("data")).unwrap();
    let variables: BTreeMap<_, _> = emulator.envs().into_iter().collect();
    fs::write(path("data/connection.json"), serde_json::json!(variables).to_string()).unwrap();
    let file = format!(
        "[context.dev]\ndata_dir = {:?}\n[context.old]\ndata_dir = {:?}\n[context.otc]\nregion = \
         \"eu-de\"\nproject_id = \"p1\"\n",
        path("data"),
        path("old")
    );
    fs::write(path("config.toml"), file).unwrap();
    child(
        "contexts::a_context_of_an_emulator_has_all_settings_of_a_client",
        &[
            ("HOME", &path("")[..path("").len() - 1]),
            ("MODELARTS_CONFIG", &path("config.toml")),
            ("MODELARTS_ENDPOINT", "https://modelarts.invalid"),
            ("MODELARTS_CONTEXT", "dev"),
            ("HUAWEICLOUD_SDK_AK", "AK"),
            ("HUAWEICLOUD_SDK_SK", "SK"),
        ],
    );
}

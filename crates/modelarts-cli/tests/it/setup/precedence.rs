//! A context and variables that address different services.

use std::fs;

use serde_json::{Value, json};
use snapbox::cmd::Command;

use crate::support::{Fixture, assert};

/// The variables of a shell are those of one emulator, and the current context is another one.
struct TwoEmulators {
    shell: Fixture,
    dev: Fixture,
}

impl TwoEmulators {
    async fn start() -> Self {
        let (shell, dev) = (Fixture::start().await, Fixture::start().await);
        let data = shell.path().join("data");
        let connection: serde_json::Map<String, Value> = dev
            .emulator
            .envs()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        shell.write("data/connection.json", &json!(connection).to_string());
        let file = format!(
            "current = \"dev\"\n\n[context.dev]\ndata_dir = {:?}\n\n[context.cloud]\nregion = \
             \"eu-de\"\nproject_id = \"0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b\"\n\n\
             [context.project]\nproject_id = \"0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b\"\n",
            data.display().to_string()
        );
        fs::write(shell.path().join("config.toml"), file).unwrap();
        Self { shell, dev }
    }

    fn command(&self, arguments: &str) -> Command {
        self.shell.command(arguments)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_differs_from_the_current_context_is_an_error() {
    let both = TwoEmulators::start().await;
    let (shell, dev) = (both.shell.emulator.url(), both.dev.emulator.url());
    let error = format!(
        "error: MODELARTS_ENDPOINT addresses {shell}, and the current context dev {dev}; they must \
         not differ: select the context with `--context dev` or MODELARTS_CONTEXT=dev, or none \
         with `modelarts context use --none`, or unset MODELARTS_ENDPOINT\n"
    );
    for command in ["ls", "api ListTrainingJobs", "rm --name x --yes"] {
        let output = assert(both.command(command)).await.code(2);
        output.stdout_eq("").stderr_eq(&error);
    }
    assert!(both.shell.received().is_empty() && both.dev.received().is_empty());

    for command in [
        both.command("ls --context dev"),
        both.command("ls").env("MODELARTS_CONTEXT", "dev"),
        // Keys alone are no address.
        both.command("ls")
            .env_remove("MODELARTS_ENDPOINT")
            .env_remove("HUAWEICLOUD_SDK_PROJECT_ID"),
        both.command("ls")
            .env("MODELARTS_ENDPOINT", format!("{dev}/"))
            .env_remove("HUAWEICLOUD_SDK_PROJECT_ID"),
        both.command("context list"),
    ] {
        assert(command).await.code(0);
    }
    assert_eq!(both.dev.received()["ListTrainingJobs"], 4);
    assert!(both.shell.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_differs_from_the_current_context_is_an_error() {
    let both = TwoEmulators::start().await;
    let command = both
        .command("ls")
        .env("MODELARTS_ENDPOINT", both.dev.emulator.url())
        .env("HUAWEICLOUD_SDK_PROJECT_ID", "")
        .env("OS_PROJECT_ID", "another");
    let project = both.dev.emulator.vars()("HUAWEICLOUD_SDK_PROJECT_ID").unwrap();
    let output = assert(command).await.code(2);
    output.stderr_eq(format!(
        "error: OS_PROJECT_ID addresses another, and the current context dev {project}; they must \
         not differ: select the context with `--context dev` or MODELARTS_CONTEXT=dev, or none \
         with `modelarts context use --none`, or unset OS_PROJECT_ID\n"
    ));
}

/// The address of a context in a cloud is that of its region.
#[tokio::test(flavor = "multi_thread")]
async fn a_selected_context_is_not_mixed_with_the_addresses_of_the_shell() {
    let both = TwoEmulators::start().await;
    let command = both.command("--context cloud api ListTrainingJobs --dry-run -o json");
    let output = assert(command).await.code(0);
    let request: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(
        request["url"],
        "https://modelarts.eu-de.otc.t-systems.com/v2/0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b/\
         training-job-searches"
    );
    // A context without an address has that of the shell.
    let command = both.command("--context project ls -v");
    let output = assert(command.env("MODELARTS_OBS_ENDPOINT", "")).await.code(1);
    let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(text.contains("ModelArts.2786"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_shows_which_address_applies_and_why() {
    let both = TwoEmulators::start().await;
    let output = assert(both.command("doctor -o json")).await;
    let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let settings = &report["checks"][0];
    let found = settings["found"].as_str().unwrap();
    let (shell, dev) = (both.shell.emulator.url(), both.dev.emulator.url());
    let end =
        format!("; {dev} of the context dev applies, and {shell} of MODELARTS_ENDPOINT does not");
    assert_eq!((&settings["status"], found.ends_with(&end)), (&json!("warning"), true), "{found}");
}

/// Region variables of other tools do not count beside an endpoint.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_context_the_endpoint_of_the_shell_applies() {
    let fixture = Fixture::start().await;
    let command = fixture.command("api ListTrainingJobs").env("HW_REGION_NAME", "eu-de");
    assert(command).await.code(0);
    assert_eq!(fixture.received().len(), 1);
}

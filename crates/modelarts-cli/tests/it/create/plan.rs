//! `modelarts submit --dry-run`.

use modelarts_obs::staging::DataAddress;
use serde_json::{Value, json};

use super::fixtures::{FLAVOR, Site, stderr, stdout};
use crate::support;

#[tokio::test(flavor = "multi_thread")]
async fn the_body_is_that_of_the_submission_and_nothing_is_sent() {
    let site = Site::start().await;
    site.script("");
    let arguments = "--data code --name plan -p epochs=2 --auto-stop 2h";
    let output = site.submit(&format!("{arguments} --dry-run -o json")).await.code(0);
    let body: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((site.created(), site.objects()), (0, Vec::new()));
    let text = stderr(&output);
    assert!(text.contains("  + train.py  0 B\n"), "{text}");
    assert!(text.contains("code → obs://team/modelarts/code/"), "{text}");
    assert!(text.ends_with("dry run: nothing was sent\n"), "{text}");

    site.submit(&format!("{arguments} --detach --no-token")).await.code(0);
    let sent = site.fixture.emulator.last_requests();
    let sent = sent.iter().find(|request| request.operation == "CreateTrainingJob");
    let mut sent = sent.unwrap().body.clone();
    // The id of a new version of data is random.
    let address = sent.pointer_mut("/algorithm/inputs/0/remote/obs/obs_url").unwrap();
    let version = DataAddress::parse(address.as_str().unwrap()).unwrap();
    let planned =
        address.as_str().unwrap().replace(version.version().unwrap(), "v-0000000000000000");
    *address = planned.into();
    assert_eq!(sent, body);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_channels_remain_when_they_are_staged() {
    let site = Site::start().await;
    site.script("");
    site.fixture.write("data/rows.csv", "1\n");
    let output = site
        .submit(
            "--data data --out train_url --pass-by-env data_url --predownload train_url \
                 --dry-run -o json",
        )
        .await
        .code(0);
    let body: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let input = &body["algorithm"]["inputs"][0];
    assert_eq!(input["access_method"], "env");
    let address = input["remote"]["obs"]["obs_url"].as_str().unwrap();
    assert!(address.starts_with("obs://team/modelarts/data/"), "{address}");
    let output = &body["algorithm"]["outputs"][0];
    assert_eq!(output["prefetch_to_local"], true);
    let address = output["remote"]["obs"]["obs_url"].as_str().unwrap();
    assert!(address.starts_with("obs://team/modelarts/out/"), "{address}");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_the_environment_are_masked_and_the_default_is_yaml() {
    let site = Site::start().await;
    site.script("");
    let arguments =
        format!("submit code/train.py --flavor {FLAVOR} --dry-run --env API_KEY --env SEED=1");
    let command = site.command(&arguments).env("API_KEY", "a-secret-key");
    let output = support::assert(command).await.code(0);
    let text = stdout(&output);
    assert!(text.contains("  environments:\n    API_KEY: '***'\n    SEED: '1'\n"), "{text}");
    assert!(!text.contains("a-secret-key") && !stderr(&output).contains("a-secret-key"));
    let command = site.command(&arguments);
    let text = stderr(&support::assert(command).await.code(2));
    assert!(text.contains("the environment must have the variable API_KEY"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_flags_and_of_the_file_are_masked_unless_they_are_requested() {
    let site = Site::start().await;
    site.script("");
    site.fixture.write(
        "job.yaml",
        "metadata: {name: plan}\nalgorithm:\n  command: \"true\"\n  engine: {image_url: \
         org/image:1}\n  \
         environments: {DB_PASSWORD: of-the-file, HOST: db}\nspec: {resource: {flavor_id: \
         modelarts.vm.cpu.2u}}\n",
    );
    let arguments = "submit -f job.yaml --env HF_TOKEN=of-the-flag --env SEED=1 --dry-run -o json";
    let output = support::assert(site.command(arguments)).await.code(0);
    let body: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        body["algorithm"]["environments"],
        json!({"DB_PASSWORD": "***", "HOST": "db", "HF_TOKEN": "***", "SEED": "1"})
    );
    assert!(
        stderr(&output).ends_with(
            "2 secrets are printed as ***; --show-secrets prints the text\ndry run: nothing was \
             sent\n"
        ),
        "{}",
        stderr(&output)
    );
    let output =
        support::assert(site.command(&format!("{arguments} --show-secrets"))).await.code(0);
    let body: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        body["algorithm"]["environments"],
        json!({"DB_PASSWORD": "of-the-file", "HOST": "db", "HF_TOKEN": "of-the-flag", "SEED": "1"})
    );
    assert!(!stderr(&output).contains("***"));
    support::assert(site.command("submit -f job.yaml --show-secrets")).await.code(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_can_be_submitted_as_a_file() {
    let site = Site::start().await;
    site.script("print('planned')");
    let emulator = &site.fixture.emulator;
    emulator.put("team/code/train.py", "print('planned')\n").unwrap();
    let arguments =
        format!("submit obs://team/code/train.py --flavor {FLAVOR} --name planned --dry-run");
    let plan = support::assert(site.command(&arguments)).await.code(0);
    site.fixture.write("plan.yaml", &stdout(&plan));
    let output = support::assert(site.command("submit -f plan.yaml")).await.code(0);
    assert!(stdout(&output).contains("worker-0 │ planned\n"), "{:?}", output.get_output());
    assert_eq!(
        emulator
            .last_requests()
            .iter()
            .filter(|request| request.operation == "CreateTrainingJob")
            .count(),
        1
    );
}

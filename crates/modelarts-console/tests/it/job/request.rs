//! Tab with the request that creates a job again.

use serde_json::{Value, json};

use crate::{
    job::{assert_has, between, described, seed_one},
    support::Fixture,
};

#[tokio::test]
async fn the_request_is_shown_as_body_command_program_and_curl() {
    let fixture = Fixture::with(|emulator| emulator, |console| console.context("team")).await;
    let id = seed_one(&fixture, json!({"job": described("again")})).await;
    let page = fixture.page(&format!("/jobs/{id}/request?secrets=shown")).await;
    let text = |name: &str| {
        let start =
            format!("<pre id=\"{name}\" tabindex=\"0\" aria-labelledby=\"{name}-title\"><code>");
        let text = between(&page, &start, "</code>");
        text.replace("&#34;", "\"")
            .replace("&#39;", "'")
            .replace("&#60;", "<")
            .replace("&#62;", ">")
            .replace("&#38;", "&")
    };
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    let body = job.copy_as("again-2").await.unwrap().body();
    assert_eq!(serde_json::from_str::<Value>(&text("body")).unwrap(), body);
    let command = text("command");
    assert_eq!(text("rust"), include_str!("../programs/again.rs"));
    assert_has(&command, &["--notify urn:smn:r:p:t=JobFailed"]);
    assert!(!command.contains("--set"), "{command}");
    assert!(
        command.starts_with(
            "modelarts submit --context team obs://bucket/code/train.py \\\n  --name again-2 \\\n"
        ),
        "{command}"
    );
    assert_has(
        &command,
        &[
            "--description 'first try'",
            "--engine PyTorch:pytorch_1.8.0",
            "-p epochs=3",
            r"-p 'lr=it'\''s 1e-5'",
            "--env SEED=1",
            "--data data_url=obs://bucket/data/",
            "--pass-by-env data_url",
            "--out train_url=obs://bucket/out/",
            "--flavor modelarts.vm.cpu.8u",
            "--nodes 2",
            "--auto-stop 2h",
            "--restarts 2",
            "--log-url obs://bucket/logs/",
            "--local-code-dir /home/ma-user/code",
            "--working-dir /home/ma-user/work",
        ],
    );
    let url = format!("{}/v2/{}/training-jobs", fixture.emulator.url(), job.client().project_id());
    let curl = text("curl");
    assert_has(&curl, &[&url, "-H \"X-Auth-Token: $TOKEN\""]);
    let sent = between(&curl, "<<'JSON'\n", "\nJSON");
    assert_eq!(serde_json::from_str::<Value>(sent).unwrap(), body);
}

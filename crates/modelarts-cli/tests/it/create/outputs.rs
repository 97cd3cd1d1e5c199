//! Outputs that `submit` does not overwrite.

use super::fixtures::{FLAVOR, Site, stderr, stdout};
use crate::support;

/// A script that writes a model into its output.
const SAVES: &str =
    "import sys\nopen(sys.argv[1].split('=')[1] + '/model.bin', 'w').write('weights')\n";

#[tokio::test(flavor = "multi_thread")]
async fn an_output_of_another_job_is_an_error_unless_it_may_be_overwritten() {
    let site = Site::start().await;
    site.script(SAVES);
    let out = "--out train_url=obs://team/results/";
    site.submit(&format!("--name first {out}")).await.code(0);
    let first = site.client().training_jobs().get_by_name("first").await;
    let id = first.unwrap().id().to_owned();
    let show = format!("api ShowTrainingJobDetails training_job_id={id} -o json");
    let details = stdout(&support::assert(site.command(&show)).await.code(0));

    let again = |arguments: &str| {
        let command = site.command(&format!("submit -f - --name second {arguments}"));
        support::assert(command.stdin(details.clone()))
    };
    let error = format!(
        "error: the job would overwrite results, so nothing was sent:\n  output train_url: \
         obs://team/results must not be the output of another job, and is that of first ({id}); \
         --out train_url chooses a new address, and --overwrite-outputs submits the job as it is\n"
    );
    for mode in ["", "--dry-run"] {
        assert_eq!(stderr(&again(mode).await.code(3)), error, "{mode}");
    }
    assert_eq!(site.created(), 1);
    again("--out train_url").await.code(0);
    let command = site.command("submit -f - --name third --overwrite-outputs");
    support::assert(command.stdin(details)).await.code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_with_files_is_an_error_unless_the_job_continues_from_them() {
    let site = Site::start().await;
    site.script(SAVES);
    let results = site.fixture.emulator.obs_root().join("team/results");
    std::fs::create_dir_all(&results).unwrap();
    std::fs::write(results.join("model.bin"), "precious").unwrap();
    let out = "--out train_url=obs://team/results/";
    let text = stderr(&site.submit(out).await.code(3));
    assert_eq!(
        text,
        "error: the job would overwrite results, so nothing was sent:\n  output train_url: \
         obs://team/results must be empty, and has results/model.bin; --out train_url chooses a \
         new address, and --overwrite-outputs submits the job as it is\n"
    );
    assert_eq!(site.created(), 0);
    let both = format!("run --both code/train.py --flavor {FLAVOR} {out}");
    let text = stderr(&support::assert(site.command(&both)).await.code(3));
    assert!(text.contains("error: the job would overwrite"), "{text}");
    let continued = format!("{out} --predownload train_url");
    site.submit(&continued).await.code(0);
}

//! `--local`: the jobs that `run --local` ran on this machine.

use serde_json::json;

use crate::support::{Fixture, isolated, json_of};

const SCRIPT: &str = "import sys\np = dict(a[2:].split('=', 1) for a in sys.argv[1:])\n\
                      print('lr', p['lr'])\n\
                      open(p['train_url'] + '/model.bin', 'w').write('weights')\n\
                      sys.exit(int(p['code']))\n";

/// Runs the program without any variable of a client.
async fn run(fixture: &Fixture, arguments: &str) -> snapbox::cmd::OutputAssert {
    let command = isolated(fixture.path()).args(arguments.split_whitespace());
    crate::support::assert(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn they_stay_after_the_end_with_their_logs_and_outputs() {
    let fixture = Fixture::start().await;
    fixture.write("code/train.py", SCRIPT);
    fixture.write("data/rows.csv", "1\n");
    let job = "run --local --container none code/train.py --out train_url --env API_KEY=hunter2";
    run(&fixture, &format!("{job} --name one -p lr=0.1 -p code=0 --data data")).await.code(0);
    run(&fixture, &format!("{job} --name two -p lr=0.2 -p code=3")).await.code(10);

    let output = run(&fixture, "ls --local --columns name,phase,why").await.code(0);
    output.stderr_eq("").stdout_eq(
        "NAME  PHASE        WHY\n\
         two   ✗ Failed     worker-0 exit code 3\n\
         one   ✓ Completed\n",
    );
    run(&fixture, "logs one --local").await.code(0).stdout_eq("lr 0.1\n");
    let shown = run(&fixture, "show one --local -o json").await.code(0);
    let shown = json_of(&shown, "job");
    assert_eq!(shown["settings"]["parameters"], json!({"lr": "0.1", "code": "0"}));
    assert_eq!(shown["settings"]["environment"], json!({"API_KEY": "***"}));
    let output = run(&fixture, "explain two --local").await.code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains("exit code 3"), "{text}");

    let output = run(&fixture, "download one train_url copy --local").await.code(0);
    output.stdout_eq(
        "OUTPUT     FILES  SIZE  DIRECTORY\n\
         train_url  1      7 B   copy/train_url\n",
    );
    let copy = fixture.path().join("copy/train_url/model.bin");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "weights");
    std::fs::remove_dir_all(fixture.path().join("modelarts-output/one")).unwrap();
    let output = run(&fixture, "download one --local").await.code(4);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        text.ends_with("modelarts-output/one/train_url, and is not there any more\n"),
        "{text}"
    );

    run(&fixture, "rm one --local --yes").await.code(0);
    run(&fixture, "ls --local --columns name").await.code(0).stdout_eq("NAME\ntwo\n");
    for record in std::fs::read_dir(fixture.path().join("state/local")).unwrap() {
        let record = std::fs::read_to_string(record.unwrap().path()).unwrap();
        assert!(!record.contains("hunter2"), "{record}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_another_version_is_left_out_with_a_note() {
    let fixture = Fixture::start().await;
    let record = json!({"seed": {"name": "old", "colour": "red"}, "outputs": "/tmp/none"});
    let path = fixture.write("state/local/1-old.json", &record.to_string());
    let output = run(&fixture, "ls --local").await.code(0);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    let note = format!("left out {}: unknown field `colour`", path.display());
    assert!(text.starts_with(&note) && text.ends_with("no jobs\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_a_job_with_the_same_name_are_not_written_over() {
    let fixture = Fixture::start().await;
    fixture.write("code/src/train.py", SCRIPT);
    let job = "run --local --container none code/src/train.py --code-dir code --out train_url \
               --name same -p code=0";
    run(&fixture, &format!("{job} -p lr=0.1")).await.code(0);
    let again = run(&fixture, &format!("{job} -p lr=0.2")).await.code(3);
    again.stderr_eq(
        "error: results would be overwritten, so nothing was run: modelarts-output/same/train_url \
         must be empty; --name chooses another name, and --overwrite-outputs runs the job as it \
         is\n",
    );
    run(&fixture, &format!("{job} -p lr=0.2 --overwrite-outputs")).await.code(0);
    run(&fixture, "logs same --local").await.code(0).stderr_eq("").stdout_eq("lr 0.2\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_without_files_is_empty_and_secrets_are_not_in_the_log() {
    let fixture = Fixture::start().await;
    fixture.write("code/train.py", "import os\nprint('key', os.environ['API_KEY'], 1)\n");
    // A short value is part of other words, and stays.
    let job = "run --local --container none code/train.py --out train_url --name empty --env API_KEY=hunter2-long \
               --env OTHER_TOKEN=1";
    run(&fixture, job).await.code(0);
    let output = run(&fixture, "download empty --local --columns output,files").await.code(0);
    output.stdout_eq("OUTPUT     FILES\ntrain_url  0\n");
    run(&fixture, "logs empty --local").await.code(0).stdout_eq("key *** 1\n");
}

//! `modelarts submit`.

use modelarts_emulator::faults::{Fault, FaultRule};
use serde_json::json;
use snapbox::cmd::OutputAssert;

use super::fixtures::{FLAVOR, Site, items, stderr, stdout};
use crate::support;

#[tokio::test(flavor = "multi_thread")]
async fn code_and_data_are_sent_and_the_log_is_on_stdout() {
    let site = Site::start().await;
    site.script(
        "import argparse, os\np = argparse.ArgumentParser()\np.add_argument('--data_url')\n\
         p.add_argument('--epochs')\na, _ = p.parse_known_args()\n\
         print('epochs', a.epochs, os.environ['SEED'], sorted(os.listdir(a.data_url)))\n",
    );
    site.fixture.write("code/data/rows.csv", "1,2\n");
    let output =
        site.submit("--data code/data --env SEED=7 --name leaves -- --epochs 3").await.code(0);
    let text = stdout(&output);
    assert!(text.contains("          worker-0 │ epochs 3 7 ['rows.csv']\n"), "{text}");
    let text = stderr(&output);
    // Data in the code directory is sent once.
    assert!(text.contains("✓ Code         1 file, "), "{text}");
    assert!(text.contains("✓ data_url     1 file, 4 B → obs://team/modelarts/data/"), "{text}");
    assert!(text.contains("✓ leaves completed after "), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");

    let again = site.submit("--data code/data --env SEED=7").await.code(0);
    let text = stderr(&again);
    assert_eq!(text.matches("(unchanged, not sent").count(), 2, "{text}");
}

/// The program writes its caches below the home directory while it sends the code.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_in_the_home_directory_is_sent_without_hidden_files() {
    let site = Site::start().await;
    site.fixture.write("train.py", "print('at home')");
    site.fixture.write(".config/other.toml", "key = 1");
    let arguments = format!("submit train.py --flavor {FLAVOR}");
    let command = site.command(&arguments).env_remove("MODELARTS_CACHE_DIR");
    let output = support::assert(command).await.code(0);
    assert!(stdout(&output).contains("at home"));
    let text = stderr(&output);
    assert!(text.contains("✓ Code         1 file, 16 B"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_begin_with_the_submission_and_end_with_the_outcome() {
    let site = Site::start().await;
    site.script("print('hello')");
    let output = site.submit("--out train_url --name leaves -o ndjson").await.code(0);
    let items = items(&output);
    assert!(items.iter().all(|item| item["schema_version"] == 1));
    let first = &items[0];
    assert_eq!((&first["type"], &first["job"]["name"]), (&json!("submitted"), &json!("leaves")));
    let address = first["outputs"]["train_url"].as_str().unwrap();
    assert!(address.starts_with("obs://team/modelarts/out/leaves-"), "{address}");
    assert!(items.iter().any(|item| *item
        == json!({
            "schema_version": 1, "type": "log", "task": "worker-0", "line": "hello",
        })));
    assert!(items.iter().any(|item| item["type"] == "phase" && item["phase"] == "Completed"));
    let finished = items.iter().find(|item| item["kind"] == "task_finished").unwrap();
    assert_eq!((&finished["task"], &finished["exit_code"]), (&json!("worker-0"), &json!(0)));
    let end = items.last().unwrap();
    assert_eq!((&end["type"], &end["outcome"]), (&json!("end"), &json!("completed")));
    assert_eq!(end["exit_code"], 0);
    assert_eq!(end["outputs"]["train_url"], address);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_one_document_and_ids_are_alone_on_stdout() {
    let site = Site::start().await;
    site.script("print('hello')");
    let output = site.submit("-o json --name one").await.code(0);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["job"]["name"], "one");
    assert_eq!(document["outcome"], "completed");
    assert!(stderr(&output).contains("worker-0 │ hello"), "{:?}", output.get_output());

    let output = site.submit("-o id --name two").await.code(0);
    let client = site.client();
    let id = |name: &'static str| {
        let jobs = client.training_jobs();
        async move { jobs.get_by_name(name).await.unwrap().id().to_owned() }
    };
    assert_eq!(stdout(&output), format!("{}\n", id("two").await));
    let output = site.submit("--detach --name three").await.code(0);
    assert_eq!(stdout(&output), format!("{}\n", id("three").await));
    let output = site.submit("-d --name four -o json").await.code(0);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["job"]["id"], id("four").await.as_str());
    assert_eq!(document["outcome"], json!(null));
    // The last job of the directory, for @last.
    let last = std::fs::read_to_string(site.fixture.path().join("state/last.json")).unwrap();
    assert!(last.contains(&id("four").await), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_are_received_after_the_end() {
    let site = Site::start().await;
    site.script(
        "import sys\nopen(sys.argv[1].split('=')[1] + '/model.bin', 'w').write('weights')\n",
    );
    let output = site.submit("--out train_url --download ./out -o json").await.code(0);
    let model = std::fs::read_to_string(site.fixture.path().join("out/train_url/model.bin"));
    assert_eq!(model.unwrap(), "weights");
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["downloaded"], json!({"train_url": "./out/train_url"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_flavor_is_2_with_those_of_the_service() {
    let site = Site::start().await;
    site.script("");
    let output = support::assert(site.command("submit code/train.py")).await.code(2);
    let text = stderr(&output);
    let flavor = "\n  modelarts.vm.cpu.8u             8 CPU cores, 32 GB of memory\n";
    assert!(text.starts_with("error: --flavor is missing"), "{text}");
    assert!(text.contains(flavor), "{text}");
    let gpu = "\n  modelarts.p3.large.public       8 CPU cores, 64 GB of memory, 1 × GP-Vnt1";
    assert!(text.contains(gpu), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_flavor_is_3_with_the_most_similar_one() {
    let site = Site::start().await;
    site.script("");
    let command = site.command("submit code/train.py --flavor modelarts.vm.cpu.2x");
    let text = stderr(&support::assert(command).await.code(3));
    assert!(text.contains("did you mean modelarts.vm.cpu.2u?"), "{text}");
    assert_eq!(site.objects(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bucket_is_2_with_the_settings_that_name_one() {
    let site = Site::start().await;
    site.script("");
    let command = site.fixture.command(&format!("submit code/train.py --flavor {FLAVOR}"));
    let output = support::assert(command).await.code(2);
    output.stdout_eq("").stderr_eq(
        "error: no bucket for code, data and outputs; --bucket, the variable MODELARTS_OBS_BUCKET \
         or `bucket` of the context must name one\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_describes_the_job_and_flags_take_precedence() {
    let site = Site::start().await;
    site.script("import sys\nprint(sorted(sys.argv[1:]))\n");
    site.fixture.write(
        "job.yaml",
        "metadata: {name: from-file}\nalgorithm:\n  engine: {engine_name: PyTorch, \
         engine_version: pytorch_1.8.0}\n  parameters:\n    - {name: lr, value: 1e-05}\n    - \
         {name: n, value: 1}\nspec:\n  resource: {flavor_id: modelarts.vm.cpu.8u, node_count: 1}\n",
    );
    let output = support::assert(site.command(
        "submit code/train.py -f job.yaml -p n=2 --set algorithm.parameters[2].name=k --set \
         algorithm.parameters[2].value=3 --set spec.resource.node_count=2",
    ));
    let text = stdout(&output.await.code(0));
    assert!(text.contains("worker-1 │ ['--k=3', '--lr=1e-05', '--n=2']\n"), "{text}");
    let job = site.client().training_jobs().get_by_name("from-file").await;
    assert!(job.unwrap().is_completed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_path_is_2_with_the_most_similar_field() {
    let site = Site::start().await;
    site.script("");
    let output = site.submit("--set spec.resource.nod_count=4").await.code(2);
    output.stderr_eq(
        "error: --set spec.resource.nod_count=4: spec.resource.nod_count: there is no such field; \
         did you mean node_count?\n",
    );
    let output = site.submit("--set spec.resource.node_count=four").await.code(2);
    output.stderr_eq(
        "error: --set spec.resource.node_count=four: spec.resource.node_count = \"four\": must be \
         a \
         whole number; change its type\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_response_creates_no_second_job() {
    let site = Site::start().await;
    site.script("print('once')");
    let faults = site.fixture.emulator.faults();
    faults.add(FaultRule::once("CreateTrainingJob", Fault::LostAnswer)).unwrap();
    site.submit("").await.code(0);
    assert_eq!(site.created(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_engine_is_found_before_the_code_is_sent() {
    let site = Site::start().await;
    site.script("");
    let engines = "Caffe, Horovod, PyTorch, TensorFlow, XGBoost-Sklearn";
    for (engine, violation) in [
        (
            "PyTorhc:pytorch_1.8.0",
            format!(
                "algorithm.engine.engine_name = \"PyTorhc\": must be an engine that the service \
                 has \
                 (ModelArts.2780); did you mean PyTorch? Otherwise choose one of these: {engines}\n"
            ),
        ),
        (
            "PyTorch:pytorch_1.8.1",
            "algorithm.engine.engine_version = \"pytorch_1.8.1\": must be a version of PyTorch \
             that \
             the service has (ModelArts.2780); did you mean pytorch_1.8.0-"
                .to_owned(),
        ),
        (
            "pytorch-cp36-1.4.0",
            "algorithm.engine.engine_id = \"pytorch-cp36-1.4.0\": must be an engine that the \
             service \
             has (ModelArts.2780); did you mean pytorch-cp36-1.4.0-v2? "
                .to_owned(),
        ),
    ] {
        for mode in ["", "--dry-run"] {
            let output = site.submit(&format!("--engine {engine} {mode}")).await;
            let text = stderr(&output.code(3));
            let start =
                format!("error: the job breaks a rule, so nothing was sent:\n  {violation}");
            assert!(text.starts_with(&start), "{text}");
        }
    }
    assert_eq!((site.created(), site.objects()), (0, Vec::new()));
    let check = "check code/train.py --service --flavor modelarts.vm.cpu.2u --engine PyTorhc:1";
    let output = support::assert(site.command(check)).await.code(3);
    let text = stdout(&output);
    assert!(text.contains("did you mean PyTorch? "), "{text}");
    // The service may not list its engines for this user. It still refuses the job.
    let refusal = FaultRule::always("ShowTrainingJobEngines", Fault::status(403));
    site.fixture.emulator.faults().add(refusal).unwrap();
    let output = site.submit("--engine PyTorhc:pytorch_1.8.0").await.code(1);
    assert!(stderr(&output).contains("ModelArts.2780"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_must_be_a_urn_of_smn() {
    let site = Site::start().await;
    site.script("");
    let output = site.submit("--notify foo").await.code(2);
    let text = stderr(&output);
    assert!(
        text.starts_with(
            "error: invalid value 'foo' for '--notify <URN[=EVENTS]>': the topic \"foo\" must be a \
             URN of SMN: urn:smn:REGION:PROJECT_ID:TOPIC\n"
        ),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_a_job_is_submitted_with_new_outputs() {
    let site = Site::start().await;
    site.script("");
    let flags = "--name leaves-a2b3 --out train_url --env SEED=7 --env API_KEY=hunter2";
    site.submit(flags).await.code(0);
    let shown = support::assert(site.command("show leaves-a2b3 -o job")).await.code(0);
    assert_eq!(
        stderr(&shown),
        "the secret API_KEY is not in the file; submit it with --env API_KEY\n"
    );
    site.fixture.write("job.yaml", &stdout(&shown));
    support::assert(site.command("check -f job.yaml")).await.code(0);
    let again = support::assert(site.command("submit -f job.yaml -o json")).await.code(0);
    let document: serde_json::Value = serde_json::from_str(&stdout(&again)).unwrap();
    let name = document["job"]["name"].as_str().unwrap();
    assert!(name.starts_with("train-"), "{name}");
    let address = document["outputs"]["train_url"].as_str().unwrap();
    assert!(address.starts_with(&format!("obs://team/modelarts/out/{name}-")), "{address}");
    let output = support::assert(site.command("ls -o job")).await.code(2);
    output.stderr_eq(
        "error: --output job: only `modelarts show` prints it; the format must be another\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_submitted_again_with_changes_and_new_outputs() {
    let site = Site::start().await;
    site.script(
        "import argparse, os\np = argparse.ArgumentParser()\np.add_argument('--lr')\n\
         p.add_argument('--epochs')\np.add_argument('--train_url')\na = p.parse_args()\n\
         print('lr', a.lr, 'epochs', a.epochs, os.environ['SEED'])\n\
         open(os.path.join(a.train_url, 'model'), 'w').write(a.lr)\n",
    );
    let first =
        site.submit("--name leaves-a2b3 --out train_url --env SEED=7 -p lr=0.1 -p epochs=3");
    first.await.code(0);
    let command = site.command("submit --from leaves-a2b3 -p lr=0.2 -o json");
    let again = support::assert(command).await.code(0);
    let text = stderr(&again);
    assert!(text.contains("worker-0 │ lr 0.2 epochs 3 7"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&stdout(&again)).unwrap();
    let name = document["job"]["name"].as_str().unwrap();
    assert!(name.starts_with("leaves-") && name != "leaves-a2b3", "{name}");
    let address = document["outputs"]["train_url"].as_str().unwrap();
    assert!(address.starts_with(&format!("obs://team/modelarts/out/{name}-")), "{address}");
    // The results of both jobs exist, in the bucket of the first job if no other is given.
    let out = site.fixture.emulator.obs_root().join("team/modelarts/out");
    let mut results: Vec<_> = std::fs::read_dir(out)
        .unwrap()
        .map(|job| std::fs::read_to_string(job.unwrap().path().join("train_url/model")).unwrap())
        .collect();
    results.sort();
    assert_eq!(results, ["0.1", "0.2"]);
    let bucketless = site.fixture.command("submit --from leaves-a2b3 --name third --detach");
    support::assert(bucketless).await.code(0);

    let both = site.command("submit --from leaves-a2b3 -f job.yaml");
    assert!(stderr(&support::assert(both).await.code(2)).contains("cannot be used with"));
    let command = site.command(&format!(
        "submit --code-dir code --command true --image org/a:1 --flavor {FLAVOR} --name own -d"
    ));
    support::assert(command).await.code(0);
    let script = support::assert(site.command("submit code/train.py --from own")).await.code(2);
    script.stderr_eq(
        "error: the job of --from starts a command and no script; --command must be given with \
         code/train.py, or --code-dir for other code\n",
    );
    let unknown = site.command("submit --from nothing");
    support::assert(unknown).await.code(4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hyper_parameter_has_one_value() {
    let site = Site::start().await;
    site.script("print('never run')");
    for arguments in ["-p lr=0.1 -p lr=0.2", "-p lr=0.1 -- --lr 0.2"] {
        let output = site.submit(arguments).await.code(2);
        output.stderr_eq(
            "error: the hyper-parameter lr must be given once, and has the values \"0.1\" and \
             \"0.2\"\n",
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_added_to_the_created_job() {
    let site = Site::start().await;
    site.script("print('tagged')");
    site.submit("--name tagged --tag team=nlp --tag cost=4711 -d").await.code(0);
    let listed = site.fixture.run("ls --tag team=nlp --columns name").await.code(0);
    listed.stdout_eq("NAME\ntagged\n");
    let twice = site.submit("--tag team=nlp --tag team=cv").await.code(2);
    twice.stderr_eq("error: --tag team: it must be given once\n");
    // The job exists, so a refusal of its tags does not end the command.
    let refusal = Fault::error(403, "ModelArts.0105", "No permission");
    let rule = FaultRule::once("CreateTrainJobTags", refusal);
    site.fixture.emulator.faults().add(rule).unwrap();
    let output = site.submit("--name untagged --tag team=nlp").await.code(0);
    assert!(stderr(&output).contains("warning: the job has no tags: "), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_do_not_fit_the_disk_are_refused_before_they_are_sent() {
    let site = Site::start().await;
    site.script("");
    let path = site.fixture.write("data/rows.bin", "");
    // A sparse file takes no space.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(51 << 30).unwrap();
    let output = site.submit("--data data").await.code(3);
    let text = stderr(&output);
    let rule = "must fit the disk of the flavor; choose a flavor with a larger disk";
    assert!(text.contains("51.0 GiB (54760833024 bytes) for a disk of 50 GB"), "{text}");
    assert!(text.contains(rule), "{text}");
    assert_eq!(site.objects(), [""; 0]);
    // Objects in OBS count, too.
    let root = site.fixture.emulator.obs_root().join("team/in");
    std::fs::create_dir(&root).unwrap();
    std::fs::File::create(root.join("rows.bin")).unwrap().set_len(48 << 30).unwrap();
    let output = site.submit("--data obs://team/in/ --dry-run").await.code(0);
    assert!(stderr(&output).contains("should fill at most nine tenths of the disk"));
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_prints_no_events_and_api_takes_the_last_job() {
    let site = Site::start().await;
    site.script("print('trained')\n");
    let output = site.submit("--quiet --hang-retry --restarts 1 --unconditional-retry").await;
    let text = stdout(&output.code(0));
    assert!(text.contains("worker-0 │ trained\n") && !text.contains("Training"), "{text}");
    let line = "api ShowTrainingJobDetails training_job_id=@last --jq .metadata.annotations";
    let output = support::assert(site.command(line)).await.code(0);
    let annotations: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    for name in ["hang-retry", "job-unconditional-retry"] {
        assert_eq!(annotations[format!("fault-tolerance/{name}")], "true", "{annotations}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_the_same_token_continues_with_its_job() {
    let site = Site::start().await;
    site.script("print('trained')\n");
    let id = |output: &OutputAssert| {
        let document: serde_json::Value = serde_json::from_str(&stdout(output)).unwrap();
        document["job"]["id"].clone()
    };
    let flags = "--name nightly --token ci-4711 -o json";
    let first = site.submit(flags).await.code(0);
    assert!(stderr(&first).contains("✓ Submitted    nightly  "), "{}", stderr(&first));
    let again = site.submit(&format!("{flags} -p lr=1")).await.code(0);
    assert!(stderr(&again).contains("✓ Adopted      nightly  "), "{}", stderr(&again));
    assert_eq!(id(&first), id(&again));
    let other = site.submit("--name nightly --token ci-4712").await.code(1);
    assert!(stderr(&other).contains(id(&first).as_str().unwrap()), "{}", stderr(&other));
    let other = site.submit("--name nightly --no-token").await.code(1);
    assert!(stderr(&other).contains("Duplicate training job"), "{}", stderr(&other));
    assert_eq!(site.created(), 1);
    site.submit("--token ci-4711").await.code(2).stderr_eq(
        "error: --token: the job must have a name: --name, or metadata.name in the file\n",
    );
    for command in ["show nightly", "show nightly -o json", "show nightly -o job"] {
        let output = support::assert(site.command(command)).await.code(0);
        assert!(!stdout(&output).to_lowercase().contains("token"), "{}", stdout(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_run_again_takes_its_own_job_and_no_other() {
    let site = Site::start().await;
    site.script("import sys\np = dict(a[2:].split('=', 1) for a in sys.argv[1:])\nopen(p['train_url'] + '/model', 'w').write('1')\nprint('trained')\n");
    let flags = "--name nightly --out train_url --if-exists adopt";
    let first = site.submit(&format!("{flags} -o json")).await.code(0);
    let again = site.submit(&format!("{flags} -o json")).await.code(0);
    assert!(stderr(&again).contains("✓ Adopted      nightly  "), "{}", stderr(&again));
    let id = |output: &OutputAssert| {
        let document: serde_json::Value = serde_json::from_str(&stdout(output)).unwrap();
        assert_eq!(document["outputs"]["train_url"], "obs://team/modelarts/out/nightly/train_url/");
        document["job"]["id"].clone()
    };
    assert_eq!(id(&first), id(&again));
    assert!(stderr(&again).contains("worker-0 │ trained\n"), "{}", stderr(&again));
    let other = site.submit(&format!("{flags} -p lr=1")).await.code(1);
    assert!(stderr(&other).contains("differs in algorithm.parameters"), "{}", stderr(&other));
    assert_eq!(site.created(), 1);
    let unnamed = site.submit("--if-exists adopt").await.code(2);
    unnamed.stderr_eq(
        "error: --if-exists adopt: the job must have a name: --name, or metadata.name in the file\n",
    );
    // Results of a job that was deleted are not written over.
    let job = site.client().training_jobs().get_by_name("nightly").await.unwrap();
    job.delete().await.unwrap();
    site.fixture.emulator.wait_until_gone(job.id()).await;
    let refused = site.submit(flags).await.code(3);
    assert!(stderr(&refused).contains("must be empty, and has"), "{}", stderr(&refused));
}

//! Delivery of the outputs of local runs: what was written is never lost.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use snapbox::cmd::OutputAssert;

use super::fixtures::{FLAVOR, Running, Site, stderr, stdout};
use crate::support;

/// A script that goes on until SIGTERM, at which it writes a checkpoint.
const SAVING: &str = "import os, signal, sys, threading\n\
    out = [a.split('=', 1)[1] for a in sys.argv if a.startswith('--train_url=')][0]\n\
    def save(*_):\n    \
        open(os.path.join(out, 'checkpoint.pt'), 'w').write('saved')\n    \
        os._exit(0)\n\
    signal.signal(signal.SIGTERM, save)\n\
    print('ready', flush=True)\n\
    threading.Event().wait()\n";

/// A script that writes a file, and ignores SIGTERM.
const STUBBORN: &str = "import os, signal, sys, threading\n\
    out = [a.split('=', 1)[1] for a in sys.argv if a.startswith('--train_url=')][0]\n\
    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
    open(os.path.join(out, 'epoch-0.pt'), 'w').write('weights')\n\
    os.symlink(os.path.join(out, 'epoch-0.pt'), os.path.join(out, 'best.pt'))\n\
    print('ready', flush=True)\n\
    threading.Event().wait()\n";

/// A script that writes two files, and ends with the exit code of `--code`.
const WRITING: &str = "import os, sys\n\
    given = dict(a[2:].split('=', 1) for a in sys.argv[1:])\n\
    for name in ('taken', 'plain'):\n    \
        open(os.path.join(given['train_url'], name), 'w').write(name)\n\
    sys.exit(int(given['code']))\n";

async fn run(site: &Site, arguments: &str) -> OutputAssert {
    let command = support::isolated(site.fixture.path()).args(arguments.split_whitespace());
    support::assert(command).await
}

/// Runs a step that waits for lines of a program.
async fn blocking<T: Send + 'static>(step: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(step).await.unwrap()
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Returns `true` if a directory has a file with this name at any depth.
fn has_file(directory: &Path, name: &str) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() && !path.is_symlink() {
        true => has_file(&path, name),
        false => path.ends_with(name),
    })
}

fn storage(site: &Site) -> PathBuf {
    site.fixture.path().join("modelarts-output/.storage")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_script_keeps_what_it_saves_and_explain_says_who_stopped_it() {
    let site = Site::start().await;
    site.script(SAVING);
    for (number, (signal, stopper)) in
        [("INT", "Ctrl-C"), ("TERM", "SIGTERM"), ("HUP", "SIGHUP")].into_iter().enumerate()
    {
        let line = format!("run --local code/train.py --out train_url --name r{number} -o ndjson");
        let running: Running = site.spawn_with(&line, &[]);
        let (code, ..) = blocking(move || {
            running.item(|item| item["line"] == "ready");
            running.signal(signal);
            running.end()
        })
        .await;
        assert_eq!(code, Some(130), "{signal}");
        let output = site.fixture.path().join(format!("modelarts-output/r{number}/train_url"));
        assert_eq!(read(output.join("checkpoint.pt")), "saved", "{signal}");
        let explained = run(&site, "explain --local @last").await.code(0);
        let text = stdout(&explained);
        assert!(text.contains(&format!("it was stopped by {stopper}\n")), "{text}");
    }
    // The script must have started before, also on a busy machine.
    run(&site, "run --local code/train.py --out train_url --name late --timeout 5s")
        .await
        .code(124);
    let checkpoint = site.fixture.path().join("modelarts-output/late/train_url/checkpoint.pt");
    assert_eq!(read(checkpoint), "saved");
    let text = stdout(&run(&site, "explain --local late").await.code(0));
    assert!(text.contains("it was stopped by the time limit of 5s\n"), "{text}");
    assert!(!storage(&site).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_ends_early_loses_no_output() {
    let site = Site::start().await;
    let lines = "while not threading.Event().wait(0.05): print('line', flush=True)";
    site.script(&SAVING.replace("threading.Event().wait()", lines));
    let line = "run --local code/train.py --out train_url --name r -o ndjson";
    let mut command = std::process::Command::new(snapbox::cmd::cargo_bin!("modelarts"));
    command
        .args(line.split(' '))
        .env("HOME", site.fixture.path())
        .env("MODELARTS_STATE_DIR", site.fixture.path().join("state"))
        .current_dir(site.fixture.path())
        .stdout(std::process::Stdio::piped());
    let code = blocking(move || {
        let mut program = command.spawn().unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("ready")));
        drop(lines);
        program.wait().unwrap().code()
    })
    .await;
    assert_eq!(code, Some(141));
    let checkpoint = site.fixture.path().join("modelarts-output/r/train_url/checkpoint.pt");
    assert_eq!(read(checkpoint), "saved");
    assert!(!storage(&site).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_at_once_and_the_outputs_are_delivered_later() {
    let site = Site::start().await;
    site.script(STUBBORN);
    let line = "run --local code/train.py --out train_url --name s -o ndjson";
    let running: Running = site.spawn_with(line, &[]);
    let (code, _, messages) = blocking(move || {
        running.item(|item| item["line"] == "ready");
        running.interrupt();
        running.message("Ctrl-C ends at once");
        running.interrupt();
        running.end()
    })
    .await;
    assert_eq!(code, Some(130));
    let said = messages.iter().any(|line| line.ends_with("modelarts download --local s"));
    assert!(said, "{messages:?}");
    let listed = run(&site, "ls --local --columns name,why").await.code(0);
    listed.stdout_eq("NAME  WHY\ns     outputs not delivered\n");
    let again = run(&site, "run --local code/train.py --out train_url --name s").await.code(3);
    let text = stderr(&again);
    assert!(text.contains("outputs of an earlier job named s are in"), "{text}");
    for _ in 0..2 {
        let received = run(&site, "download --local s --columns output,files").await.code(0);
        received.stdout_eq("OUTPUT     FILES\ntrain_url  2\n");
    }
    for name in ["epoch-0.pt", "best.pt"] {
        let output = site.fixture.path().join("modelarts-output/s/train_url");
        assert_eq!(read(output.join(name)), "weights");
    }
    assert!(!storage(&site).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_delivered_is_named_and_stays() {
    let site = Site::start().await;
    site.script(WRITING);
    let taken = site.fixture.write("modelarts-output/w/train_url/taken/other", "");
    for (code, expected) in [("3", 10), ("0", 14)] {
        let line = format!(
            "run --local code/train.py --out train_url --name w -p code={code} --overwrite-outputs"
        );
        let output = run(&site, &line).await.code(expected);
        let text = stderr(&output);
        assert_eq!(text.matches("not received  train_url/taken: ").count(), 1, "{text}");
        assert!(text.contains("modelarts download --local w\n"), "{text}");
        let plain = site.fixture.path().join("modelarts-output/w/train_url/plain");
        assert_eq!(read(plain), "plain");
        run(&site, "download --local w").await.code(1);
        if code == "3" {
            run(&site, "rm --local w --yes").await.code(0);
            assert!(!storage(&site).exists());
        }
    }
    std::fs::remove_dir_all(taken.parent().unwrap()).unwrap();
    run(&site, "download --local w").await.code(0);
    assert_eq!(read(taken.parent().unwrap()), "taken");
    assert!(!storage(&site).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storage_that_cannot_be_written_is_said_before_the_start() {
    let site = Site::start().await;
    site.script("print('started')");
    let file = site.fixture.write("file", "");
    let command = support::isolated(site.fixture.path()).env("MODELARTS_LOCAL_DIR", &file);
    let command = command.args(["run", "--local", "code/train.py"]);
    let output = support::assert(command).await.code(1);
    let text = stderr(&output);
    assert!(text.contains("it must be a writable directory: MODELARTS_LOCAL_DIR"), "{text}");
    assert_eq!(stdout(&output), "");
    let elsewhere = site.fixture.path().join("elsewhere");
    let command = support::isolated(site.fixture.path()).env("MODELARTS_LOCAL_DIR", &elsewhere);
    let line = "run --local code/train.py --out train_url --name e";
    support::assert(command.args(line.split(' '))).await.code(0);
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_is_stopped_keeps_outputs_and_runs_these_trials_again() {
    let site = Site::start().await;
    // In a container view, the script can write only to its own directories.
    let mark = "open(os.path.join(out, 'started'), 'w')\n";
    site.script(&SAVING.replace("print('ready', flush=True)\n", mark));
    let line = "sweep code/train.py --local --out train_url -p lr=0.1,0.2 --max 1";
    let running: Running = site.spawn_with(line, &[]);
    let files = storage(&site);
    let (code, ..) = blocking(move || {
        while !has_file(&files, "started") {
            std::thread::yield_now();
        }
        running.interrupt();
        running.end()
    })
    .await;
    assert_eq!(code, Some(130));
    let listed = run(&site, "ls --local --columns name,phase").await.code(0);
    listed.stdout_eq("NAME         PHASE\ntrain-lr0_1  ■ Terminated\n");
    site.script("");
    let output = run(&site, line).await.code(0);
    assert!(stderr(&output).contains("2 trials, at most 1 at a time\n"), "{}", stderr(&output));
    let aside = site.fixture.path().join("modelarts-output/train-lr0_1-stopped/train_url");
    assert_eq!(read(aside.join("checkpoint.pt")), "saved");
    assert!(!storage(&site).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_received_from_a_service_is_named_and_the_rest_is_received() {
    let site = Site::start().await;
    site.script(WRITING);
    let taken = site.fixture.write("out/train_url/taken/other", "");
    for (code, expected) in [("3", 10), ("0", 14)] {
        let output = site.submit(&format!("--out train_url -p code={code} --download out")).await;
        let text = stderr(&output.code(expected));
        assert!(text.contains("not received  train_url/taken: "), "{text}");
        assert_eq!(read(site.fixture.path().join("out/train_url/plain")), "plain");
    }
    std::fs::remove_file(site.fixture.path().join("out/train_url/plain")).unwrap();
    let output = support::assert(site.command("download @last ./out")).await.code(1);
    assert!(stderr(&output).contains("not received  train_url/taken: "), "{}", stderr(&output));
    assert_eq!(read(site.fixture.path().join("out/train_url/plain")), "plain");
    let objects = site.objects();
    let plain = objects.iter().find(|object| object.ends_with("/plain")).unwrap();
    let address = plain.trim_end_matches("/plain");
    let line = format!("sync obs://team/{address} ./out/train_url");
    let output = support::assert(site.command(&line)).await.code(1);
    assert!(stderr(&output).contains("not transferred  taken: "), "{}", stderr(&output));
    assert!(taken.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_into_the_code_directory_is_left_out() {
    let site = Site::start().await;
    let directory = site.fixture.path().join("here");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("train.py"), "import os\nprint(sorted(os.listdir('.')))\n")
        .unwrap();
    std::fs::write(directory.join("other.log"), "").unwrap();
    std::fs::write(directory.join("kept.log"), "").unwrap();
    std::fs::write(directory.join(".modelartsignore"), "!kept.log\n").unwrap();
    for stream in ["stdout", "stderr", "both"] {
        let file = std::fs::File::create(directory.join("run.txt")).unwrap();
        let mut command = std::process::Command::new(snapbox::cmd::cargo_bin!("modelarts"));
        command
            .args(["run", "--local", "train.py"])
            .env("HOME", site.fixture.path())
            .env("MODELARTS_STATE_DIR", site.fixture.path().join("state"))
            .current_dir(&directory);
        if stream != "stderr" {
            command.stdout(file.try_clone().unwrap());
        }
        if stream != "stdout" {
            command.stderr(file);
        }
        let output = blocking(move || command.output().unwrap()).await;
        assert_eq!(output.status.code(), Some(0), "{stream}: {output:?}");
        let all = [
            read(directory.join("run.txt")),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ]
        .concat();
        let sent = "worker-0 │ ['.modelartsignore', 'kept.log', 'train.py']\n";
        assert!(all.contains(sent), "{stream}: {all}");
        assert!(all.contains("1 left out, a log (other.log)"), "{stream}: {all}");
        assert!(all.contains("1 left out, output of this program (run.txt)"), "{stream}: {all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_that_was_left_out_is_explained() {
    let site = Site::start().await;
    site.script("import os\nopen(os.path.join(os.path.dirname(__file__), 'data', 'a.csv'))\n");
    site.fixture.write("code/data/a.csv", "1");
    site.fixture.write("code/.modelartsignore", "data/\n");
    let output = run(&site, "run --local code/train.py --name m").await.code(10);
    let text = stderr(&output);
    assert!(text.contains(", 1 left out by .modelartsignore (data/) → "), "{text}");
    let advice = "data/a.csv exists here, and is left out of the code: the pattern data/ of \
                  .modelartsignore matches";
    assert!(text.contains(advice), "{text}");
    let text = stdout(&run(&site, "explain --local m").await.code(0));
    assert!(text.contains(advice), "{text}");
    let line = format!("check code/train.py --flavor {FLAVOR}");
    let text = stdout(&run(&site, &line).await.code(0));
    assert!(
        text.contains("left out  data: the pattern data/ of .modelartsignore matches\n"),
        "{text}"
    );
}

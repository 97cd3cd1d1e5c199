//! Output on a terminal: width, colours, questions.

use serde_json::json;
use snapbox::cmd::OutputAssert;

use crate::{
    manners::program,
    support::{Fixture, assert, lines_of},
};

/// Runs a program in a pseudo-terminal of a width, and types the next answer when it asks, shows a
/// progress or the key that ends it. The answer `close` closes the terminal. Responds to requests
/// for the position of the cursor.
const TERMINAL: &str = r#"
import fcntl, os, pty, signal, struct, sys, termios

columns, command = int(sys.argv[1]), sys.argv[3:]
answers = sys.argv[2].encode().splitlines(keepends=True)
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(command[0], command)
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.alarm(60)
seen = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    seen += part
    for _ in range(part.count(b"\x1b[6n")):
        os.write(terminal, b"\x1b[1;1R")
    shown = any(text in seen for text in ("━".encode(), b" job, q ends"))
    if answers and (seen.endswith((b"] ", b"]: ")) or shown):
        answer = answers.pop(0)
        if answer == b"close":
            os.close(terminal)
            break
        os.write(terminal, answer)
os.write(1, seen.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

async fn on_terminal(
    fixture: &Fixture,
    columns: u16,
    answer: &str,
    variables: &[(&str, &str)],
    arguments: &str,
) -> OutputAssert {
    let mut command = program(fixture, "python3")
        .args(["-c", TERMINAL, &columns.to_string(), answer, "modelarts"])
        .args(arguments.split_whitespace());
    for (name, value) in variables {
        command = command.env(name, value);
    }
    assert(command).await
}

fn text(output: &OutputAssert) -> String {
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_fit_on_a_terminal_of_forty_columns() {
    let fixture = Fixture::start().await;
    let name = "a-very-long-name-of-a-job-that-nobody-can-read";
    fixture.seed(json!([{"name": name}, {"name": "leaves"}])).await;
    for command in ["ls", "ls -o wide", "flavors", "engines", "engines -o wide", "api"] {
        for columns in [40, 80, 200] {
            let output = on_terminal(&fixture, columns, "", &[("NO_COLOR", "1")], command).await;
            let text = text(&output.code(0));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(columns), "{command} on {columns}:\n{text}");
        }
    }
    let output = on_terminal(&fixture, 40, "", &[("NO_COLOR", "1")], "flavors").await;
    output.code(0).stdout_eq(
        "\
ID                              KIND
modelarts.vm.cpu.2u             CPU
modelarts.vm.cpu.8u             CPU
modelarts.p3.large.public.free  GPU
modelarts.p3.large.public       GPU
modelarts.vm.pnt1.large.eco     GPU
modelarts.vm.p100.large.eco     GPU
",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_are_chosen_are_not_left_out() {
    let fixture = Fixture::start().await;
    let arguments = "flavors --kind cpu --columns id,kind,cores,memory,max-nodes";
    let output = on_terminal(&fixture, 40, "", &[("NO_COLOR", "1")], arguments).await;
    let text = text(&output.code(0));
    assert!(text.lines().next().unwrap().ends_with("MAX-NODES"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_has_colours_unless_they_are_off() {
    let fixture = Fixture::start().await;
    for (variables, is_coloured) in [
        (&[][..], true),
        (&[("NO_COLOR", "1")], false),
        (&[("TERM", "dumb")], false),
        (&[("CLICOLOR", "0")], false),
    ] {
        let output = on_terminal(&fixture, 100, "", variables, "flavors").await.code(0);
        assert_eq!(text(&output).contains('\u{1b}'), is_coloured, "{variables:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variable_columns_has_precedence() {
    let fixture = Fixture::start().await;
    let variables = [("NO_COLOR", "1"), ("COLUMNS", "30")];
    let output = on_terminal(&fixture, 200, "", &variables, "flavors").await.code(0);
    let text = text(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_destroys_asks_on_a_terminal() {
    let fixture = Fixture::start().await;
    let id = fixture.seed(json!([{"name": "leaves"}])).await.remove(0);
    let delete = format!("api DeleteTrainingJob training_job_id={id}");
    let output = on_terminal(&fixture, 200, "n\n", &[], &delete).await.code(1);
    let seen = text(&output);
    let question =
        format!("This will call DeleteTrainingJob training_job_id={id}. Continue? [y/N]");
    assert!(seen.contains(&question), "{seen}");
    assert!(seen.contains("error: cancelled; nothing was changed"), "{seen}");
    // Ctrl-D is the end of input.
    for answer in ["\n", "maybe\n", "\u{4}"] {
        let output = on_terminal(&fixture, 200, answer, &[], &delete).await;
        output.code(1);
    }
    let rest = fixture.run("ls -o ndjson").await.code(0);
    assert_eq!(lines_of(&rest, "jobs.line").len(), 1);
    on_terminal(&fixture, 200, "Yes\n", &[], &delete).await.code(0);
    let rest = fixture.run("ls -o ndjson").await.code(0);
    assert!(lines_of(&rest, "jobs.line").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_sync_has_the_number_of_files() {
    let fixture = Fixture::start().await;
    for name in ["a", "b"] {
        fixture.emulator.put(&format!("obs://my-bucket/in/{name}"), "x").unwrap();
    }
    fixture.write("data/c", "y");
    let sync = "sync data obs://my-bucket/in --delete";
    let output = on_terminal(&fixture, 100, "n\n", &[], sync).await.code(1);
    let seen = text(&output);
    let question = "This will delete 2 files at obs://my-bucket/in. Continue? [y/N]";
    assert!(seen.contains(question), "{seen}");
    assert!(fixture.emulator.get("obs://my-bucket/in/a").is_ok());
    let output = on_terminal(&fixture, 100, "y\n", &[("NO_COLOR", "1")], sync).await.code(0);
    let seen = text(&output);
    assert!(seen.ends_with("data → obs://my-bucket/in  1 file, 1 B sent, 2 deleted\n"), "{seen}");
    assert!(fixture.emulator.get("obs://my-bucket/in/a").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn init_asks_for_flavor_and_engine() {
    let fixture = Fixture::start().await;
    fixture.write("train.py", "");
    let output = on_terminal(&fixture, 100, "2\n\n", &[], "init").await.code(0);
    let seen = text(&output);
    let first = "   1  modelarts.vm.cpu.2u             2 CPU cores, 8 GB of memory\n";
    assert!(seen.starts_with(first) && seen.contains("\nFlavor [1]: 2\n"), "{seen}");
    let file = std::fs::read_to_string(fixture.path().join("job.yaml")).unwrap();
    assert!(file.contains("    flavor_id: \"modelarts.vm.cpu.8u\"\n"), "{file}");
    // Enter takes the newest PyTorch.
    assert!(file.contains("    engine_version: \"pytorch_1.8.0-"), "{file}");
    for answer in ["0\n", "x\n", "\u{4}"] {
        let output = on_terminal(&fixture, 100, answer, &[], "init -f b.yaml").await.code(1);
        let seen = text(&output);
        assert!(
            seen.contains("error: the answer must be 1 to ") && !seen.contains("wrote"),
            "{seen}"
        );
    }
    assert!(!fixture.path().join("b.yaml").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_view_of_forty_columns_is_left_by_a_key_and_the_job_continues() {
    let fixture = Fixture::start().await;
    let logs = json!({"worker-0": "epoch 1/4\n\u{1b}]0;title\u{7}epoch 2/4\n"});
    let seeds = json!([{"name": "leaves", "phase": "Running", "logs": logs}]);
    let id = fixture.seed(seeds).await.remove(0);
    for key in ["q", "\u{3}"] {
        let output = on_terminal(&fixture, 40, key, &[("NO_COLOR", "1")], "watch leaves").await;
        let seen = text(&output.code(130));
        for part in
            ["● Running", "\n ]0;title epoch 2/4\n", "50%", "q leaves it running, t stops it"]
        {
            assert!(seen.contains(part), "{part}: {seen}");
        }
        // The cursor is shown again, and a line of the log does not set the title.
        let (_, end) = seen.rsplit_once("\u{1b}[?25h").unwrap();
        assert!(end.contains(": the job continues\n"), "{seen}");
        assert!(!seen.contains("\u{1b}]0"), "{seen}");
    }
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    assert_eq!(job.phase().as_str(), "Running");
}

#[tokio::test(flavor = "multi_thread")]
async fn live_tables_are_left_by_a_key() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "leaves", "phase": "Running"}])).await;
    for (command, heading) in
        [("top", "NAME    PHASE      CPU  MEM  GPU/NPU\n"), ("ls -w", "NAME    ID")]
    {
        for (key, code) in [("q", 0), ("\u{3}", 130)] {
            let output = on_terminal(&fixture, 40, key, &[("NO_COLOR", "1")], command).await;
            let seen = text(&output.code(code));
            let (_, last) = seen.rsplit_once("\u{1b}[?25h").unwrap();
            assert!(last.starts_with(heading) && last.contains("\nleaves  "), "{command}: {seen}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_does_not_redraw_has_no_live_view() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "leaves", "logs": {"worker-0": "epoch 1/4\n"}}])).await;
    let output = on_terminal(&fixture, 80, "", &[("TERM", "dumb")], "watch leaves").await;
    let seen = text(&output.code(0));
    assert!(seen.contains("worker-0 │ epoch 1/4\n") && !seen.contains('\u{1b}'), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_is_closed_ends_a_live_view() {
    let fixture = Fixture::start().await;
    let logs = json!({"worker-0": "epoch 1/4\n"});
    fixture.seed(json!([{"name": "leaves", "phase": "Running", "logs": logs}])).await;
    for command in ["watch leaves", "top", "ls -w"] {
        let output = on_terminal(&fixture, 80, "close", &[], command).await;
        // The signal, or an error of writing that comes before it.
        let code = output.get_output().status.code();
        assert!(matches!(code, Some(130 | 1)), "{command}: {code:?}");
    }
}

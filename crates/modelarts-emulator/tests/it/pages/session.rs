//! Shell session of a page: the program, commands, and the comparison of their output.

use std::{fs, path::Path, process::Stdio};

use fancy_regex::Regex;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::pages::block::Block;

/// Control character that separates the outputs of commands.
const SEPARATOR: char = '\u{1e}';

/// A command of a page, and the output that the page shows.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) command: String,
    pub(super) output: String,
}

/// Returns the commands of a block.
pub(super) fn steps(block: &Block) -> Vec<Step> {
    assert_eq!(block.language, "console");
    let mut steps: Vec<Step> = Vec::new();
    for line in block.text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let (command, output) = (command.to_owned(), String::new());
            steps.push(Step { command, output });
        } else {
            let step = steps.last_mut().expect("a block begins with a command");
            step.output += &format!("{line}\n");
        }
    }
    steps
}

/// Values that differ between runs or machines, and their replacements.
const RANDOM: [(&str, &str); 9] = [
    (r"\r", ""),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
    (r"\b[0-9a-f]{32}\b", "<hex>"),
    (r#""access_key":"[0-9A-F]{20}""#, r#""access_key":"<key>""#),
    (r#""secret_key":"[^"]+""#, r#""secret_key":"<key>""#),
    (r"127\.0\.0\.1:[0-9]+", "127.0.0.1:<port>"),
    (r#""millis":[0-9]{13},"now":"[-0-9T:.]+Z""#, "<time>"),
    (r"(?m)^date: .+ GMT$", "date: <time>"),
    (r"\[ModelArts Service Log\] modelarts-emulator: this machine has no container view.*\n", ""),
];

fn without_random_values(text: &str) -> String {
    let replace = |text: String, (pattern, replacement): &(&str, &str)| {
        let pattern = Regex::new(pattern).unwrap();
        pattern.replace_all(&text, *replacement).into_owned()
    };
    RANDOM.iter().fold(text.trim_end().to_owned(), replace)
}

/// Compares the output of a command with that on the page, where `…` means any text.
pub(super) fn assert_output(step: &Step, actual: &str) {
    let (expected, actual) = (without_random_values(&step.output), without_random_values(actual));
    let parts = expected.split('…').map(fancy_regex::escape);
    let pattern = format!("(?s)^{}$", parts.collect::<Vec<_>>().join(".*"));
    assert!(
        Regex::new(&pattern).unwrap().is_match(&actual).unwrap(),
        "$ {}\nmust print\n{expected}\nand prints\n{actual}",
        step.command
    );
}

/// The program, started by a command of a page, and a shell.
pub(super) struct Session<'a> {
    place: &'a Path,
    ready: Value,
    _program: Child,
}

impl<'a> Session<'a> {
    /// Starts the program with the command of the step, and compares the line that it prints.
    pub(super) async fn start(place: &'a Path, step: &Step) -> Self {
        let code = place.join("obs/bucket/code");
        fs::create_dir_all(&code).unwrap();
        fs::write(code.join("train.py"), "print('hello')\n").unwrap();
        let flags = step.command.strip_prefix("modelarts-emulator ").unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"))
            .args(flags.split(' '))
            .current_dir(place)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(program.stdout.take().unwrap());
        stdout.read_line(&mut line).await.unwrap();
        assert_output(step, &line);
        Self { place, ready: serde_json::from_str(&line).unwrap(), _program: program }
    }

    pub(super) fn value(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap()
    }

    /// Runs commands in one shell, and returns the output of each. The shell has the variables
    /// `URL` and `PROJECT`, and curl prints errors without its table of progress.
    async fn outputs(&self, commands: &[&str]) -> Vec<String> {
        let mut script = String::from("exec 2>&1\ncurl() { command curl -sS \"$@\"; }\n");
        for command in commands {
            script += &format!("{command}\nprintf '\\036'\n");
        }
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(self.place)
            .env("URL", self.value("url"))
            .env("PROJECT", self.value("project_id"))
            .output()
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut outputs: Vec<_> = text.split(SEPARATOR).map(str::to_owned).collect();
        assert_eq!(outputs.pop().as_deref(), Some(""), "{text}");
        assert_eq!(outputs.len(), commands.len(), "{text}");
        outputs
    }

    /// Runs the commands of steps in one shell, and compares the output of each with the page.
    /// Steps without an output on the page must print nothing.
    pub(super) async fn run(&self, steps: &[Step]) {
        let commands: Vec<_> = steps.iter().map(|step| step.command.as_str()).collect();
        for (step, output) in steps.iter().zip(self.outputs(&commands).await) {
            assert_output(step, &output);
        }
    }
}

#[test]
fn an_output_matches_apart_from_random_values_and_omitted_text() {
    let step = |output: &str| Step { command: "curl".into(), output: output.into() };
    let page = step(
        "HTTP/1.1 200 OK\ndate: Sat, 21 Nov 2026 21:03:35 \
         GMT\n{\"url\":\"http://127.0.0.1:1\",…}\n",
    );
    assert_output(
        &page,
        "HTTP/1.1 200 OK\r\ndate: Sun, 22 Nov 2026 00:00:00 \
         GMT\r\n{\"url\":\"http://127.0.0.1:22\",\"a\":1}",
    );
    for (page, actual) in [("a\n", ""), ("", "a"), ("a…c", "ab"), ("[1]", "1"), ("a", "ab")] {
        let compared = std::panic::catch_unwind(|| assert_output(&step(page), actual));
        assert!(compared.is_err(), "{page:?} must differ from {actual:?}");
    }
}

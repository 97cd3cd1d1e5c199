//! Programs of the pages. Each program runs in a child process, with the settings of an emulator in
//! its environment variables, like a program that a user starts.

use std::path::Path;

use modelarts_emulator::{Emulator, Timing};
use tokio::runtime::Runtime;

use crate::{
    child::{child_in, is_child},
    pages::copies::{block, page},
};

/// Declares a module with a program of a page, and a function that runs it.
macro_rules! program {
    ($name:ident, $file:literal) => {
        mod $name {
            include!($file);

            /// Runs the program, and panics if it returns an error.
            pub(super) fn run() {
                main().unwrap();
            }
        }
    };
}

program!(package, "blocks/package.rs");
program!(creating, "blocks/creating.rs");

/// Test with an emulator, from the README of the emulator.
mod emulator {
    include!("blocks/emulator.rs");
}

/// Runs a test again in a child process with the settings of the emulator, and returns its output.
fn run(emulator: &Emulator, test: &str) -> String {
    let variables = emulator.envs();
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<_> = variables.collect();
    let test = format!("pages::programs::{test}");
    child_in(Path::new("."), &test, &variables)
}

fn start(runtime: &Runtime) -> Emulator {
    let emulator = Emulator::builder().timing(Timing::instant()).start();
    runtime.block_on(emulator).unwrap()
}

#[test]
fn the_program_of_the_package_runs() {
    if is_child() {
        return package::run();
    }
    let runtime = Runtime::new().unwrap();
    let emulator = start(&runtime);
    emulator.put("bucket/code/train.py", "print('hello')\n").unwrap();
    let output = run(&emulator, "the_program_of_the_package_runs");
    assert!(output.contains("Training job executed."), "{output}");
    assert!(output.contains("\nCompleted\n"), "{output}");
}

/// Runs the job of `CREATING.md` with the script of the page, and checks that the script receives
/// the arguments that the page states.
#[test]
fn the_job_of_the_page_on_creating_jobs_runs() {
    if is_child() {
        return creating::run();
    }
    let runtime = Runtime::new().unwrap();
    let emulator = start(&runtime);
    let page = page("crates/modelarts-ext/CREATING.md");
    let script = block(&page, "python", "argparse");
    let script = format!("import sys\nprint(*sys.argv[1:])\n{script}");
    emulator.put("my-bucket/bert/code/train.py", script).unwrap();
    emulator.put("my-bucket/bert/data/rows.csv", "1,2\n").unwrap();
    let output = run(&emulator, "the_job_of_the_page_on_creating_jobs_runs");
    assert!(output.contains("Training job executed."), "{output}");
    let model = emulator.get("my-bucket/bert/out/model.bin").unwrap();
    assert_eq!(model, b"trained for 3 epochs");

    let [id] = emulator.stored_ids().unwrap().try_into().unwrap();
    let log = runtime.block_on(emulator.stored_log(&id, 0)).unwrap();
    let log = String::from_utf8(log).unwrap();
    // A machine without a container view adds a line of the platform.
    let mut lines = log.lines().filter(|line| !line.starts_with("[ModelArts Service Log]"));
    let arguments = lines.next().unwrap();
    let worker = emulator.data_dir().join("jobs").join(id).join("worker-0");
    let arguments = arguments.replace(worker.to_str().unwrap(), "");
    assert_eq!(format!("python train.py {arguments}\n"), block(&page, "text", "python train.py"));
}

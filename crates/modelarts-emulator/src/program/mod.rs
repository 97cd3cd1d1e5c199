//! Program of the emulator, `modelarts-emulator serve`.
//!
//! When the emulator is ready, the program prints one line of JSON on stdout. Messages are printed
//! on stderr. Ctrl-C and SIGTERM end the program and its jobs or, with `--on-stop leave`, leave the
//! jobs to the next start, which is the default for jobs on a Slurm cluster. With
//! `--end-with-stdin`, the end of stdin has the same effect.

mod arguments;
mod env_file;
mod settings;

use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
    thread,
};

use serde_json::json;
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{
    emulator::builder::Builder,
    program::{
        arguments::{Action, OnStop, Serve},
        env_file::EnvFile,
    },
};

/// Runs the program with the arguments of the process, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    run(env::args_os())
}

/// Runs the program with these arguments, the first of which is its name. Other programs that
/// contain the emulator call this function.
///
/// `--help`, `--version` and an invalid argument end the process.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     let arguments = ["modelarts-emulator", "serve", "--token", "dev"];
///     modelarts_emulator::program::run(arguments.map(Into::into))
/// }
/// ```
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build();
    let given: Vec<OsString> = arguments.into_iter().collect();
    let ended = match (runtime, arguments::parse(&given)) {
        (Ok(runtime), Ok(Action::Serve(serve))) => {
            runtime.block_on(self::serve(*serve)).map(|()| 0)
        }
        (Ok(runtime), Ok(Action::Node(command))) => {
            log_to_stderr();
            runtime.block_on(command.run())
        }
        (Err(error), _) => Err(error.to_string()),
        (_, Err(error)) => Err(error),
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // The message is lost if stderr is closed.
            let _ = writeln!(io::stderr(), "modelarts-emulator: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the builder of an emulator with these arguments of `modelarts-emulator serve`, such as
/// `--cloud=otc`, for programs that embed the emulator. The arguments have the defaults of the
/// program, also for `--data-dir` and `--obs-root`; those of the process, such as `--on-stop`, have
/// no effect.
///
/// # Errors
/// Returns the message of `modelarts-emulator serve` for arguments that it does not accept.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path().display();
/// let (data, obs) = (format!("--data-dir={directory}/data"), format!("--obs-root={directory}/obs"));
/// let builder = modelarts_emulator::program::builder([data, obs, "--timing=instant".to_owned()])?;
/// let emulator = builder.start().await?;
/// # emulator.shutdown().await;
/// let error = modelarts_emulator::program::builder(["--cloud=none"]).err().unwrap_or_default();
/// assert!(error.starts_with("invalid value 'none' for '--cloud <CLOUD>'"));
/// # Ok(())
/// # }
/// ```
pub fn builder<T: Into<OsString>>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<Builder, String> {
    let given: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    settings::builder(arguments::serve(&given)?)
}

fn log_to_stderr() {
    // The crate s3s reports each refused request of OBS as an error.
    let default =
        Targets::new().with_default(LevelFilter::INFO).with_target("s3s", LevelFilter::OFF);
    let given = env::var("RUST_LOG").unwrap_or_default();
    let filter = match given.trim_matches(',') {
        "" => default,
        given => given.parse().unwrap_or(default),
    };
    // A program that contains the emulator may have a subscriber of its own.
    let _ = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(io::stderr)
        .with_ansi(false)
        // A closed stderr must not end the program.
        .log_internal_errors(false)
        .finish()
        .with(filter)
        .try_init();
}

async fn serve(mut arguments: Serve) -> Result<(), String> {
    log_to_stderr();
    // The parent may send a signal as soon as it has read the ready line.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let on_stop = arguments.on_stop();
    let end_with_stdin = arguments.end_with_stdin;
    // An unusable file is reported before any job runs.
    let env_file = arguments.env_file.take().map(EnvFile::create).transpose()?;
    let start = settings::builder(arguments)?.start();
    let emulator = tokio::select! {
        emulator = start => emulator.map_err(|error| error.to_string())?,
        _ = interrupt.recv() => return Err("ended before it was ready".to_owned()),
        _ = terminate.recv() => return Err("ended before it was ready".to_owned()),
    };
    if let Some(file) = env_file {
        file.write(&emulator.envs())?;
    }
    let ready = json!({
        "url": emulator.url(),
        "obs_url": emulator.obs_url(),
        "project_id": emulator.project_id(),
        "access_key": emulator.access_key(),
        "secret_key": emulator.secret_key(),
    });
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{ready}").and_then(|()| stdout.flush()).map_err(|error| error.to_string())?;
    drop(stdout);
    tracing::info!(
        url = emulator.url(),
        obs_url = emulator.obs_url(),
        obs_root = %emulator.obs_root().display(),
        data_dir = %emulator.data_dir().display(),
        "ready"
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = stdin_closed(), if end_with_stdin => {}
    }
    match on_stop {
        OnStop::Stop => {
            tracing::info!("ending with all jobs");
            emulator.shutdown().await;
        }
        OnStop::Leave => {
            tracing::info!("ending; the next start on the data directory continues the jobs");
            emulator.suspend().await;
        }
    }
    Ok(())
}

/// Waits for the end of stdin in a thread, because a task would delay the end of the process.
async fn stdin_closed() {
    let (closed, end) = oneshot::channel();
    thread::spawn(move || {
        // An unreadable stdin counts as closed. The receiver is gone if a signal came first.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = closed.send(());
    });
    // The thread sends even after a read error, so the wait ends.
    let _ = end.await;
}

//! Measures the cost of the SDK in a clean build.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};

#[path = "../../../crates/modelarts-api/codegen/snapshots.rs"]
mod snapshots;

/// Source of a program that sends the request with reqwest and serde_json, without the SDK.
const BARE: &str = r#"
#[tokio::main]
async fn main() {
    let answer = reqwest::get("http://127.0.0.1").await.unwrap();
    let value: serde_json::Value = answer.json().await.unwrap();
    println!("{value}");
}
"#;

/// Source of a program that sends the request with the generated client and a minimal transport.
const API: &str = r#"
use modelarts_api::{BoxFuture, Client, Context, Operation, RawResponse, Transport, TransportError};

struct Plain;

impl Transport for Plain {
    fn execute<'a>(
        &'a self,
        http: &'a reqwest::Client,
        request: reqwest::Request,
        _: &'static Operation,
    ) -> BoxFuture<'a, Result<RawResponse, TransportError>> {
        Box::pin(async {
            let response = http.execute(request).await.map_err(TransportError::Http)?;
            RawResponse::read(response).await.map_err(TransportError::Http)
        })
    }
}

#[tokio::main]
async fn main() {
    let http = reqwest::Client::new();
    let client = Client::new_with_client("http://127.0.0.1", http, Context::new(std::sync::Arc::new(Plain)));
    let job = client.show_training_job_details().project_id("p").training_job_id("j").send().await.unwrap();
    println!("{}", serde_json::to_string(&*job).unwrap());
}
"#;

const EXT: &str = r#"
#[tokio::main]
async fn main() {
    let client = modelarts_ext::Client::from_env().unwrap();
    let job = client.training_jobs().get("x").await.unwrap();
    println!("{}", serde_json::to_string(job.details()).unwrap());
}
"#;

/// Dependencies of every measured program, in the syntax of Cargo.toml.
const COMMON: &str = "serde_json = \"1\"\n\
    tokio = { version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }\n";
/// Dependency on reqwest with the features that modelarts-api uses, without TLS.
const PLAIN: &str = "reqwest = { version = \"0.13\", default-features = false, \
    features = [\"json\", \"query\", \"stream\"] }\n";
/// Dependency on reqwest with the features that modelarts-ext uses: TLS by rustls with ring and the
/// platform's certificates.
const TLS: &str = "reqwest = { version = \"0.13\", default-features = false, \
    features = [\"json\", \"query\", \"stream\", \"gzip\", \"system-proxy\", \"rustls-no-provider\"] }\n\
    rustls = { version = \"0.23\", default-features = false, features = [\"std\", \"ring\", \"tls12\", \"logging\"] }\n\
    rustls-platform-verifier = \"0.7\"\n";

/// Crate whose build is measured.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Crate {
    Api,
    Ext,
}

/// Program to build: its name, dependencies and source, and the maximum ratio to the first program.
type Case = (&'static str, String, &'static str, &'static str);

/// Compares clean debug builds of small programs, each with a program that sends the same request
/// with reqwest and serde_json alone.
pub fn compare(rounds: usize, only: Option<Crate>) -> Result<()> {
    ensure!(rounds > 0, "--rounds must be at least 1");
    let generated = snapshots::read(&root().join("crates/modelarts-api/snapshots"))?;
    let generated = snapshots::join(&generated);
    println!(
        "Clean debug builds, offline, rounds in turn: {rounds}; medians. Generated lines: {}.\n",
        generated.lines().count()
    );
    if only != Some(Crate::Ext) {
        let api = |more: &str| format!("{PLAIN}{}", ours("modelarts-api", more));
        table(
            rounds,
            &[
                ("reqwest, serde_json", PLAIN.to_owned(), BARE, ""),
                ("modelarts-api, generated", api(""), API, "2.3"),
                (
                    "modelarts-api, packaged code",
                    api(", default-features = false"),
                    API,
                    "1.6",
                ),
            ],
        )?;
    }
    if only != Some(Crate::Api) {
        table(
            rounds,
            &[
                ("reqwest with TLS, serde_json", TLS.to_owned(), BARE, ""),
                ("modelarts-ext", ours("modelarts-ext", ""), EXT, "2.3"),
                (
                    "modelarts-ext, generated",
                    ours("modelarts-ext", ", features = [\"generate\"]"),
                    EXT,
                    "2.3",
                ),
            ],
        )?;
    }
    Ok(())
}

/// Measures the builds of programs, and prints their ratios to the build of the first program.
fn table(rounds: usize, cases: &[Case]) -> Result<()> {
    let programs = cases
        .iter()
        .map(|(_, dependencies, main, _)| Program::new(dependencies, main))
        .collect::<Result<Vec<_>>>()?;
    let mut costs = vec![Vec::new(); programs.len()];
    for _ in 0..rounds {
        for ((program, costs), (name, ..)) in programs.iter().zip(&mut costs).zip(cases) {
            let cost = program.build()?;
            // A build takes minutes, so each result is printed immediately as progress.
            eprintln!("{name}: {:.1} s CPU, {:.1} s", cost.cpu, cost.wall);
            costs.push(cost);
        }
    }
    println!(
        "| a program with | crates | CPU, s | elapsed, s | CPU ratio | elapsed ratio | target |"
    );
    println!("|---|---|---|---|---|---|---|");
    for ((program, ours), (name, _, _, target)) in programs.iter().zip(&costs).zip(cases) {
        let figure =
            |part: fn(&Cost) -> f64| crate::timing::median(ours.iter().map(part).collect());
        let ratio = |part: fn(&Cost) -> f64| {
            let pairs = ours.iter().zip(&costs[0]);
            crate::timing::median(pairs.map(|(it, bare)| part(it) / part(bare)).collect())
        };
        println!(
            "| {name} | {} | {:.1} | {:.1} | {:.2} | {:.2} | {target} |",
            program.crates()?,
            figure(|cost| cost.cpu),
            figure(|cost| cost.wall),
            ratio(|cost| cost.cpu),
            ratio(|cost| cost.wall),
        );
    }
    println!();
    Ok(())
}

/// Returns the line of Cargo.toml for a dependency on a crate of this workspace.
fn ours(name: &str, more: &str) -> String {
    let path = root().join("crates").join(name);
    format!("{name} = {{ path = {path:?}{more} }}\n")
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_owned()
}

#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
}

struct Program {
    dir: tempfile::TempDir,
}

impl Program {
    /// Creates a package with these dependencies. Their versions are those of the workspace, so
    /// cargo has already downloaded them.
    fn new(dependencies: &str, main: &str) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        fs::create_dir(dir.path().join("src"))?;
        fs::write(dir.path().join("src/main.rs"), main)?;
        fs::write(
            dir.path().join("Cargo.toml"),
            format!(
                "[package]\nname = \"program\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                 [dependencies]\n{COMMON}{dependencies}\n[workspace]\n"
            ),
        )?;
        fs::copy(root().join("Cargo.lock"), dir.path().join("Cargo.lock"))?;
        Ok(Self { dir })
    }

    fn build(&self) -> Result<Cost> {
        let before = children();
        let begin = Instant::now();
        let status = self.cargo(&["build", "--quiet"]).status()?;
        let cost = Cost {
            wall: begin.elapsed().as_secs_f64(),
            cpu: children().saturating_sub(before).as_secs_f64(),
        };
        ensure!(status.success(), "cargo build: {status}");
        // Frees disk space, and makes the next build a clean build.
        fs::remove_dir_all(self.dir.path().join("target"))?;
        Ok(cost)
    }

    /// Returns the number of packages in the build, including those that only build scripts need.
    fn crates(&self) -> Result<usize> {
        let tree = [
            "tree",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--no-dedupe",
        ];
        let output = self.cargo(&tree).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "cargo tree: {}", output.status);
        let text = String::from_utf8(output.stdout).context("cargo tree")?;
        let names = text.lines().filter_map(|line| line.split_once(' '));
        // Each line contains the name, the version and the kind of a package.
        let crates: BTreeSet<_> = names
            .map(|(name, rest)| (name, rest.split(' ').next()))
            .collect();
        Ok(crates.len())
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .arg("--offline")
            .env("CARGO_TARGET_DIR", self.dir.path().join("target"))
            // Users install these crates from a registry, and cargo does not build such crates
            // incrementally.
            .env("CARGO_INCREMENTAL", "0")
            // Removes flags of the environment, which would change the measured build.
            .env_remove("RUSTFLAGS")
            .current_dir(self.dir.path());
        command
    }
}

/// Returns the processor time of all child processes that have ended.
fn children() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Duration::ZERO;
    };
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

//! What the SDK costs a clean build.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};

const ROUNDS: usize = 3;

const OURS: &str = r#"
#[tokio::main]
async fn main() {
    let client = modelarts_ext::Client::from_env().unwrap();
    let job = client.training_jobs().get("x").await.unwrap();
    println!("{}", serde_json::to_string(job.details()).unwrap());
}
"#;

const FLOOR: &str = r#"
#[tokio::main]
async fn main() {
    let answer = reqwest::get("https://example.com").await.unwrap();
    let value: serde_json::Value = answer.json().await.unwrap();
    println!("{value}");
}
"#;

/// Compares clean debug builds of two small programs.
pub fn compare() -> Result<()> {
    let ext = root().join("crates/modelarts-ext");
    let common = "tokio = { version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }\nserde_json = \"1\"\n";
    let ours = format!("modelarts-ext = {{ path = {ext:?} }}\n{common}");
    let floor = format!("reqwest = {{ version = \"0.13\", features = [\"json\"] }}\n{common}");
    let floor = Program::new("floor", &floor, FLOOR)?;
    let ours = Program::new("ours", &ours, OURS)?;
    let mut rows = Vec::new();
    for _ in 0..ROUNDS {
        rows.push((ours.build()?, floor.build()?));
    }
    println!("Clean debug build of a program, {ROUNDS} rounds in turn; medians:\n");
    println!("| | CPU, s | wall, s |\n|---|---|---|");
    let middle =
        |part: fn(&(Cost, Cost)) -> f64| crate::timing::median(rows.iter().map(part).collect());
    println!(
        "| modelarts-ext | {:.1} | {:.1} |",
        middle(|r| r.0.cpu),
        middle(|r| r.0.wall)
    );
    println!(
        "| reqwest, tokio, serde_json | {:.1} | {:.1} |",
        middle(|r| r.1.cpu),
        middle(|r| r.1.wall)
    );
    println!(
        "| **ratio** (target 2.3 at the most) | **{:.2}** | **{:.2}** |\n",
        middle(|r| r.0.cpu / r.1.cpu),
        middle(|r| r.0.wall / r.1.wall)
    );
    Ok(())
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_owned()
}

struct Cost {
    wall: f64,
    cpu: f64,
}

struct Program {
    dir: tempfile::TempDir,
}

impl Program {
    /// A package with these dependencies, which are downloaded already.
    fn new(name: &str, dependencies: &str, main: &str) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        fs::create_dir(dir.path().join("src"))?;
        fs::write(dir.path().join("src/main.rs"), main)?;
        fs::write(
            dir.path().join("Cargo.toml"),
            format!(
                "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                 [dependencies]\n{dependencies}\n[workspace]\n"
            ),
        )?;
        // The same versions on both sides as far as they share them.
        fs::copy(root().join("Cargo.lock"), dir.path().join("Cargo.lock"))?;
        let program = Self { dir };
        program.cargo("fetch")?;
        Ok(program)
    }

    fn build(&self) -> Result<Cost> {
        let target = self.dir.path().join("target");
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        let before = children();
        let begin = Instant::now();
        self.cargo("build")?;
        Ok(Cost {
            wall: begin.elapsed().as_secs_f64(),
            cpu: children().saturating_sub(before).as_secs_f64(),
        })
    }

    fn cargo(&self, command: &str) -> Result<()> {
        let status = Command::new("cargo")
            .args([command, "--quiet"])
            .env("CARGO_TARGET_DIR", self.dir.path().join("target"))
            .current_dir(self.dir.path())
            .status()?;
        ensure!(status.success(), "cargo {command}: {status}");
        Ok(())
    }
}

/// The processor time of all processes that were started and have ended.
fn children() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Duration::ZERO;
    };
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

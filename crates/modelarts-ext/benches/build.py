#!/usr/bin/env python3
"""Measures clean debug builds of small programs, offline: build.py [api|ext]; both if not given.

Each program is compared with one that sends the same request with reqwest and serde_json alone.
The builds of a round alternate, and the tables show medians."""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ROUNDS = 3

BARE = """#[tokio::main]
async fn main() {
    let answer = reqwest::get("http://127.0.0.1").await.unwrap();
    let value: serde_json::Value = answer.json().await.unwrap();
    println!("{value}");
}
"""
# The generated client with a minimal transport.
API = """use modelarts_api::*;
struct Plain;
impl Transport for Plain {
    fn execute<'a>(&'a self, http: &'a reqwest::Client, request: reqwest::Request,
        _: &'static Operation) -> BoxFuture<'a, Result<RawResponse, TransportError>> {
        Box::pin(async {
            let response = http.execute(request).await.map_err(TransportError::Http)?;
            RawResponse::read(response).await.map_err(TransportError::Http)
        })
    }
}
#[tokio::main]
async fn main() {
    let context = Context::new(std::sync::Arc::new(Plain));
    let client = Client::new_with_client("http://127.0.0.1", reqwest::Client::new(), context);
    let call = client.show_training_job_details().project_id("p").training_job_id("j");
    println!("{}", serde_json::to_string(&*call.send().await.unwrap()).unwrap());
}
"""
EXT = """#[tokio::main]
async fn main() {
    let client = modelarts_ext::Client::from_env().unwrap();
    let job = client.training_jobs().get("x").await.unwrap();
    println!("{}", serde_json::to_string(job.details()).unwrap());
}
"""
COMMON = """package = { name = "program", version = "0.0.0", edition = "2024" }
workspace = {}
[dependencies]
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
"""


def crate(name, *features, source='version = "0"'):
    """Returns a dependency with these features and no others."""
    return f"{name} = {{ {source}, default-features = false, features = {list(features)} }}\n"


def ours(name, *features):
    return crate(name, *features, source=f'path = "{ROOT}/crates/{name}"')


# The features that modelarts-api uses, without TLS, and those that modelarts-ext uses, with rustls.
PLAIN = crate("reqwest", "json", "query", "stream")
TLS = (crate("reqwest", "json", "query", "stream", "gzip", "system-proxy", "rustls-no-provider")
       + crate("rustls", "std", "ring", "tls12", "logging") + crate("rustls-platform-verifier"))


# Name, dependencies, source, and the maximum ratio to the first program of the table.
TABLES = {
    "api": [
        ("reqwest, serde_json", PLAIN, BARE, ""),
        ("modelarts-api, generated", PLAIN + ours("modelarts-api", "generate"), API, "2.3"),
        ("modelarts-api, packaged code", PLAIN + ours("modelarts-api"), API, "1.6"),
    ],
    "ext": [
        ("reqwest with TLS, serde_json", TLS, BARE, ""),
        ("modelarts-ext (packaged code)", ours("modelarts-ext", "default"), EXT, "2.3"),
        ("modelarts-ext, generated", ours("modelarts-ext", "default", "generate"), EXT, "2.3"),
    ],
}


def cargo(directory, *arguments):
    # Users install the crates from a registry, and cargo does not build such crates incrementally.
    environment = dict(os.environ, CARGO_TARGET_DIR=f"{directory}/target", CARGO_INCREMENTAL="0")
    environment = {name: value for name, value in environment.items()
                   if name != "RUSTFLAGS" and not name.startswith("CARGO_PROFILE_")}
    command = ["cargo", *arguments, "--offline"]
    return subprocess.check_output(command, cwd=directory, env=environment, text=True)


def build(directory):
    """Returns the processor time and the elapsed time of a clean build."""
    def cpu():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    shutil.rmtree(directory / "target", ignore_errors=True)
    cpu_before, begin = cpu(), time.monotonic()
    cargo(directory, "build", "--quiet")
    return cpu() - cpu_before, time.monotonic() - begin


def crates(directory):
    """Returns the number of packages in the build, including those of build scripts."""
    tree = cargo(directory, "tree", "--edges=normal,build", "--prefix=none", "--no-dedupe")
    return len({tuple(line.split()[:2]) for line in tree.splitlines() if line})


def measure(cases, place):
    directories = []
    for number, (_, dependencies, source, _) in enumerate(cases):
        directory = Path(place) / str(number)
        (directory / "src").mkdir(parents=True)
        (directory / "src/main.rs").write_text(source)
        (directory / "Cargo.toml").write_text(COMMON + dependencies)
        # The versions are those of the workspace, which cargo has already downloaded.
        shutil.copy(ROOT / "Cargo.lock", directory)
        directories.append(directory)
    costs = [[] for _ in cases]
    for _ in range(ROUNDS):
        for (name, *_), directory, costs_of_case in zip(cases, directories, costs):
            costs_of_case.append(build(directory))
            print(f"{name}: %.1f s CPU, %.1f s" % costs_of_case[-1], file=sys.stderr)
    print("| a program with | crates | CPU, s | elapsed, s | CPU ratio | elapsed ratio | target |")
    print("|---|---|---|---|---|---|---|")
    for (name, _, _, target), directory, mine in zip(cases, directories, costs):
        figures = [statistics.median(cost[part] for cost in mine) for part in (0, 1)]
        ratios = [statistics.median(cost[part] / bare[part] for cost, bare in zip(mine, costs[0]))
                  for part in (0, 1)]
        print(f"| {name} | {crates(directory)} | %.1f | %.1f | %.2f | %.2f | {target} |"
              % (*figures, *ratios))
    print()


for table in sys.argv[1:] or TABLES:
    if table not in TABLES:
        sys.exit(f"error: {table} must be one of {', '.join(TABLES)}")
    with tempfile.TemporaryDirectory() as place:
        measure(TABLES[table], place)

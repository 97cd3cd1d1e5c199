#!/usr/bin/env python3
"""Measures the tool as it is released, compared with programs that do the same with less.

The programs of a row run in turn; the table shows medians. Needs curl. A size or a ratio above its
target ends the program with exit code 1."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
TOOL = str(TARGET / "distribution/modelarts")
LINES = 200_000
MAX_SIZE = 20.0


def build():
    """Builds the tool, and returns the path of the program that uses the library alone."""
    def cargo(*arguments):
        command = ["cargo", *arguments, "--profile=distribution"]
        return subprocess.check_output(command, cwd=ROOT, text=True)
    cargo("build", "--quiet", "-p", "modelarts-cli", "-p", "modelarts-emulator")
    messages = cargo("bench", "-p", "modelarts-bench", "--bench", "client", "--no-run",
                     "--message-format=json-render-diagnostics")
    programs = [json.loads(line).get("executable") for line in messages.splitlines()]
    return next(program for program in programs if program)


def emulator(directory, name, jobs):
    """Starts an emulator with jobs. Returns its process and the environment of its clients."""
    (directory / f"{name}.json").write_text(json.dumps({"jobs": jobs}))
    process = subprocess.Popen(
        [TARGET / "distribution/modelarts-emulator", "serve", "--end-with-stdin", "--token=bench",
         "--timing=instant", "--job-quota=4294967295", f"--seed={name}.json", f"--data-dir={name}"],
        cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ready = json.loads(process.stdout.readline())
    return process, {"HOME": str(directory), "HW_AUTH_TOKEN": "bench",
                     "MODELARTS_ENDPOINT": ready["url"],
                     "HUAWEICLOUD_SDK_PROJECT_ID": ready["project_id"]}


def whole(environment, *command):
    """Runs a program to its end. Returns the time in milliseconds."""
    begin = time.monotonic()
    # Without close_fds, Python starts the program by posix_spawn, which is faster.
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, close_fds=False, check=True)
    return (time.monotonic() - begin) * 1000


def until_line(number, environment, *command):
    """Runs a program until it has printed this line. Returns the time in milliseconds."""
    begin = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                          close_fds=False) as process:
        lines = [process.stdout.readline() for _ in range(number)]
        elapsed = time.monotonic() - begin
        process.kill()
    if not lines[-1]:
        sys.exit(f"error: {command}: fewer than {number} lines")
    return elapsed * 1000


def compare(name, other, rounds, target, ours, theirs):
    pairs = [(ours(), theirs()) for _ in range(rounds + 1)][1:]
    mine, its = map(statistics.median, zip(*pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"| {name} | {mine:.1f} | {other} | {its:.1f} | **{ratio:.2f}** | at most {target} |")
    return ratio <= target


def measure(directory):
    library = build()
    size = os.path.getsize(TOOL) / 1e6
    print(f"Size of the program, stripped: {size:.1f} MB (target: at most {MAX_SIZE})\n")
    log = "".join(f"epoch {n} loss 0.{n:06} of the training\n" for n in range(LINES))
    few_process, few = emulator(directory, "few", [{"name": "job-{n}", "count": 10}])
    many_process, many = emulator(
        directory, "many",
        [{"name": "job-{n}", "count": 10_000}, {"name": "long", "logs": {"worker-0": log}}])
    empty = str(directory / "empty")
    subprocess.run(["rustc", "-O", "-o", empty, "-"], input="fn main() {}", text=True, check=True)
    project = f"{few['MODELARTS_ENDPOINT']}/v2/{few['HUAWEICLOUD_SDK_PROJECT_ID']}"
    curl = ["curl", "-sf", "-H", "content-type: application/json", "-H", "x-auth-token: bench",
            "-d", '{"offset":0,"limit":50,"sort_by":"create_time","order":"desc"}',
            f"{project}/training-job-searches"]
    print("| | program, ms | compared with | ms | ratio | target |\n|---|---|---|---|---|---|")
    met = [
        compare("`--help`", "an empty Rust program", 41, 3.0,
                lambda: whole(few, TOOL, "--help"), lambda: whole(few, empty)),
        compare("`ls` of 10 jobs", "curl, the same request", 41, 2.0,
                lambda: whole(few, TOOL, "ls"), lambda: whole(os.environ, *curl)),
        # The first line of the tool has the headings.
        compare("first row of 10,000 jobs", "the library's first page", 21, 1.5,
                lambda: until_line(2, many, TOOL, "ls"),
                lambda: until_line(1, many, library, "first-page")),
        compare("`logs -f` of 200,000 lines", "the library's lines", 5, 1.5,
                lambda: whole(many, TOOL, "logs", "-f", "long"),
                lambda: whole(many, library, "follow-log")),
    ]
    for process in (few_process, many_process):
        process.communicate()
    if size > MAX_SIZE or not all(met):
        sys.exit("error: a target is missed")


os.environ["RUST_LOG"] = "off"
with tempfile.TemporaryDirectory() as place:
    measure(Path(place))

#!/usr/bin/env python3
"""Measures the emulator as an optimised program: service.py [load|lists]; both if not given.

The emulator simulates jobs without delays, and stores them in SQLite. A figure that misses its
target ends the program with exit code 1. `load` needs wrk."""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
HEADERS = {"x-auth-token": "bench", "content-type": "application/json"}
CONNECTIONS, JOBS = 32, 10_000
# Events of a simulated job, from its creation to its bill.
EVENTS = 10
FEW, MANY = 1_000, 100_000
ROUNDS, CALLS = 15, 20
# Maximum growth of the memory in MB, independent of the number of jobs.
GROWTH = 64


class Emulator:
    """Running emulator, with a connection for each thread."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        script = Path(self.directory.name) / "script.json"
        script.write_text('{"default": [{"log": ["done"]}]}')
        self.process = subprocess.Popen(
            [os.path.abspath(TARGET / "release/modelarts-emulator"), "serve", "--end-with-stdin",
             "--timing=instant", "--runner=simulated", f"--script={script}", "--token=bench",
             "--job-quota=4294967295"],
            cwd=self.directory.name, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready = json.loads(self.process.stdout.readline())
        self.url = f"{ready['url']}/v2/{ready['project_id']}"
        self.local = threading.local()

    def send(self, path, body=None):
        try:
            return self.request(path, body)
        except ConnectionError:
            # The emulator closes idle connections.
            self.local.connection.close()
            return self.request(path, body)

    def request(self, path, body):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection(self.url.split("/")[2])
        url = path if path.startswith("/_") else self.url + path
        method, text = ("POST", json.dumps(body)) if body else ("GET", None)
        self.local.connection.request(method, url, text, HEADERS)
        response = self.local.connection.getresponse()
        text = response.read()
        assert response.status < 300, (response.status, text)
        return json.loads(text)

    def search(self, **search):
        return self.send("/training-job-searches", {"limit": 10, **search})

    def memory(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) // 1024

    def wait_for(self, jobs):
        """Waits until exactly this number of jobs exists, and all of them have completed."""
        until = time.monotonic() + 120
        while self.search(filters=[where("phase", "in", "Completed")])["count"] != jobs:
            assert time.monotonic() < until, "the jobs do not complete"
            time.sleep(0.02)
        assert self.search()["count"] == jobs, "jobs are lost or double"

    def create(self, name):
        job = {"kind": "job", "metadata": {"name": name},
               "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "python train.py"},
               "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}}}
        return self.send("/training-jobs", job)["metadata"]["id"]

    def check(self, job):
        """Checks that all events and the log of a job can be read."""
        path = f"/training-jobs/{job}"
        # The emulator writes the last event shortly after the completion of the job.
        until = time.monotonic() + 60
        while (total := self.send(f"{path}/events")["total"]) != EVENTS:
            assert time.monotonic() < until, f"{total} events of the job {job}"
            time.sleep(0.02)
        log = self.send(f"{path}/tasks/worker-0/logs/preview")["content"]
        assert log == "done\n", f"the log of the job {job} is {log!r}"

    def fill(self, jobs, end):
        """Creates jobs in past states, one for each second before `end`."""
        batch = min(jobs, 10_000)
        for first in range(0, jobs, batch):
            at, seeds = end - jobs + first, []
            for phase, tenths in [("Completed", 6), ("Failed", 3), ("Terminated", 1)]:
                count = batch * tenths // 10
                seeds.append({"name": f"run-{first // batch}-{phase}-{{n}}", "count": count,
                              "phase": phase, "created": at * 1000})
                at += count
            self.send("/_emulator/seeds", {"jobs": seeds})
        running = {"name": "now-{n}", "count": 100, "phase": "Running"}
        self.send("/_emulator/seeds", {"jobs": [running]})

    def milliseconds(self, search):
        begin = time.monotonic()
        for _ in range(CALLS):
            assert len(self.search(**search)["items"]) == 10, search
        return (time.monotonic() - begin) * 1000 / CALLS


def where(key, operator, *value):
    return {"key": key, "operator": operator, "value": list(value)}


def searches(jobs, end):
    def named(part):
        return {"filters": [where("name", "like", part)]}

    def between(first, last):
        times = [str((end - ago) * 1000) for ago in (first, last)]
        return where("create_time", "between", *times)
    half = between(jobs * 3 // 4, jobs // 4)
    failed = where("phase", "in", "Failed")
    return {
        "all, the first page": {},
        "all, the page in the middle": {"offset": jobs // 20},
        "failed, 30 % of all": {"filters": [failed]},
        "failed, the page in the middle": {"filters": [failed], "offset": jobs * 3 // 200},
        "running, 100 of all": {"filters": [where("phase", "in", "Running")]},
        "a part of the name, few match": named("run-0-Completed-55"),
        "a part of the name, all match": named("run-"),
        "a part of the name, 60 % match": named("Completed"),
        "ten minutes": {"filters": [between(900, 300)]},
        "half of the time": {"filters": [half]},
        "failed in half of the time": {"filters": [half, failed]},
    }


def load():
    emulator = Emulator()
    job = emulator.create("measured")
    emulator.wait_for(1)
    print("| | responses per second |\n|---|---|")
    for name, path in [("show", ""), ("events", "/events")]:
        report = subprocess.check_output(
            ["wrk", f"-c{CONNECTIONS}", "-t1", "-d5s", "-Hx-auth-token: bench",
             f"{emulator.url}/training-jobs/{job}{path}"], text=True)
        assert "Non-2xx" not in report and "Socket errors" not in report, report
        print(f"| {name} | {re.search(r'Requests/sec: +([0-9]+)', report)[1]} |")
    before, begin = emulator.memory(), time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        jobs = list(pool.map(lambda number: emulator.create(f"job-{number}"), range(JOBS)))
        created = time.monotonic() - begin
        emulator.wait_for(JOBS + 1)
        ended, after = time.monotonic() - begin, emulator.memory()
        list(pool.map(emulator.check, jobs))
    print(f"\n| {JOBS} jobs | |\n|---|---|\n| all created after | {created:.1f} s |")
    print(f"| **all completed after** (target: at most 60 s) | **{ended:.1f} s** |")
    print("| errors, jobs lost, events lost, log lines lost | 0 |")
    print(f"| memory before, after | {before} MB, {after} MB |\n")
    if ended > 60 or after > before + GROWTH:
        sys.exit(f"error: it must take at most 60 s and {GROWTH} MB more memory")


def lists():
    end = int(time.time()) - 10
    few, many = Emulator(), Emulator()
    few.fill(FEW, end)
    many.fill(MANY, end)
    memory = [few.memory(), many.memory()]
    print(f"| list | {FEW} jobs | {MANY} jobs | ratio (target: at most 3) |\n|---|---|---|---|")
    missed = []
    for (name, of_few), of_many in zip(searches(FEW, end).items(), searches(MANY, end).values()):
        rounds = [(few.milliseconds(of_few), many.milliseconds(of_many)) for _ in range(ROUNDS)]
        short, long = map(statistics.median, zip(*rounds))
        print(f"| {name} | {short:.2f} | {long:.2f} | {long / short:.2f} |")
        missed += [name] if long > 3 * short else []
    after = [few.memory(), many.memory()]
    print(f"\nResident memory: {memory} MB before and {after} MB after all lists.\n")
    if missed or after[1] > after[0] + GROWTH:
        sys.exit(f"error: too slow: {missed}, or more than {GROWTH} MB of memory for more jobs")


known = {"load": load, "lists": lists}
if not set(sys.argv[1:]) <= known.keys():
    sys.exit(f"error: {sys.argv[1:]} must be load or lists")
os.environ["RUST_LOG"] = "off"
subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "modelarts-emulator"],
               cwd=ROOT, check=True)
for name in sys.argv[1:] or known:
    known[name]()

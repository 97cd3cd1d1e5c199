#!/usr/bin/env python3
"""Measures the time from the start of the emulator to its first response, and its memory.

usage: start.py PROGRAM [ROUNDS]

PROGRAM is target/release/modelarts-emulator. Each round starts, in alternation, the emulator in new
directories and `true`, which is the least time of a process. Prints a table of medians.
"""

import http.client
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def start(program):
    """Returns the milliseconds to the first response, and the resident memory in MiB."""
    with tempfile.TemporaryDirectory() as place:
        begin = time.perf_counter()
        command = [program, "serve", "--data-dir", f"{place}/data", "--obs-root", f"{place}/obs"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        host = json.loads(process.stdout.readline())["url"].removeprefix("http://")
        connection = http.client.HTTPConnection(host)
        connection.request("GET", "/_emulator/health")
        assert connection.getresponse().status == 200
        elapsed = time.perf_counter() - begin
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        memory = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
        connection.close()
        process.terminate()
        process.wait()
    return elapsed * 1000, int(memory) / 1024


def floor():
    begin = time.perf_counter()
    subprocess.run(["true"], check=True, stdout=subprocess.PIPE)
    return (time.perf_counter() - begin) * 1000


def main():
    program = sys.argv[1]
    rounds = [(*start(program), floor()) for _ in range(int(sys.argv[2]) if sys.argv[2:] else 21)]
    elapsed, memory, least = (statistics.median(column) for column in zip(*rounds))
    print("| | ms | MiB |\n|---|---|---|")
    print(f"| emulator, to the first response | {elapsed:.1f} | {memory:.1f} |")
    print(f"| `true` | {least:.1f} | |")


if __name__ == "__main__":
    main()

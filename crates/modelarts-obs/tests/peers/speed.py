"""Measures transfers of modelarts-obs beside rclone and the AWS CLI, over the emulator.

usage: speed.py [ROUNDS]

Each program runs as a process of its own, at its defaults and with 16 transfers at once. The rounds
of the programs alternate. The tables show medians. MODELARTS_EMULATOR and MODELARTS_OBS_PEER must be
optimised builds.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import servers
from clients import AwsCli, ModelartsObs, Rclone

TRANSFERS = 16
# Delay of each response of the emulator in the workload of many files.
DELAY_MS = 20
BUCKET = "speed"


class Measured:
    """A client whose processes are measured."""

    def run(self, *arguments):
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": os.environ["HOME"],
            "LC_ALL": "C.UTF-8",
            **self.variables(),
        }
        with tempfile.TemporaryFile() as output:
            started = time.monotonic()
            process = subprocess.Popen(
                [*self.command, *map(str, arguments)], env=environment, stdout=output, stderr=output
            )
            _, status, used = os.wait4(process.pid, 0)
            self.seconds = time.monotonic() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            # Linux counts in KiB.
            self.mebibytes = used.ru_maxrss / 1024
            output.seek(0)
            if process.returncode != 0:
                raise RuntimeError(f"{self.label}: {output.read().decode()}")


class Ours(Measured, ModelartsObs):
    label = "modelarts-obs"
    default = True

    def up(self, directory, prefix):
        self.run("send", directory, BUCKET, prefix)

    def down(self, prefix, directory):
        self.run("receive", BUCKET, prefix, directory)


class OtherRclone(Measured, Rclone):
    def __init__(self, place, default):
        super().__init__(place)
        self.default = default
        self.label = "rclone" if default else f"rclone, {TRANSFERS} transfers"

    def variables(self):
        set_ = super().variables()
        del set_["RCLONE_TRANSFERS"]
        if not self.default:
            set_["RCLONE_TRANSFERS"] = str(TRANSFERS)
            set_["RCLONE_CHECKERS"] = str(TRANSFERS)
            set_["RCLONE_S3_UPLOAD_CONCURRENCY"] = str(TRANSFERS)
            set_["RCLONE_MULTI_THREAD_STREAMS"] = str(TRANSFERS)
        return set_

    def up(self, directory, prefix):
        self.run("sync", directory, f"peer:{BUCKET}/{prefix}")

    def down(self, prefix, directory):
        self.run("sync", f"peer:{BUCKET}/{prefix}", directory)


class OtherAws(Measured, AwsCli):
    def __init__(self, place, default, directory):
        super().__init__(place)
        self.default = default
        self.label = "aws s3 sync" if default else f"aws s3 sync, {TRANSFERS} transfers"
        self.settings = directory / f"aws-{default}"
        lines = "" if default else f"[default]\ns3 =\n  max_concurrent_requests = {TRANSFERS}\n"
        self.settings.write_text(lines)

    def variables(self):
        return {**super().variables(), "AWS_CONFIG_FILE": str(self.settings)}

    def sync(self, source, target):
        self.run("--endpoint-url", self.place.url, "s3", "sync", "--only-show-errors", source, target)

    def up(self, directory, prefix):
        self.sync(directory, f"s3://{BUCKET}/{prefix}")

    def down(self, prefix, directory):
        self.sync(f"s3://{BUCKET}/{prefix}", directory)


def administer(emulator, method, route, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{emulator.url}/_emulator/{route}", data, method=method)
    with urllib.request.urlopen(request, timeout=60) as reply:
        text = reply.read()
    return json.loads(text) if text else None


def requests(emulator):
    counts = administer(emulator, "GET", "requests")
    return {name: count for name, count in counts.items() if name.startswith("obs.")}


def table(title, clients, seconds):
    """Prints the medians, with their ratios to those of modelarts-obs in the same rounds."""
    print(f"\n{title}\n\n| | seconds | ratio to modelarts-obs | memory, MiB |\n|---|---|---|---|")
    ours = seconds["modelarts-obs"]
    for client in clients:
        own = seconds[client.label]
        ratio = statistics.median(a[0] / b[0] for a, b in zip(own, ours))
        median = statistics.median(entry[0] for entry in own)
        memory = max(entry[1] for entry in own)
        print(f"| {client.label} | {median:.2f} | {ratio:.2f} | {memory:.0f} |", flush=True)


def measure(name, title, files, clients, obs_root, directory, rounds):
    sent, received = {}, {}
    for round_ in range(rounds):
        for client in clients:
            prefix = f"{name}-{round_}"
            client.up(files, prefix)
            sent.setdefault(client.label, []).append((client.seconds, client.mebibytes))
            target = directory / "received"
            client.down(prefix, target)
            received.setdefault(client.label, []).append((client.seconds, client.mebibytes))
            count = sum(path.is_file() for path in target.rglob("*"))
            assert count == sum(path.is_file() for path in files.rglob("*")), count
            shutil.rmtree(target)
            shutil.rmtree(obs_root / BUCKET / prefix)
    table(f"{title}: up", clients, sent)
    table(f"{title}: down", clients, received)


def unchanged(files, clients, emulator, rounds):
    """Measures a second synchronization, which transfers nothing."""
    seconds, counts = {}, {}
    for client in clients:
        client.up(files, f"same-{client.label.replace(', ', '-').replace(' ', '-')}")
    for _ in range(rounds):
        for client in clients:
            before = requests(emulator)
            client.up(files, f"same-{client.label.replace(', ', '-').replace(' ', '-')}")
            seconds.setdefault(client.label, []).append((client.seconds, client.mebibytes))
            after = requests(emulator)
            counts[client.label] = {
                name: entry["received"] - before.get(name, {"received": 0})["received"]
                for name, entry in after.items()
                if entry["received"] != before.get(name, {"received": 0})["received"]
            }
    table("1,000 unchanged files", clients, seconds)
    for label, count in counts.items():
        print(f"{label}: {count}")


def main():
    rounds = int(sys.argv[1]) if sys.argv[1:] else 5
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        os.environ["MODELARTS_CACHE_DIR"] = str(directory / "cache")
        many, large = directory / "many", directory / "large"
        many.mkdir()
        large.mkdir()
        for number in range(1000):
            (many / f"{number:04}.bin").write_bytes(os.urandom(10_000))
        with open(large / "large.bin", "wb") as file:
            for _ in range(1024):
                file.write(os.urandom(1 << 20))
        with servers.emulator(directory) as emulator:
            place = emulator.place
            clients = [Ours(place)]
            for default in (True, False):
                clients.append(OtherRclone(place, default))
                clients.append(OtherAws(place, default, directory))
            clients[0].make(BUCKET)
            delay = {"operation": "obs.*", "fault": "delay", "ms": DELAY_MS, "times": 10_000_000}
            administer(emulator, "POST", "faults", delay)
            obs_root = directory / "obs"
            title = f"1,000 files of 10 kB, {DELAY_MS} ms added to each response"
            measure("many", title, many, clients, obs_root, directory, rounds)
            unchanged(many, clients, emulator, rounds)
            administer(emulator, "DELETE", "faults")
            measure("large", "one file of 1 GiB", large, clients, obs_root, directory, max(1, rounds // 2))


if __name__ == "__main__":
    main()

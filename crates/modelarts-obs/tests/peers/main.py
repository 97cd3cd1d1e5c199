"""Runs clients of OBS against servers, and compares what they send, list and receive.

usage: main.py [--all]

Without --all, boto3, the vendor's SDK and modelarts-obs run against the emulator, and modelarts-obs
and boto3 against moto. With --all, rclone, the AWS CLI and SeaweedFS (from all.txt) run, too.
"""

import logging
import sys
import tempfile
import time
from pathlib import Path

import servers
import tree
from clients import AwsCli, Boto3, Esdk, ModelartsObs, Rclone

OURS = [Boto3, Esdk, ModelartsObs]


def check_writer(writer, bucket, files, many):
    """Creates a bucket, uploads files, copies an object and deletes another one."""
    writer.make(bucket)
    writer.send(files, bucket, "data")
    writer.send(many, bucket, "many")
    writer.copy(bucket, "data/with blank.txt", "other/a copy+ü.txt")
    writer.copy(bucket, "data/empty", "other/deleted")
    writer.remove(bucket, "other/deleted")
    if not isinstance(writer, Rclone):
        # The deletion of a missing object succeeds. rclone sends no request for it.
        writer.remove(bucket, "other/deleted")


def check_reader(reader, bucket, directory):
    """Checks the contents of a bucket, its lists and a range of an object."""
    reader.receive(bucket, "data", directory / "data")
    tree.compare(directory / "data")
    reader.receive(bucket, "other", directory / "other")
    copies = {path.name: path.read_bytes() for path in (directory / "other").iterdir()}
    assert copies == {"a copy+ü.txt": tree.contents("with blank.txt", 10)}, copies.keys()
    expected = [f"many/{number:04}" for number in range(tree.MANY - 1)]
    expected.append("many/below/" if reader.delimits else "many/below/one")
    found = sorted(reader.names(bucket, "many"))
    assert found == sorted(expected), set(found) ^ set(expected)
    if reader.part is not None:
        first, last = tree.RANGE
        whole = tree.contents("large.bin", tree.FILES["large.bin"])
        assert reader.part(bucket, "data/large.bin", first, last) == whole[first : last + 1]


def check_refused(kind, place, bucket):
    """Fails unless a server rejects a wrong secret key."""
    try:
        kind(place.with_wrong_key()).names(bucket, "data")
    except Exception as error:
        assert "SignatureDoesNotMatch" in str(error) or "AccessDenied" in str(error), error
    else:
        raise AssertionError("a wrong key is accepted")


def check(server, place, writers, readers):
    """Lets every reader read what every writer has written."""
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        files, many = directory / "files", directory / "many"
        tree.write(files)
        tree.write_many(many)
        for writer in writers:
            started = time.monotonic()
            bucket = f"from-{writer.name}"
            check_writer(writer(place), bucket, files, many)
            took = time.monotonic() - started
            print(f"{server}: {writer.name} wrote {bucket} ({took:.1f} s)", flush=True)
            for reader in readers:
                started = time.monotonic()
                received = directory / f"{writer.name}-{reader.name}"
                check_reader(reader(place), bucket, received)
                took = time.monotonic() - started
                print(f"{server}: {reader.name} read {bucket} ({took:.1f} s)", flush=True)
        for kind in {*writers, *readers}:
            check_refused(kind, place, f"from-{writers[0].name}")
        print(f"{server}: a wrong key is rejected", flush=True)


SCRIPT = """\
import boto3
s3 = boto3.client("s3")
body = s3.get_object(Bucket="from-boto3", Key="data/with blank.txt")["Body"].read()
s3.put_object(Bucket="from-boto3", Key="job/result.txt", Body=body * 2)
print(len(body))
"""


def check_job(emulator):
    """Runs a job that uses boto3 with the variables of its environment."""
    client = Boto3(emulator.place)
    client.s3.put_object(Bucket="from-boto3", Key="job/code/train.py", Body=SCRIPT)
    created = emulator.ask(
        "training-jobs",
        {
            "kind": "job",
            "metadata": {"name": "boto3"},
            "algorithm": {
                "code_dir": "obs://from-boto3/job/code/",
                "boot_file": "obs://from-boto3/job/code/train.py",
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u"}},
        },
    )
    route = f"training-jobs/{created['metadata']['id']}"
    while (phase := emulator.ask(route)["status"]["phase"]) not in ("Completed", "Failed"):
        time.sleep(0.05)
    log = emulator.ask(f"{route}/tasks/worker-0/logs/preview")["content"]
    assert (phase, log) == ("Completed", "10\n"), log
    result = client.s3.get_object(Bucket="from-boto3", Key="job/result.txt")["Body"].read()
    assert result == tree.contents("with blank.txt", 10) * 2
    print("emulator: a job read and wrote objects with boto3", flush=True)


def main():
    # The server of moto logs every request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    everything = sys.argv[1:] == ["--all"]
    further = [Rclone, AwsCli] if everything else []
    with tempfile.TemporaryDirectory() as directory:
        with servers.emulator(Path(directory)) as emulator:
            check("emulator", emulator.place, OURS + further, OURS + further)
            check_job(emulator)
    with servers.moto() as place:
        check("moto", place, [ModelartsObs], [ModelartsObs, Boto3])
    if everything:
        with tempfile.TemporaryDirectory() as directory:
            with servers.seaweedfs(Path(directory)) as place:
                check("seaweedfs", place, [ModelartsObs, Boto3], [ModelartsObs, Boto3] + further)


if __name__ == "__main__":
    main()

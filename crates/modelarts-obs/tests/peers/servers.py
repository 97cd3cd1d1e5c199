"""Servers with the API of OBS, as context managers that yield their addresses and access keys."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from clients import Place

TOKEN = "a-token"


class Emulator:
    """The emulator of this repository, which runs jobs in the current Python environment."""

    name = "emulator"

    def __init__(self, ready):
        self.url, self.project = ready["url"], ready["project_id"]
        self.place = Place(
            ready["obs_url"], ready["access_key"], ready["secret_key"], "cn-north-4"
        )

    def ask(self, route, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Auth-Token": TOKEN, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v2/{self.project}/{route}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)


@contextmanager
def emulator(directory):
    flags = ["--token", TOKEN, "--timing", "instant", "--choose", "obs-keys=environment"]
    flags += ["--data-dir", directory / "data", "--obs-root", directory / "obs"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with subprocess.Popen(
        [os.environ["MODELARTS_EMULATOR"], "serve", *flags],
        stdout=subprocess.PIPE,
        stderr=open(directory / "emulator.log", "w"),
        env={**os.environ, "PATH": path},
    ) as process:
        try:
            yield Emulator(json.loads(process.stdout.readline()))
        finally:
            process.terminate()


@contextmanager
def moto():
    """Starts moto, which checks signatures after the first requests."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        policy = {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
        }
        iam = boto3.client(
            "iam", endpoint_url=url, aws_access_key_id="a", aws_secret_access_key="b",
            region_name="us-east-1",
        )
        # Sets the number of requests that moto accepts without a valid signature.
        count = urllib.request.Request(
            f"{url}/moto-api/reset-auth", b"3", {"Content-Type": "text/plain"}
        )
        urllib.request.urlopen(count)
        iam.create_user(UserName="peer")
        iam.put_user_policy(UserName="peer", PolicyName="all", PolicyDocument=json.dumps(policy))
        keys = iam.create_access_key(UserName="peer")["AccessKey"]
        yield Place(url, keys["AccessKeyId"], keys["SecretAccessKey"], "us-east-1")
    finally:
        server.stop()


def free_port():
    """Returns a free port, to which SeaweedFS can add 10,000 for its other protocol."""
    while True:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        if port < 50_000:
            return port


@contextmanager
def seaweedfs(directory):
    """Starts SeaweedFS."""
    keys = ("AKPEER", "SKPEER")
    settings = directory / "s3.json"
    settings.write_text(
        json.dumps(
            {
                "identities": [
                    {
                        "name": "peer",
                        "credentials": [{"accessKey": keys[0], "secretKey": keys[1]}],
                        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                    }
                ]
            }
        )
    )
    port = free_port()
    program = shutil.which("weed", path=str(Path(sys.executable).parent)) or "weed"
    (directory / "weed").mkdir()
    flags = [
        "server", "-ip=127.0.0.1", f"-dir={directory / 'weed'}", "-s3", f"-s3.port={port}",
        f"-s3.config={settings}", f"-master.port={free_port()}", f"-volume.port={free_port()}",
        f"-filer.port={free_port()}", "-volume.max=20",
    ]
    log = open(directory / "weed.log", "w")
    with subprocess.Popen([program, *flags], stdout=log, stderr=log) as process:
        try:
            place = Place(f"http://127.0.0.1:{port}", *keys, "us-east-1")
            wait_for(place)
            yield place
        finally:
            # A regular shutdown waits for all components of the server.
            process.kill()


def wait_for(place):
    """Waits until a server can store an object."""
    from clients import Boto3

    end = time.monotonic() + 60
    while True:
        try:
            client = Boto3(place)
            client.make("ready")
            client.s3.put_object(Bucket="ready", Key="k", Body=b"x")
            return
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)

"""Clients of OBS behind one interface.

`names` returns the keys below a prefix: the keys of the next level if the client supports a
delimiter (`delimits`), otherwise all keys. `part` is None for a client without ranges. An error of
a server is raised as an exception whose text contains the error code.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

TRANSFERS = 16


@dataclass(frozen=True)
class Place:
    """Address of a server, with access keys."""

    url: str
    access_key: str
    secret_key: str
    region: str

    def with_wrong_key(self):
        return replace(self, secret_key="0" * len(self.secret_key))


def files(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


def each(function, items):
    with ThreadPoolExecutor(TRANSFERS) as pool:
        # The list raises the first error.
        return list(pool.map(function, items))


class Boto3:
    name = "boto3"
    delimits = True

    def __init__(self, place):
        import boto3
        from botocore.config import Config

        self.s3 = boto3.client(
            "s3",
            endpoint_url=place.url,
            aws_access_key_id=place.access_key,
            aws_secret_access_key=place.secret_key,
            region_name=place.region,
            config=Config(max_pool_connections=TRANSFERS, retries={"max_attempts": 1}),
        )
        self.region = place.region

    def make(self, bucket):
        settings = {}
        if self.region != "us-east-1":
            settings["CreateBucketConfiguration"] = {"LocationConstraint": self.region}
        self.s3.create_bucket(Bucket=bucket, **settings)

    def send(self, directory, bucket, prefix):
        # Files from 8 MiB are sent in parts.
        each(
            lambda path: self.s3.upload_file(
                str(path), bucket, f"{prefix}/{path.relative_to(directory).as_posix()}"
            ),
            files(directory),
        )

    def receive(self, bucket, prefix, directory):
        def one(key):
            path = directory / key.removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            self.s3.download_file(bucket, key, str(path))

        each(one, self.names(bucket, prefix, delimiter=""))

    def names(self, bucket, prefix, delimiter="/"):
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=f"{prefix}/", Delimiter=delimiter
        )
        found = []
        for page in pages:
            found += [item["Key"] for item in page.get("Contents", [])]
            found += [item["Prefix"] for item in page.get("CommonPrefixes", [])]
        return found

    def part(self, bucket, key, first, last):
        return self.s3.get_object(Bucket=bucket, Key=key, Range=f"bytes={first}-{last}")["Body"].read()

    def copy(self, bucket, source, target):
        self.s3.copy_object(Bucket=bucket, Key=target, CopySource={"Bucket": bucket, "Key": source})

    def remove(self, bucket, key):
        self.s3.delete_object(Bucket=bucket, Key=key)


class Esdk:
    """The vendor's SDK."""

    name = "esdk"
    delimits = True

    def __init__(self, place):
        from obs import ObsClient

        self.obs = ObsClient(
            access_key_id=place.access_key,
            secret_access_key=place.secret_key,
            server=place.url,
            max_retry_count=1,
        )
        self.region = place.region

    def _checked(self, reply):
        if reply.status >= 300:
            raise RuntimeError(f"{reply.errorCode} {reply.errorMessage} HTTP {reply.status}")
        return reply.body

    def make(self, bucket):
        self._checked(self.obs.createBucket(bucket, location=self.region))

    def send(self, directory, bucket, prefix):
        def one(path):
            key = f"{prefix}/{path.relative_to(directory).as_posix()}"
            if path.stat().st_size > 16 << 20:
                sent = self.obs.uploadFile(bucket, key, str(path), partSize=9 << 20, taskNum=4)
            else:
                sent = self.obs.putFile(bucket, key, str(path))
            self._checked(sent)

        each(one, files(directory))

    def receive(self, bucket, prefix, directory):
        def one(key):
            path = directory / key.removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._checked(self.obs.getObject(bucket, key, downloadPath=str(path)))

        each(one, self.names(bucket, prefix, delimiter=None))

    def names(self, bucket, prefix, delimiter="/"):
        found, marker = [], None
        while True:
            page = self._checked(
                self.obs.listObjects(bucket, prefix=f"{prefix}/", marker=marker, delimiter=delimiter)
            )
            found += [item.key for item in page.contents]
            found += [item.prefix for item in page.commonPrefixs]
            if not page.is_truncated:
                return found
            marker = page.next_marker

    def part(self, bucket, key, first, last):
        from obs import GetObjectHeader

        reply = self.obs.getObject(
            bucket, key, headers=GetObjectHeader(range=f"{first}-{last}"), loadStreamInMemory=True
        )
        return self._checked(reply).buffer

    def copy(self, bucket, source, target):
        self._checked(self.obs.copyObject(bucket, source, bucket, target))

    def remove(self, bucket, key):
        self._checked(self.obs.deleteObject(bucket, key))


class Program:
    """A client that is a program."""

    def __init__(self, place):
        self.place = place

    def run(self, *arguments):
        # Programs of this environment of Python precede those of the system.
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {
            "PATH": path,
            "HOME": os.environ["HOME"],
            # File names are encoded in UTF-8.
            "LC_ALL": "C.UTF-8",
            **self.variables(),
        }
        ended = subprocess.run(
            [*self.command, *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if ended.returncode != 0:
            raise RuntimeError(f"{arguments[0]}: {(ended.stderr + ended.stdout).decode()}")
        return ended.stdout


class ModelartsObs(Program):
    name = "modelarts-obs"
    delimits = False
    part = None

    @property
    def command(self):
        return [os.environ["MODELARTS_OBS_PEER"]]

    def variables(self):
        return {
            # The client calls only OBS, so this endpoint is not used.
            "MODELARTS_ENDPOINT": "http://127.0.0.1:1",
            "HUAWEICLOUD_SDK_PROJECT_ID": "none",
            "MODELARTS_CACHE_DIR": os.environ["MODELARTS_CACHE_DIR"],
            "MODELARTS_REGION": self.place.region,
            "MODELARTS_OBS_ENDPOINT": self.place.url,
            "HUAWEICLOUD_SDK_AK": self.place.access_key,
            "HUAWEICLOUD_SDK_SK": self.place.secret_key,
        }

    def make(self, bucket):
        self.run("make", bucket)

    def send(self, directory, bucket, prefix):
        self.run("send", directory, bucket, prefix)

    def receive(self, bucket, prefix, directory):
        self.run("receive", bucket, prefix, directory)

    def names(self, bucket, prefix):
        return self.run("list", bucket, prefix).decode().splitlines()

    def copy(self, bucket, source, target):
        self.run("copy", bucket, source, target)

    def remove(self, bucket, key):
        self.run("remove", bucket, key)


class Rclone(Program):
    name = "rclone"
    delimits = True
    command = ["rclone"]

    def variables(self):
        return {
            "RCLONE_CONFIG": "/dev/null",
            "RCLONE_CONFIG_PEER_TYPE": "s3",
            "RCLONE_CONFIG_PEER_PROVIDER": "Other",
            "RCLONE_CONFIG_PEER_ENDPOINT": self.place.url,
            "RCLONE_CONFIG_PEER_REGION": self.place.region,
            "RCLONE_CONFIG_PEER_ACCESS_KEY_ID": self.place.access_key,
            "RCLONE_CONFIG_PEER_SECRET_ACCESS_KEY": self.place.secret_key,
            "RCLONE_RETRIES": "1",
            "RCLONE_LOW_LEVEL_RETRIES": "1",
            "RCLONE_TRANSFERS": str(TRANSFERS),
        }

    def make(self, bucket):
        self.run("mkdir", f"peer:{bucket}")

    def send(self, directory, bucket, prefix):
        self.run("copy", directory, f"peer:{bucket}/{prefix}", "--s3-upload-cutoff", "16M")

    def receive(self, bucket, prefix, directory):
        self.run("copy", f"peer:{bucket}/{prefix}", directory)

    def names(self, bucket, prefix):
        found = self.run("lsf", f"peer:{bucket}/{prefix}").decode().splitlines()
        return [f"{prefix}/{name}" for name in found]

    def part(self, bucket, key, first, last):
        count = last - first + 1
        return self.run("cat", f"peer:{bucket}/{key}", "--offset", first, "--count", count)

    def copy(self, bucket, source, target):
        self.run("copyto", f"peer:{bucket}/{source}", f"peer:{bucket}/{target}")

    def remove(self, bucket, key):
        self.run("deletefile", f"peer:{bucket}/{key}")


class AwsCli(Program):
    name = "aws"
    delimits = True
    command = ["aws"]

    def variables(self):
        return {
            "AWS_ENDPOINT_URL": self.place.url,
            "AWS_ACCESS_KEY_ID": self.place.access_key,
            "AWS_SECRET_ACCESS_KEY": self.place.secret_key,
            "AWS_DEFAULT_REGION": self.place.region,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_PAGER": "",
        }

    def s3(self, *arguments):
        return self.run("--endpoint-url", self.place.url, "s3", *arguments)

    def api(self, *arguments):
        return self.run("--endpoint-url", self.place.url, "s3api", *arguments)

    def make(self, bucket):
        self.s3("mb", f"s3://{bucket}")

    def send(self, directory, bucket, prefix):
        self.s3("cp", "--recursive", "--only-show-errors", directory, f"s3://{bucket}/{prefix}")

    def receive(self, bucket, prefix, directory):
        self.s3("cp", "--recursive", "--only-show-errors", f"s3://{bucket}/{prefix}", directory)

    def names(self, bucket, prefix):
        listed = self.api(
            "list-objects-v2", "--bucket", bucket, "--prefix", f"{prefix}/", "--delimiter", "/",
            "--output", "json",
        )
        listed = json.loads(listed)
        found = [item["Key"] for item in listed.get("Contents") or []]
        return found + [item["Prefix"] for item in listed.get("CommonPrefixes") or []]

    def part(self, bucket, key, first, last):
        # The program writes the object to a file, and its properties to the output.
        with tempfile.NamedTemporaryFile() as file:
            wanted = f"bytes={first}-{last}"
            self.api("get-object", "--bucket", bucket, "--key", key, "--range", wanted, file.name)
            return file.read()

    def copy(self, bucket, source, target):
        self.s3("cp", "--only-show-errors", f"s3://{bucket}/{source}", f"s3://{bucket}/{target}")

    def remove(self, bucket, key):
        self.s3("rm", "--only-show-errors", f"s3://{bucket}/{key}")

"""A fixture with one emulator for all tests.

The environment variable MODELARTS_EMULATOR names the program, which prints its address as a line
of JSON.
"""

import json
import os
import subprocess
import urllib.error
import urllib.request

import pytest

TOKEN = "a-token"


class Emulator:
    """The address of a running emulator, and a minimal client for it."""

    def __init__(self, ready, obs):
        self.url, self.project = ready["url"], ready["project_id"]
        self.obs = obs

    def control(self, route, body=None, method=None):
        return self._send(f"/_emulator/{route}", body, method)

    def ask(self, route, body=None, method=None):
        return self._send(f"/v2/{self.project}/{route}", body, method)

    def _send(self, path, body, method):
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Auth-Token": TOKEN, "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    place = tmp_path_factory.mktemp("emulator")
    program = os.environ.get("MODELARTS_EMULATOR", "modelarts-emulator")
    flags = ["--token", TOKEN, "--timing", "instant"]
    flags += ["--data-dir", place / "data", "--obs-root", place / "obs"]
    with subprocess.Popen([program, "serve", *flags], stdout=subprocess.PIPE) as process:
        yield Emulator(json.loads(process.stdout.readline()), place / "obs")
        process.terminate()


@pytest.fixture
def emulator(running):
    """Resets the emulator before each test."""
    running.control("reset", method="POST")
    return running

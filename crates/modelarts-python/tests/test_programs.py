"""The installed programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import List

import pytest

from modelarts_tools import program

EMULATOR = "modelarts-emulator"


def output(command: List[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_versions_are_that_of_the_package() -> None:
    version = metadata.version("modelarts-tools")
    assert output(["modelarts", "--version"]) == f"modelarts {version}\n"
    assert output([sys.executable, "-m", "modelarts_tools", "-V"]) == f"modelarts {version}\n"
    assert output([EMULATOR, "--version"]) == f"{EMULATOR} {version}\n"


def test_programs_are_those_of_this_environment() -> None:
    for name in ("modelarts", EMULATOR):
        assert program(name) == Path(sys.prefix, "bin", name).resolve()
    with pytest.raises(FileNotFoundError, match="modelarts-none is not installed"):
        program("modelarts-none")


def test_exit_codes_are_those_of_the_programs() -> None:
    for command in (["modelarts"], [EMULATOR], [sys.executable, "-m", "modelarts_tools"]):
        status = subprocess.run([*command, "--none"], stderr=subprocess.PIPE, text=True)
        assert status.returncode == 2
        assert "unexpected argument '--none'" in status.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -9)]
)
def test_signals_reach_the_emulator(tmp_path: Path, number: signal.Signals, code: int) -> None:
    # A link to the script alone, such as one in ~/.local/bin.
    link = tmp_path / "emulator"
    link.symlink_to(program(EMULATOR))
    with subprocess.Popen(
        [link, "serve"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["url"].startswith("http://127.0.0.1:")
        os.kill(process.pid, number)
        assert process.wait() == code


def test_the_package_has_the_licences_of_its_dependencies() -> None:
    files = metadata.files("modelarts-tools") or []
    notices = [path for path in files if path.name == "THIRD-PARTY-NOTICES.txt"]
    assert len(notices) == 1
    text = notices[0].read_text()
    assert re.search(r"\nprogenitor-client v[0-9.]+: MPL-2.0, https://", text)
    assert text.count("Permission is hereby granted") > 10

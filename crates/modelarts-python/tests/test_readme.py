"""The programs of the pages, and the examples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from modelarts_tools import Emulator

PACKAGE = Path(__file__).parents[1]


def blocks(page: str, language: str) -> List[str]:
    """Returns the code blocks of a page."""
    text = PACKAGE.joinpath(page).read_text(encoding="utf-8")
    found: List[str] = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return found


def run(path: Path, directory: Path) -> List[str]:
    """Runs a program, and returns the lines that it prints."""
    command = [sys.executable, str(path)]
    printed = subprocess.run(command, cwd=directory, check=True, stdout=subprocess.PIPE, text=True)
    return printed.stdout.splitlines()


def shown(block: str, command: str) -> List[str]:
    return block.partition(f"$ {command}\n")[2].splitlines()


def test_the_first_program(tmp_path: Path) -> None:
    program, *_ = blocks("README.md", "python")
    (tmp_path / "first.py").write_text(program)
    session = next(block for block in blocks("README.md", "console") if "first.py" in block)
    # A run that short may pass through phases between two polls.
    phases = {"Creating", "Pending", "Running"}
    printed = [line for line in run(tmp_path / "first.py", tmp_path) if line not in phases]
    assert printed == [line for line in shown(session, "python first.py") if line not in phases]


def test_the_program_of_the_repository(
    modelarts: Emulator, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.makepyfile(train=blocks("FROM-ZERO.md", "python")[0])
    pytester.mkdir("data").joinpath("rows.csv").write_text("1,2\n")
    exec(blocks("../../README.md", "python")[0])
    assert "worker-0 | epoch 2 loss=0.0250" in capsys.readouterr().out
    assert (pytester.path / "results" / "train_url" / "model.txt").is_file()


def test_the_function_with_errors(modelarts: Emulator, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(blocks("README.md", "python")[1], names)
    stop = names["stop"]
    assert callable(stop)
    modelarts.control("seeds", {"jobs": [{"name": "done"}]})
    for name in ("done", "none"):
        stop(modelarts.client(), name)
    assert capsys.readouterr().out == "done has ended already\nthere is no job none\n"


def test_the_test(pytester: pytest.Pytester) -> None:
    [test] = blocks("PYTEST.md", "python")
    pytester.makepyfile(test_nightly=test)
    result = pytester.runpytest("test_nightly.py")
    result.assert_outcomes(passed=1)
    output = blocks("PYTEST.md", "console")[0].splitlines()
    result.stdout.fnmatch_lines([line for line in output if line.startswith("collected")])


def test_from_zero(pytester: pytest.Pytester) -> None:
    train, job, test, _ = blocks("FROM-ZERO.md", "python")
    session, tests = blocks("FROM-ZERO.md", "console")
    pytester.makepyfile(train=train, job=job, test_job=test)
    assert run(pytester.path / "job.py", pytester.path) == shown(session, "python job.py")
    assert (pytester.path / "results" / "train_url" / "model.txt").is_file()
    pytester.syspathinsert()
    result = pytester.runpytest("-q", "-s")
    result.assert_outcomes(passed=shown(tests, "python -m pytest -q")[0].count("."))
    name, *diagnosis = blocks("FROM-ZERO.md", "text")[0].splitlines()
    result.stdout.fnmatch_lines([name.replace("train-q9bn", "*train-????"), *diagnosis])


def test_the_flavors_of_the_page(
    modelarts: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(blocks("FROM-ZERO.md", "python")[3])
    assert "modelarts.vm.cpu.2u {" in capsys.readouterr().out


def test_the_examples(modelarts: Emulator, pytester: pytest.Pytester) -> None:
    examples = PACKAGE / "examples"
    pytester.makepyfile(train=blocks("FROM-ZERO.md", "python")[0])
    command = [sys.executable, str(examples / "sweep.py"), "train.py"]
    for _ in range(2):
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        lines = [line.split() for line in printed.splitlines()]
        assert lines == [
            ["lr", "loss", "job"],
            ["0.1", "0.025", "sweep-2"],
            ["0.2", "0.050", "sweep-1"],
            ["0.4", "0.100", "sweep-0"],
        ]
    assert modelarts.control("requests")["CreateTrainingJob"]["executed"] == 3
    pytester.makepyfile(bad="import nothing_like_this")
    job = modelarts.client(flavor="modelarts.vm.cpu.2u").submit("bad.py")
    job.wait()
    watched = subprocess.run(
        [sys.executable, str(examples / "watcher.py"), "0"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    first, *advice = watched.stdout.splitlines()
    assert first.startswith(f"{job.name}: worker-0 lacks a Python module") and advice
    pytester.copy_example(str(examples / "test_faults.py"))
    pytester.runpytest("test_faults.py").assert_outcomes(passed=7)

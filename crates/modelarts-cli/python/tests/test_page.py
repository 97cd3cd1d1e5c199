"""Code blocks of PYTEST.md."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import List

import pytest

PAGE = Path(__file__).parents[2] / "PYTEST.md"


def blocks(language: str) -> List[str]:
    """Returns the code blocks of the page."""
    page = PAGE.read_text(encoding="utf-8")
    found: List[str] = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    return found


def kept(line: str) -> str:
    """Returns a pattern of the line, without what differs between runs."""
    line = re.sub(r"\d\d:\d\d:\d\d|\b[0-9a-f]{16}/\w+|train-\w{4}|after \d+s", "*", line)
    return line.replace("[", "[[]")


def test_the_run_on_this_machine(tmp_path: Path) -> None:
    session = blocks("console")[0]
    output = session.partition("$ modelarts run --local train.py\n")[2].splitlines()
    (tmp_path / "train.py").write_text("print('trained')\n")
    result = subprocess.run(
        ["modelarts", "run", "--local", "train.py"],
        cwd=tmp_path,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Data is on stdout, and messages about the progress of the command on stderr.
    messages = [line for line in output if line.startswith("✓")]
    # A run that short may pass through other phases before its end.
    data = [line for line in output if line not in messages and "◌" not in line]
    assert (len(messages), len(data)) == (4, 2)
    for printed, lines in ((result.stderr, messages), (result.stdout, data)):
        pytest.LineMatcher(printed.splitlines()).fnmatch_lines([kept(line) for line in lines])


def test_the_test(pytester: pytest.Pytester) -> None:
    [test] = blocks("python")
    pytester.makepyfile(test_nightly=test)
    result = pytester.runpytest("test_nightly.py")
    result.assert_outcomes(passed=1)
    output = blocks("console")[1].splitlines()
    result.stdout.fnmatch_lines([line for line in output if line.startswith("collected")])

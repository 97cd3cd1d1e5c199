"""Tests of a program with faults of the service. Run it with `python -m pytest`.

The function `nightly` stands for the code under test.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from modelarts_tools import Client, Emulator, End, exceptions


def nightly(script: Path) -> End:
    client = Client(flavor="modelarts.vm.cpu.2u")
    return client.submit(script, name="nightly", adopt=True).wait()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("print('trained')\n")
    return path


@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "status", "status": 429},
        {"fault": "status", "status": 503},
        {"fault": "reset"},
        # The job is created, and the response does not arrive.
        {"fault": "lost-answer"},
    ],
)
def test_a_creation_that_fails_once(
    modelarts: Emulator, script: Path, fault: dict[str, object]
) -> None:
    modelarts.control("faults", {"operation": "CreateTrainingJob", **fault})
    assert nightly(script).is_completed
    assert modelarts.control("requests")["CreateTrainingJob"]["executed"] == 1


def test_the_second_run_of_a_night_takes_the_same_job(modelarts: Emulator, script: Path) -> None:
    assert nightly(script).job.id == nightly(script).job.id


def test_a_refusal(modelarts: Emulator, script: Path) -> None:
    fault = {
        "operation": "CreateTrainingJob",
        "fault": "status",
        "status": 403,
        "error_code": "ModelArts.2785",
        "error_msg": "no agency",
    }
    modelarts.control("faults", fault)
    with pytest.raises(exceptions.ModelArtsError, match="no agency") as refused:
        nightly(script)
    assert refused.value.code == "ModelArts.2785"
    assert not refused.value.is_uncertain


def test_a_script_that_fails(modelarts: Emulator, script: Path) -> None:
    script.write_text("import nothing_like_this\n")
    end = nightly(script)
    assert (end.outcome, end.exit_code) == ("failed", 1)
    assert end.job.explain().cause == "missing_module"

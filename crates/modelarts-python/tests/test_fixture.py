"""The fixture `modelarts`, as a test suite uses it."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
from typing import Any, Dict, Iterator, List

import pytest

from modelarts_tools import Emulator, program


def job(emulator: Emulator, script: str) -> Dict[str, Any]:
    """Writes the script into OBS, and returns the body of the creation of its job."""
    code = emulator.obs_root / emulator.bucket / "code"
    code.mkdir()
    (code / "train.py").write_text(script)
    return {
        "kind": "job",
        "metadata": {"name": "job"},
        "algorithm": {
            "code_dir": f"obs://{emulator.bucket}/code/",
            "boot_file": f"obs://{emulator.bucket}/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u"}},
    }


def end_of(emulator: Emulator, job_id: str) -> str:
    while True:
        status = emulator.api(f"training-jobs/{job_id}")["status"]
        phase: str = status["phase"]
        if phase in ("Completed", "Failed", "Terminated", "Abnormal"):
            return phase
        time.sleep(0.02)


def listed() -> List[str]:
    """Returns the names that `modelarts ls` prints with the environment of the test."""
    output = subprocess.run([program(), "ls", "-o", "json"], check=True, stdout=subprocess.PIPE)
    jobs: List[Dict[str, str]] = json.loads(output.stdout)["jobs"]
    return [job["name"] for job in jobs]


@pytest.mark.parametrize(("code", "phase"), [(0, "Completed"), (3, "Failed")])
def test_the_code_of_a_job_runs(modelarts: Emulator, code: int, phase: str) -> None:
    body = job(modelarts, f"print('hello')\nraise SystemExit({code})\n")
    created = modelarts.api("training-jobs", body)
    job_id = created["metadata"]["id"]
    assert end_of(modelarts, job_id) == phase
    log = modelarts.api(f"training-jobs/{job_id}/tasks/worker-0/logs/preview")
    assert log["content"] == "hello\n"


@pytest.mark.parametrize("name", ["first", "second"])
def test_each_test_has_its_own_jobs_and_objects(modelarts: Emulator, name: str) -> None:
    bucket = modelarts.obs_root / modelarts.bucket
    assert list(modelarts.obs_root.iterdir()) == [bucket]
    assert list(bucket.iterdir()) == []
    assert listed() == []
    (bucket / "data").mkdir()
    (bucket / "data" / name).touch()
    modelarts.control("seeds", {"jobs": [{"name": name}]})
    assert listed() == [name]


def test_programs_of_the_test_use_the_emulator(modelarts: Emulator) -> None:
    assert os.environ["MODELARTS_ENDPOINT"] == modelarts.url
    assert os.environ["MODELARTS_OBS_ENDPOINT"] == modelarts.obs_url
    assert os.environ["HUAWEICLOUD_SDK_AK"] == modelarts.access_key
    assert os.environ["HUAWEICLOUD_SDK_SK"] == modelarts.secret_key
    assert os.environ["HUAWEICLOUD_SDK_PROJECT_ID"] == modelarts.project_id
    assert os.environ["MODELARTS_OBS_BUCKET"] == modelarts.bucket
    listed()
    assert modelarts.control("requests")["ListTrainingJobs"]["received"] == 1


def test_a_fault_is_injected(modelarts: Emulator) -> None:
    fault = {"operation": "CreateTrainingJob", "fault": "status", "status": 429}
    modelarts.control("faults", fault)
    body = job(modelarts, "")
    with pytest.raises(urllib.error.HTTPError, match="429.*ModelArts.2799") as refused:
        modelarts.api("training-jobs", body)
    assert refused.value.code == 429
    assert json.load(refused.value)["error_code"] == "ModelArts.2799"
    modelarts.api("training-jobs", body)
    assert modelarts.control("requests")["CreateTrainingJob"] == {"received": 2, "executed": 1}


@pytest.fixture
def cloud() -> Iterator[None]:
    """Settings of a user, which are there again after the test."""
    with pytest.MonkeyPatch.context() as settings:
        for name in ("OS_TOKEN", "HUAWEICLOUD_SDK_AK", "MODELARTS_CONTEXT"):
            settings.setenv(name, "of-the-user")
        yield
        assert os.environ["OS_TOKEN"] == os.environ["HUAWEICLOUD_SDK_AK"] == "of-the-user"


@pytest.mark.usefixtures("cloud")
def test_no_credentials_of_a_cloud_are_left(request: pytest.FixtureRequest) -> None:
    modelarts: Emulator = request.getfixturevalue("modelarts")
    assert "OS_TOKEN" not in os.environ
    assert "MODELARTS_CONTEXT" not in os.environ
    assert os.environ["HUAWEICLOUD_SDK_AK"] == modelarts.access_key
    assert listed() == []

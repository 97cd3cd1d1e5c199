import time

import pytest


def job(emulator, name, script):
    code = emulator.obs / "bucket" / name
    code.mkdir(parents=True, exist_ok=True)
    (code / "train.py").write_text(script)
    return {
        "kind": "job",
        "metadata": {"name": name},
        "algorithm": {
            "code_dir": f"obs://bucket/{name}/",
            "boot_file": f"obs://bucket/{name}/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u"}},
    }


def end_of(emulator, id):
    while True:
        _, shown = emulator.ask(f"training-jobs/{id}")
        if shown["status"]["phase"] in ("Completed", "Failed", "Terminated", "Abnormal"):
            return shown["status"]["phase"]
        time.sleep(0.05)


@pytest.mark.parametrize(("code", "phase"), [(0, "Completed"), (3, "Failed")])
def test_the_code_of_a_job_runs(emulator, code, phase):
    wanted = job(emulator, "runs", f"print('hello')\nraise SystemExit({code})\n")
    status, created = emulator.ask("training-jobs", wanted)
    assert status == 201
    id = created["metadata"]["id"]
    assert end_of(emulator, id) == phase
    _, log = emulator.ask(f"training-jobs/{id}/tasks/worker-0/logs/preview")
    assert log["content"] == "hello\n"


def test_a_busy_service_creates_nothing(emulator):
    emulator.control("faults", {"operation": "CreateTrainingJob", "fault": "status", "status": 429})
    wanted = job(emulator, "busy", "")
    status, refused = emulator.ask("training-jobs", wanted)
    assert (status, refused["error_code"]) == (429, "ModelArts.2799")
    assert emulator.ask("training-jobs", wanted)[0] == 201
    _, requests = emulator.control("requests")
    assert requests["CreateTrainingJob"] == {"received": 2, "executed": 1}

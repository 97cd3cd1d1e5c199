"""Makes a job on the emulator and prints what there is to ask for, as JSON."""

import json
import os
import urllib.request

URL = os.environ["EMULATOR_URL"]


def ask(path, body=None):
    request = urllib.request.Request(
        URL + path,
        data=body and json.dumps(body).encode(),
        headers={
            "X-Auth-Token": os.environ["EMULATOR_TOKEN"],
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


job = ask(
    f"/v2/{os.environ['EMULATOR_PROJECT']}/training-jobs",
    {
        "kind": "job",
        "metadata": {"name": "first"},
        "algorithm": {
            "code_dir": "/bucket/code/",
            "boot_file": "/bucket/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u"}},
    },
)
print(json.dumps({"job": job["metadata"]["id"], "modelled": list(ask("/_emulator/requests"))}))

"""Runs a first training job with the client of OpenAPI Generator (plain variant)."""

import os
import time

from modelarts import ApiClient, Configuration, TrainingJobsApi
from modelarts.models import CreateTrainingJobRequest, ListTrainingJobsRequest

FINAL = {"Completed", "Failed", "Terminated", "Abnormal"}

project = os.environ["HUAWEICLOUD_SDK_PROJECT_ID"]
obs = os.environ["MODELARTS_OBS"]
client = ApiClient(Configuration(host=os.environ["MODELARTS_ENDPOINT"]))
client.set_default_header("X-Auth-Token", os.environ["MODELARTS_TOKEN"])
jobs = TrainingJobsApi(client)

name = f"from-openapi-generator-{int(time.time())}"
request = {
    "kind": "job",
    "metadata": {"name": name},
    "algorithm": {
        "code_dir": f"{obs}/code/",
        "boot_file": f"{obs}/code/train.py",
        "engine": {
            "engine_name": "PyTorch",
            "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
        },
        "parameters": [{"name": "epochs", "value": "3"}],
    },
    "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u", "node_count": 1}},
}
job_id = jobs.create_training_job(project, CreateTrainingJobRequest.from_dict(request)).metadata.id
print("created", name, job_id)

last = ""
while last not in FINAL:
    phase = jobs.show_training_job_details(project, job_id).status.phase
    if phase != last:
        print("phase", phase)
    last = phase
    time.sleep(0.2)

by_name = {"limit": 10, "filters": [{"key": "name", "operator": "like", "value": [name]}]}
for found in jobs.list_training_jobs(project, ListTrainingJobsRequest.from_dict(by_name)).items:
    print("listed", found.metadata.name)

events, pages = 0, 0
while True:
    page = jobs.list_training_job_events(project, job_id, offset=events, limit=5)
    pages += 1
    events += len(page.events or [])
    if not page.events or events >= int(page.total):
        break
print("events", events, "pages", pages)

"""Drives the emulator with the official SDK, signed with an access key."""

import os
import time

from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import (
    ChangeTrainingJobDescriptionRequest,
    CreateTrainingJobRequest,
    DeleteTrainingJobRequest,
    ListTrainingJobEventsRequest,
    ListTrainingJobsRequest,
    ModelArtsClient,
    ShowTrainingJobDetailsRequest,
    ShowTrainingJobEnginesRequest,
    ShowTrainingJobFlavorsRequest,
    ShowTrainingJobLogsPreviewRequest,
    ShowTrainingJobMetricsRequest,
    StopTrainingJobRequest,
)

PROJECT = os.environ["HUAWEICLOUD_SDK_PROJECT_ID"]
SECRET_KEY = os.environ["HUAWEICLOUD_SDK_SK"]


def client(secret_key: str) -> ModelArtsClient:
    keys = BasicCredentials(os.environ["HUAWEICLOUD_SDK_AK"], secret_key, PROJECT)
    endpoint = os.environ["MODELARTS_ENDPOINT"]
    return ModelArtsClient.new_builder().with_credentials(keys).with_endpoints([endpoint]).build()


def create(name: str, **parameters: str) -> str:
    obs = os.environ["MODELARTS_OBS"]
    body = {
        "kind": "job",
        "metadata": {"name": name, "description": "From the official SDK"},
        "algorithm": {
            "code_dir": f"{obs}/code/",
            "boot_file": f"{obs}/code/train.py",
            "engine": {
                "engine_name": "PyTorch",
                "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
            },
            "parameters": [{"name": key, "value": value} for key, value in parameters.items()],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u", "node_count": 1}},
    }
    job = sdk.create_training_job(CreateTrainingJobRequest(body=body))
    assert job.status_code == 201, job.status_code
    assert job.metadata.name == name
    return job.metadata.id


def show(job_id: str):
    return sdk.show_training_job_details(ShowTrainingJobDetailsRequest(training_job_id=job_id))


def wait_for(job_id: str, *phases: str):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        job = show(job_id)
        if job.status.phase in phases:
            return job
        time.sleep(0.1)
    raise TimeoutError(f"job {job_id} is still {job.status.phase}")


def refused(call, *arguments) -> ClientRequestException:
    try:
        call(*arguments)
    except ClientRequestException as error:
        return error
    raise AssertionError(f"{call.__name__} was not refused")


sdk = client(SECRET_KEY)

flavors = sdk.show_training_job_flavors(ShowTrainingJobFlavorsRequest())
assert any(flavor.flavor_id == "modelarts.vm.cpu.2u" for flavor in flavors.flavors)
engines = sdk.show_training_job_engines(ShowTrainingJobEnginesRequest())
assert any(engine.engine_name == "PyTorch" for engine in engines.items)

first = create("official-1", epochs="3")
job = wait_for(first, "Completed")
assert job.metadata.description == "From the official SDK"
assert job.status.tasks == ["worker-0"]

change = {"description": "Changed"}
changed = sdk.change_training_job_description(
    ChangeTrainingJobDescriptionRequest(training_job_id=first, body=change)
)
assert changed.status_code == 200
assert show(first).metadata.description == "Changed"

by_name = {"limit": 10, "filters": [{"key": "name", "operator": "like", "value": ["official"]}]}
jobs = sdk.list_training_jobs(ListTrainingJobsRequest(body=by_name))
assert [item.metadata.id for item in jobs.items] == [first]

events = sdk.list_training_job_events(ListTrainingJobEventsRequest(training_job_id=first, limit=100))
assert events.total == len(events.events) > 0

task = {"training_job_id": first, "task_id": "worker-0"}
log = sdk.show_training_job_logs_preview(ShowTrainingJobLogsPreviewRequest(**task))
assert "epoch 3" in log.content, log.content

# The second job does not end before it is stopped. Its metrics appear after a second or two.
second = create("official-2", epochs="1000", pause="1")
wait_for(second, "Running")
task = {"training_job_id": second, "task_id": "worker-0"}
deadline = time.monotonic() + 60
while not (metrics := sdk.show_training_job_metrics(ShowTrainingJobMetricsRequest(**task)).metrics):
    assert time.monotonic() < deadline, "there are no metrics"
    time.sleep(0.1)
assert any(metric.metric == "cpuUsage" for metric in metrics), metrics
stopped = sdk.stop_training_job(
    StopTrainingJobRequest(training_job_id=second, body={"action_type": "terminate"})
)
assert stopped.status.phase == "Terminating", stopped.status.phase
wait_for(second, "Terminated")

for job_id in (first, second):
    assert sdk.delete_training_job(DeleteTrainingJobRequest(training_job_id=job_id)).status_code == 202
    deadline = time.monotonic() + 60
    while True:
        try:
            show(job_id)
        except ClientRequestException as error:
            assert (error.status_code, error.error_code) == (400, "ModelArts.2775"), error
            break
        assert time.monotonic() < deadline, f"job {job_id} is still there"
        time.sleep(0.1)

sdk = client("not-the-secret-key")
error = refused(show, first)
assert (error.status_code, error.error_code) == (401, "APIGW.0301"), error

print("create, list, show, update, events, logs, metrics, flavors, engines, stop, delete; a wrong secret is refused")

"""The first training job, with the client that openapi-python-client has made.

Signs with an access key. Runs on the emulator as on the service.
"""

import os
import sys
import time

from modelarts_training import Client
from modelarts_training.api.training_jobs import (
    create_training_job,
    list_training_job_events,
    list_training_jobs,
    show_training_job_details,
)
from modelarts_training.models import (
    CreateTrainingJobRequest,
    FilterOperator,
    JobAlgorithmRequest,
    JobEngineRequest,
    JobFilter,
    JobMetadataRequest,
    JobResourceRequest,
    JobSpecRequest,
    KnownFilterKey,
    KnownJobKind,
    ListTrainingJobsRequest,
    Parameter,
    TrainingJob,
    TrainingJobEvent,
)
from modelarts_training.types import Unset

from policy import call, refuse, wait
from sign import AccessKey


def setting(name: str) -> str:
    if value := os.environ.get(name):
        return value
    sys.exit(f"error: {name} is not set; CLIENTS.md lists the variables")


def job_request(name: str, obs: str) -> CreateTrainingJobRequest:
    return CreateTrainingJobRequest(
        kind=KnownJobKind.JOB,
        metadata=JobMetadataRequest(name=name, description="From Python"),
        algorithm=JobAlgorithmRequest(
            code_dir=f"{obs}/code/",
            boot_file=f"{obs}/code/train.py",
            engine=JobEngineRequest(
                engine_name="PyTorch",
                engine_version="pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
            ),
            parameters=[Parameter(name="epochs", value="3")],
        ),
        spec=JobSpecRequest(
            resource=JobResourceRequest(flavor_id="modelarts.vm.cpu.2u", node_count=1),
        ),
    )


def follow(client: Client, project: str, job_id: str) -> str:
    """Prints the phases of a job until it has ended, and returns the outcome."""
    phases: list[str] = []

    def report(job: TrainingJob) -> None:
        phase = "" if isinstance(job.status, Unset) else str(job.status.phase)
        if phases[-1:] != [phase]:
            print("phase", phase)
            phases.append(phase)

    return wait(
        "TrainingJobEnded",
        lambda: show_training_job_details.sync(project, job_id, client=client),
        report,
    )


def all_events(client: Client, project: str, job_id: str) -> tuple[list[TrainingJobEvent], int]:
    """Reads all pages, as x-pagination specifies: `offset` counts entries, `total` may be text."""
    events: list[TrainingJobEvent] = []
    pages = 0
    while True:
        page = call(
            "ListTrainingJobEvents",
            lambda: list_training_job_events.sync(
                project, job_id, client=client, offset=len(events), limit=5
            ),
        )
        pages += 1
        events += page.events or []
        if isinstance(page.total, Unset) or not page.events or len(events) >= int(page.total):
            return events, pages


def main() -> None:
    project = setting("HUAWEICLOUD_SDK_PROJECT_ID")
    key = AccessKey(setting("HUAWEICLOUD_SDK_AK"), setting("HUAWEICLOUD_SDK_SK"), project)
    client = Client(
        base_url=setting("MODELARTS_ENDPOINT"),
        httpx_args={"auth": key, "event_hooks": {"response": [refuse]}},
        raise_on_unexpected_status=True,
    )

    name = f"from-python-{int(time.time())}"
    request = job_request(name, setting("MODELARTS_OBS"))
    job = call(
        "CreateTrainingJob",
        lambda: create_training_job.sync(project, client=client, body=request),
    )
    assert not isinstance(job.metadata, Unset) and not isinstance(job.metadata.id, Unset)
    job_id = job.metadata.id
    print("created", name, job_id)
    print("outcome", follow(client, project, job_id))

    by_name = JobFilter(key=KnownFilterKey.NAME, operator=FilterOperator.LIKE, value=[name])
    search = ListTrainingJobsRequest(limit=10, filters=[by_name])
    jobs = call(
        "ListTrainingJobs", lambda: list_training_jobs.sync(project, client=client, body=search)
    )
    for found in jobs.items or []:
        if not isinstance(found.metadata, Unset):
            print("listed", found.metadata.name)

    events, pages = all_events(client, project, job_id)
    print("events", len(events), "pages", pages)


if __name__ == "__main__":
    main()

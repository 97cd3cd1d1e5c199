"""The first training job, with the client that openapi-python-client has made.

Signs with an access key. Runs on the emulator as on the service.
"""

import os
import time
from typing import TypeVar

import httpx
from modelarts_training import Client
from modelarts_training.api.training_jobs import (
    create_training_job,
    list_training_job_events,
    list_training_jobs,
    show_training_job_details,
)
from modelarts_training.models import (
    ApiError,
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
    KnownPhase,
    ListTrainingJobsRequest,
    ParameterRequest,
    TrainingJobEvent,
)
from modelarts_training.types import Unset

from sign import AccessKey

FINAL = {KnownPhase.COMPLETED, KnownPhase.FAILED, KnownPhase.TERMINATED, KnownPhase.ABNORMAL}

T = TypeVar("T")


class Refused(Exception):
    """An error response of the service. A missing job has code ModelArts.2775, not status 404."""

    def __init__(self, error: ApiError) -> None:
        self.code = error.error_code
        super().__init__(f"{error.error_code}: {error.error_msg}")


def ok(answer: T | ApiError | None) -> T:
    if isinstance(answer, ApiError):
        raise Refused(answer)
    assert answer is not None  # because of raise_on_unexpected_status
    return answer


def refuse_html(response: httpx.Response) -> None:
    """Raises an error for the HTML page of a load balancer, which the client would parse as JSON."""
    if response.is_error and "json" not in response.headers.get("Content-Type", ""):
        response.raise_for_status()


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
            parameters=[ParameterRequest(name="epochs", value="3")],
        ),
        spec=JobSpecRequest(
            resource=JobResourceRequest(flavor_id="modelarts.vm.cpu.2u", node_count=1),
        ),
    )


def follow(client: Client, project: str, job_id: str) -> str:
    """Prints each phase until one is final. An unknown phase is not final."""
    last = ""
    while True:
        job = ok(show_training_job_details.sync(project, job_id, client=client))
        phase = "" if isinstance(job.status, Unset) else str(job.status.phase)
        if phase != last:
            print("phase", phase)
            last = phase
        if phase in FINAL:
            return phase
        time.sleep(0.2)


def all_events(client: Client, project: str, job_id: str) -> tuple[list[TrainingJobEvent], int]:
    """Reads all pages, as x-pagination specifies: `offset` counts entries, `total` may be text."""
    events: list[TrainingJobEvent] = []
    pages = 0
    while True:
        page = ok(
            list_training_job_events.sync(project, job_id, client=client, offset=len(events), limit=5)
        )
        pages += 1
        events += page.events or []
        if isinstance(page.total, Unset) or not page.events or len(events) >= int(page.total):
            return events, pages


def main() -> None:
    project = os.environ["HUAWEICLOUD_SDK_PROJECT_ID"]
    key = AccessKey(os.environ["HUAWEICLOUD_SDK_AK"], os.environ["HUAWEICLOUD_SDK_SK"], project)
    client = Client(
        base_url=os.environ["MODELARTS_ENDPOINT"],
        httpx_args={"auth": key, "event_hooks": {"response": [refuse_html]}},
        raise_on_unexpected_status=True,
    )

    name = f"from-python-{int(time.time())}"
    job = ok(
        create_training_job.sync(
            project, client=client, body=job_request(name, os.environ["MODELARTS_OBS"])
        )
    )
    assert not isinstance(job.metadata, Unset) and not isinstance(job.metadata.id, Unset)
    job_id = job.metadata.id
    print("created", name, job_id)
    follow(client, project, job_id)

    by_name = JobFilter(key=KnownFilterKey.NAME, operator=FilterOperator.LIKE, value=[name])
    jobs = ok(
        list_training_jobs.sync(
            project, client=client, body=ListTrainingJobsRequest(limit=10, filters=[by_name])
        )
    )
    for found in jobs.items or []:
        if not isinstance(found.metadata, Unset):
            print("listed", found.metadata.name)

    events, pages = all_events(client, project, job_id)
    print("events", len(events), "pages", pages)


if __name__ == "__main__":
    main()

"""Prints the value that the generated client reads from each unusual response, as `CASE JSON` or
`CASE ! EXCEPTION`. `openapi/clients/run` compares the lines with the table in CLIENTS.md."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from modelarts_training import Client
from modelarts_training.api.training_jobs import list_training_job_events, show_training_job_details
from modelarts_training.models import ApiError, ListTrainingJobEventsResponse, TrainingJob
from modelarts_training.types import Response, Unset

T = TypeVar("T")
endpoint = os.environ.get("MODELARTS_VECTORS_ENDPOINT")
if endpoint is None:
    sys.exit("error: start this program by `python3 ../responses.py`, which serves the responses")
client = Client(base_url=endpoint)


def show(case: str) -> Response[ApiError | TrainingJob]:
    return show_training_job_details.sync_detailed(case, "c1b7e5de", client=client)


def job(case: str) -> TrainingJob:
    parsed = show(case).parsed
    assert isinstance(parsed, TrainingJob)
    return parsed


def events(case: str) -> ListTrainingJobEventsResponse:
    parsed = list_training_job_events.sync(case, "c1b7e5de", client=client)
    assert isinstance(parsed, ListTrainingJobEventsResponse)
    return parsed


def there(value: T | Unset | None) -> T:
    assert value is not None and not isinstance(value, Unset)
    return value


def or_null(value: T | Unset | None) -> T | None:
    return None if isinstance(value, Unset) else value


def error_code(case: str) -> object:
    parsed = show(case).parsed
    return parsed.error_code if isinstance(parsed, ApiError) else parsed


CASES: dict[str, Callable[[str], Any]] = {
    "unknown-enum": lambda case: there(job(case).status).phase,
    "number-as-text": lambda case: events(case).total,
    "beyond-double": lambda case: there(job(case).status).duration,
    "null-list": lambda case: len(or_null(events(case).events) or []),
    "null-object": lambda case: or_null(job(case).algorithm),
    "missing-field": lambda case: or_null(there(job(case).status).phase),
    "extra-field": lambda case: there(job(case).metadata).name,
    "missing-job": error_code,
    "html-502": lambda case: show(case).status_code,
}

for case, read in CASES.items():
    try:
        print(case, json.dumps(read(case)))
    except Exception as error:
        print(case, "!", type(error).__name__)

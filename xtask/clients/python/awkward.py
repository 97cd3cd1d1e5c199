"""Reads unusual responses, and prints a line for each: `CASE JSON` or `CASE ! EXCEPTION`."""

import json
import os

from modelarts import ApiClient, ApiException, Configuration, TrainingJobsApi
from modelarts.models import ApiError

jobs = TrainingJobsApi(ApiClient(Configuration(host=os.environ["MODELARTS_ENDPOINT"])))


def job(case):
    return jobs.show_training_job_details(case, "c1b7e5de")


def events(case):
    return jobs.list_training_job_events(case, "c1b7e5de")


def refused(case):
    try:
        job(case)
    except ApiException as error:
        return error


CASES = {
    "unknown-enum": lambda case: job(case).status.phase,
    "number-as-text": lambda case: events(case).total,
    "beyond-double": lambda case: job(case).status.duration,
    "null-list": lambda case: len(events(case).events or []),
    "null-object": lambda case: job(case).algorithm,
    "missing-field": lambda case: job(case).status.phase,
    "extra-field": lambda case: job(case).metadata.name,
    "missing-job": lambda case: ApiError.from_json(refused(case).body).error_code,
    "html-502": lambda case: refused(case).status,
}

for case, read in CASES.items():
    try:
        print(case, json.dumps(read(case)))
    except Exception as error:
        print(case, "!", type(error).__name__)

"""ModelArts training jobs from Python: submit, wait, follow, explain, and test without a cloud.

`Client` is the connection to a project, `Emulator` the service on this machine:

    from modelarts_tools import Client

    client = Client()
    job = client.submit("train.py", flavor="modelarts.vm.cpu.8u", out="train_url")
    for update in job.follow():
        print(update)
    job.wait(check=True)
    job.download("results")

The package also installs the programs `modelarts` and `modelarts-emulator`, and a pytest plugin with
the fixture `modelarts`. Calls block, release the GIL, and end with Ctrl-C; waits and streams also work in asyncio.
"""

from modelarts_tools import exceptions
from modelarts_tools._emulator import Emulator
from modelarts_tools._native import Client, Job, JobRequest, Stream, __version__
from modelarts_tools._programs import program
from modelarts_tools.exceptions import ModelArtsError
from modelarts_tools.records import (
    Diagnosis,
    End,
    Event,
    JobWarning,
    LogLine,
    LogValue,
    MetricSeries,
    Output,
    Submission,
    Update,
)

__all__ = [
    "Client",
    "Diagnosis",
    "Emulator",
    "End",
    "Event",
    "Job",
    "JobRequest",
    "JobWarning",
    "LogLine",
    "LogValue",
    "MetricSeries",
    "ModelArtsError",
    "Output",
    "Stream",
    "Submission",
    "Update",
    "__version__",
    "exceptions",
    "program",
]

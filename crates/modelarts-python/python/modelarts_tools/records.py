"""Results of calls, as frozen dataclasses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple

from modelarts_tools.exceptions import JobNotCompletedError

if TYPE_CHECKING:
    from modelarts_tools._native import Job


class JobWarning(UserWarning):
    """The service would run a job otherwise than its author may expect."""


class Record:
    """Base of the results."""

    def to_dict(self) -> Dict[str, Any]:
        """Returns the fields by name; records in them become dictionaries, too."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


@dataclass(frozen=True)
class Event(Record):
    """Event of a job.

    Attributes:
        time: Time in UTC, to the second; `None` if the service states no valid time.
        level: `Info`, `Warning` or `Error`.
        source: `Job`, `Task` or `K8S`.
        message: Text of the service.
        kind: What happened, such as `created` or `task_finished`; `other` for an unknown text.
        details: Values in the text, such as `task` and `exit_code`.
    """

    time: Optional[datetime]
    level: str
    source: str
    message: str
    kind: str
    details: Dict[str, Any]

    def __str__(self) -> str:
        time = self.time.isoformat() if self.time else "-"
        return f"{time} {self.level:<7} {self.source:<4} {self.message}"


@dataclass(frozen=True)
class LogLine(Record):
    """Line of a log, or a gap in it.

    Attributes:
        text: The line without its line break; empty for a gap.
        time: Time at the beginning of the line, if it has a time zone.
        is_gap: `True` if lines are missing here, which the service did not return.
        missing_bytes: Size of the gap in bytes, if it is known.
    """

    text: str = ""
    time: Optional[datetime] = None
    is_gap: bool = False
    missing_bytes: Optional[int] = None

    def __str__(self) -> str:
        if not self.is_gap:
            return self.text
        size = "lines" if self.missing_bytes is None else f"{self.missing_bytes} bytes"
        return f"[{size} of the log are missing]"


@dataclass(frozen=True)
class LogValue(Record):
    """Number that a script printed.

    Attributes:
        value: The number, which may be infinite or NaN.
        line: The line with the number.
        time: Time at the beginning of the line, if it has a time zone.
    """

    value: float
    line: str
    time: Optional[datetime] = None

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class MetricSeries(Record):
    """Usage of the machine of a task, one value for each minute.

    Attributes:
        metric: Name, such as `cpuUsage` or `gpuUtil`.
        points: Times in UTC with values in percent; `None` where the service has no value.
    """

    metric: str
    points: List[Tuple[datetime, Optional[float]]]

    def to_pandas(self) -> Any:
        """Returns a `pandas.Series` with the times as its index."""
        import pandas

        times = pandas.DatetimeIndex([time for time, _ in self.points], name="time")
        return pandas.Series([value for _, value in self.points], times, float, self.metric)


@dataclass(frozen=True)
class End(Record):
    """End of a job, or of the wait for it.

    Attributes:
        outcome: `completed`, `failed`, `terminated`, `abnormal`, `vanished`, or `timed_out`, after
            which the job continues.
        job: The job as it was read last.
        text: The outcome as a clause, such as `failed with exit code 1 in worker-0`.
        exit_code: Exit code of the code, if it failed and the service states the code.
        task: Task that failed, such as `worker-0`.
        message: Message of the service about the failure.
        by: Cause of a stop: `user`, `auto_stop` or `unknown`.
        limit: Time limit of a job that stopped because of it.
        secondary_phase: Detailed phase of an abnormal job.
        cause: Cause of an abnormal end.
        problem: Text with the last events and lines, unless the job completed.
        last_events: Last events of a job that did not complete.
        last_lines: Last lines of its log.
    """

    outcome: str
    job: "Job"
    text: str
    exit_code: Optional[int] = None
    task: Optional[str] = None
    message: Optional[str] = None
    by: Optional[str] = None
    limit: Optional[timedelta] = None
    secondary_phase: Optional[str] = None
    cause: Optional[str] = None
    problem: Optional[str] = None
    last_events: List[Event] = field(default_factory=list)
    last_lines: List[str] = field(default_factory=list)

    @property
    def is_completed(self) -> bool:
        """`True` if the job completed."""
        return self.outcome == "completed"

    def check(self) -> "End":
        """Returns this end if the job completed, and raises `JobNotCompletedError` otherwise."""
        if not self.is_completed:
            raise JobNotCompletedError(self.problem or self.text, end=self)
        return self

    def __str__(self) -> str:
        return f"{self.job.name} {self.text}"


@dataclass(frozen=True)
class Submission(Record):
    """Result of one of several jobs.

    Attributes:
        index: Position of the job in the argument of `submit_all`, from 0.
        name: Name of the job.
        end: End of the job; `None` with an error.
        error: Exception that prevented the submission or the wait.
    """

    index: int
    name: str
    end: Optional[End] = None
    error: Optional[Exception] = None


@dataclass(frozen=True)
class Update(Record):
    """Item of a followed job.

    Attributes:
        kind: `phase`, `event`, `log`, `vanished` if the job was deleted, `interrupted` while the
            service cannot be read, or `resumed` after that.
        job: The job, for `phase`.
        event: The event, for `event`.
        task: The task of the line, such as `worker-0`, for `log`.
        line: The line, for `log`.
        error: The exception, for `interrupted`.
    """

    kind: str
    job: Optional["Job"] = None
    event: Optional[Event] = None
    task: Optional[str] = None
    line: Optional[LogLine] = None
    error: Optional[Exception] = None

    def __str__(self) -> str:
        if self.job is not None:
            return self.job.phase
        if self.line is not None:
            return f"{self.task} | {self.line}"
        return str(self.event or self.error or self.kind)


@dataclass(frozen=True)
class Diagnosis(Record):
    """Why a job failed, was stopped, or waits.

    Attributes:
        id: Id of the job.
        name: Name of the job.
        phase: Phase of the job.
        cause: Cause, such as `out_of_memory` or `missing_module`.
        confidence: `certain`, `likely` or `unknown`.
        summary: The cause as a clause.
        task: Task that failed.
        exit_code: Exit code of the task.
        evidence: Facts of the diagnosis, each a dictionary with its `source`.
        advice: Next steps, one sentence each.
        links: Pages of the vendor, with `title` and `url`.
        text: All of it in several lines.
    """

    id: str
    name: str
    phase: str
    cause: str
    confidence: str
    summary: str
    text: str
    task: Optional[str] = None
    exit_code: Optional[int] = None
    evidence: List[Dict[str, Any]] = field(default_factory=list)
    advice: List[str] = field(default_factory=list)
    links: List[Dict[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Output(Record):
    """Output of a job that was downloaded.

    Attributes:
        name: Name of the output, such as `train_url`.
        address: Address in OBS.
        directory: Directory of this machine; it does not exist if the output has no files.
        files: Number of files of the output.
        bytes: Size of the files, in bytes.
    """

    name: str
    address: str
    directory: Path
    files: int
    bytes: int


def to_pandas(items: Iterable[Any]) -> Any:
    """Returns a `pandas.DataFrame` with a row for each item.

    Jobs have their main fields and a column for each hyper-parameter, such as `param:lr`.
    """
    import pandas

    return pandas.DataFrame.from_records([_row(item) for item in items])


def _row(item: Any) -> Dict[str, Any]:
    if isinstance(item, dict):
        return item
    if isinstance(item, Submission):
        row: Dict[str, Any] = {"index": item.index, "name": item.name, "outcome": None}
        row["error"] = item.error
        if item.end is not None:
            row.update(_row(item.end.job), outcome=item.end.outcome)
        return row
    if isinstance(item, Record):
        return {each.name: getattr(item, each.name) for each in fields(item)}  # type: ignore[arg-type]
    names = ("name", "id", "phase", "created_at", "time_queued", "time_run", "flavor", "user")
    row = {name: getattr(item, name) for name in names}
    row.update((f"param:{name}", value) for name, value in item.parameters.items())
    return row


def warn(messages: List[str]) -> None:
    """Shows the warnings about a job at the line that calls the package."""
    for message in messages:
        warnings.warn(message, JobWarning, stacklevel=2)

from datetime import datetime, timedelta
from os import PathLike
from types import GenericAlias
from typing import (
    Any,
    Awaitable,
    Dict,
    Generic,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    TypedDict,
    TypeVar,
    Union,
    final,
)

from typing_extensions import Self, Unpack

from modelarts_tools.records import (
    Diagnosis,
    End,
    Event,
    LogLine,
    LogValue,
    MetricSeries,
    Output,
    Submission,
    Update,
)

__all__ = ["Client", "Job", "JobRequest", "Server", "Stream", "__version__", "emulator_log"]

__version__: str

_T = TypeVar("_T")
_Path = Union[str, PathLike[str]]
# Number of seconds, or a timedelta.
_Span = Union[float, timedelta]
# Datetime with a time zone, or the time before now.
_Moment = Union[datetime, _Span]

class _Options(TypedDict, total=False):
    name: Optional[str]
    description: Optional[str]
    engine: Optional[str]
    image: Optional[str]
    algorithm: Optional[str]
    flavor: Optional[str]
    pool: Optional[str]
    nodes: Optional[int]
    code_dir: Optional[_Path]
    boot_file: Optional[str]
    command: Optional[str]
    data: Union[_Path, Mapping[str, _Path], None]
    out: Union[str, Sequence[str], Mapping[str, Optional[str]], None]
    parameters: Optional[Mapping[str, Union[str, float, bool, None]]]
    env: Optional[Mapping[str, str]]
    auto_stop: Optional[_Span]
    restarts: Optional[int]
    priority: Optional[int]
    set: Optional[Mapping[str, Any]]
    bucket: Optional[str]
    adopt: Optional[bool]
    token: Optional[str]

@final
class Client:
    """Connection to a project. It can be used in several threads.

    Settings come from the arguments, from the context of the tool `modelarts` with the given name,
    or from the variables and files that the tool and the SDK for Rust read, such as
    `HUAWEICLOUD_SDK_AK`, `HUAWEICLOUD_SDK_SK` and `HUAWEICLOUD_SDK_REGION`.
    """

    def __new__(
        cls,
        context: Optional[str] = None,
        *,
        region: Optional[str] = None,
        project_id: Optional[str] = None,
        endpoint: Optional[str] = None,
        cloud: Optional[str] = None,
        access_key: Optional[str] = None,
        secret_key: Optional[str] = None,
        security_token: Optional[str] = None,
        token: Optional[str] = None,
        bucket: Optional[str] = None,
        flavor: Optional[str] = None,
        pool: Optional[str] = None,
        environment: Optional[Mapping[str, str]] = None,
        timeout: Optional[_Span] = None,
        rate_limit: Optional[float] = None,
    ) -> Self:
        """Connects, and looks up the project if no project is set.

        Args:
            context: Name of a context, see `modelarts context --help`.
            region: Region, such as `eu-de` or `cn-north-4`.
            project_id: Id of the project.
            endpoint: Address of the service, if it is not that of the region.
            cloud: `huawei` or `otc`, if region and endpoint do not tell.
            access_key: Access key, with `secret_key`, and `security_token` if it is temporary.
            token: Token of IAM, instead of keys.
            bucket: Bucket for code, data and outputs, instead of `MODELARTS_OBS_BUCKET`.
            flavor: Flavor of jobs that name neither a flavor nor a pool.
            pool: Pool of jobs that name neither a flavor nor a pool.
            environment: Variables instead of those of the process. No files are read then.
            timeout: Time limit of a call with its retries; by default 2 minutes. Waits have their
                own limits.
            rate_limit: Maximum number of requests per second.

        Raises:
            ConfigError: A setting is missing or wrong.
            CredentialsError: There are no credentials.
        """
    @property
    def project_id(self) -> str: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def region(self) -> Optional[str]: ...
    def submit(self, source: Union[_Path, Mapping[str, Any]], **options: Unpack[_Options]) -> Job:
        """Submits a job once, also if a response is lost, and returns it.

        Local code and data are sent to OBS, unless they are there already. Warnings about the job
        are of the class `JobWarning`.

        Args:
            source: Script, whose directory is the code; code directory, with `boot_file` or
                `command`; job file in YAML or JSON; body of a request; or `obs://…/train.py`.
            name: Name of the job; by default that of the script with a random suffix.
            engine: Preset image, `NAME:VERSION`; by default the newest PyTorch.
            image: Address of an own image, instead.
            algorithm: Id of an algorithm, instead of code.
            flavor, pool, nodes: Resources.
            code_dir: Code directory or address, if not that of the script or of the job file.
            boot_file: Script to start, if `source` is a directory or a job file.
            command: Command to start, instead of the script.
            data: Input: directory or `obs://` address, named `data_url`, or several by name.
            out: Name of an output, several names, or addresses by name (`None`: a new one).
            parameters: Hyper-parameters, which the script receives as `--name=value`, in the form
                of `str`; `None` removes one of a job file.
            env: Environment variables of the job.
            auto_stop: Time after which the service stops the job; whole hours.
            restarts: Number of restarts after faults.
            priority: Priority in the pool, 1 to 3.
            set: Fields of the request by path, such as `{"spec.resource.node_count": 4}`, which
                take precedence over the other arguments.
            bucket: Bucket for code, data and outputs, instead of that of the client.
            adopt: Returns the job of the same name and content if it exists. Requires `name`.
            token: Text that identifies this submission: the same token and name return the same
                job, from any process and machine. Requires `name`.

        Raises:
            InvalidError: The job breaks rules, which `violations` lists. Nothing was sent.
            ConflictError: Another job has the name.
            ModelArtsError: Another error. With `is_uncertain`, the job may exist.
        """
    def prepare(
        self, source: Union[_Path, Mapping[str, Any]], **options: Unpack[_Options]
    ) -> JobRequest:
        """Returns a job that is not submitted, from the arguments of `submit`. Sends no files."""
    def submit_all(
        self,
        requests: Iterable[JobRequest],
        *,
        at_most: int = 5,
        timeout: Optional[_Span] = None,
    ) -> Stream[Submission]:
        """Submits jobs, at most `at_most` unfinished ones at a time, and returns their ends.

        Each result comes when it is known. The error of one job does not end the others. The first
        result begins with all checks and uploads; jobs are submitted while the results are read.

        Args:
            requests: Jobs of `prepare`, whose names differ. With `adopt`, which all or none must
                have, existing jobs of the same name and content are taken.
            at_most: Maximum number of unfinished jobs.
            timeout: Time limit of all jobs together.
        """
    def get(self, job: str) -> Job:
        """Returns the job with this id or name.

        Raises:
            NotFoundError: There is none.
        """
    def list(
        self,
        *,
        phase: Union[str, Sequence[str], None] = None,
        name: Optional[str] = None,
        since: Optional[_Moment] = None,
        until: Optional[_Moment] = None,
        user: Union[str, Sequence[str], None] = None,
        workspace: Optional[str] = None,
        oldest_first: bool = False,
        limit: Optional[int] = None,
    ) -> Stream[Job]:
        """Returns all jobs that meet the conditions, newest first, each once. Pages are read ahead.

        Args:
            phase: Phase, such as `Running`, or several.
            name: Text in the name.
            since: Earliest creation, a datetime with a time zone, or the time before now.
            until: Latest creation.
            user: Name of the user, or several.
            workspace: Id of the workspace; by default `0`.
            limit: Maximum number of jobs.
        """
    def call(self, operation: str, body: object = None, **parameters: object) -> Any:
        """Calls an operation of the API by its name, and returns the JSON of the response.

        Args:
            operation: Name, such as `ShowTrainingQuotas`; the description of the API lists them.
            body: Body of the request.
            parameters: Parameters of path and query, such as `training_job_id="…"`.
        """
    def rows(
        self, operation: str, body: object = None, **parameters: object
    ) -> Stream[Dict[str, Any]]:
        """Calls an operation that returns a list, and returns the rows of all its pages."""

@final
class JobRequest:
    """Job that is not submitted yet, from `Client.prepare`."""

    @property
    def name(self) -> str: ...
    def to_dict(self) -> Dict[str, Any]:
        """Returns the body of the request. Addresses `obs://staged/…` stand for new ones."""
    def check(self) -> List[str]:
        """Checks the job as `submit` does, without sending files, and returns the warnings.

        Raises:
            InvalidError: The job breaks rules, which `violations` lists.
        """
    def submit(self) -> Job:
        """Submits the job, as `Client.submit` does."""

@final
class Job:
    """Training job, as one response described it. `refresh` reads it again.

    Times are datetimes in UTC, durations timedeltas; `None` if the service does not state them.
    Jobs with the same id are equal.
    """

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def phase(self) -> str:
        """`Creating`, `Pending`, `Running`, `Completed`, `Failed`, `Terminated`, `Abnormal`, …"""
    @property
    def is_final(self) -> bool:
        """`True` if the job has ended, with any outcome."""
    @property
    def created_at(self) -> Optional[datetime]: ...
    @property
    def started_at(self) -> Optional[datetime]: ...
    @property
    def time_queued(self) -> Optional[timedelta]: ...
    @property
    def time_run(self) -> Optional[timedelta]: ...
    @property
    def card_hours(self) -> Optional[float]:
        """Cards of all nodes, times the hours of the run."""
    @property
    def flavor(self) -> Optional[str]: ...
    @property
    def user(self) -> Optional[str]: ...
    @property
    def tasks(self) -> List[str]:
        """Names of the tasks, such as `worker-0`. Each has a log."""
    @property
    def exit_codes(self) -> Dict[str, int]:
        """Exit codes by task, as far as the service states them; of a job that failed."""
    @property
    def outputs(self) -> Dict[str, str]:
        """Addresses in OBS by the names of the outputs."""
    @property
    def parameters(self) -> Dict[str, str]:
        """Hyper-parameters by name."""
    def to_dict(self) -> Dict[str, Any]:
        """Returns the body of the response, with all fields of the service."""
    def refresh(self) -> Job:
        """Reads the job again."""
    def wait(self, timeout: Optional[_Span] = None, *, check: bool = False) -> End:
        """Waits for the end of the job, through failed requests and expired credentials.

        Args:
            timeout: Time limit, after which the outcome is `timed_out`. The job continues.
            check: Raises `JobNotCompletedError` unless the job completed.
        """
    def wait_async(
        self, timeout: Optional[_Span] = None, *, check: bool = False
    ) -> Awaitable[End]:
        """Waits in asyncio, as `wait` does. A cancellation ends the wait."""
    def follow(self, *, logs: bool = True, tail: Optional[int] = None) -> Stream[Update]:
        """Returns phases, events and log lines, from the beginning to the end of the job.

        Args:
            logs: Include the lines of all tasks.
            tail: Number of existing lines of a task to begin with; by default all.
        """
    def events(self, *, follow: bool = False) -> Stream[Event]:
        """Returns the events, oldest first; with `follow`, also those to come, until the end."""
    def logs(
        self, task: Optional[str] = None, *, follow: bool = False, tail: Optional[int] = None
    ) -> Stream[LogLine]:
        """Returns the lines of a task, by default the first one; see `events`."""
    def values(
        self, regex: str, task: Optional[str] = None, *, follow: bool = False
    ) -> Stream[LogValue]:
        """Returns the numbers in the log that a regular expression finds, such as `loss=(\\S+)`.

        The number is the group `(?<value>…)`, the first group, or the whole match. The syntax is
        that of ECMAScript.
        """
    def metrics(self, task: Optional[str] = None) -> List[MetricSeries]:
        """Returns the usage of the machine of a task, by default `worker-0`.

        Raises:
            NotReadyError: There are no values yet.
        """
    def explain(self) -> Diagnosis:
        """Returns why the job failed, was stopped or waits, with evidence and advice."""
    def stop(self) -> Job:
        """Stops the job, whose end `wait` returns.

        Raises:
            ConflictError: The job has ended.
        """
    def delete(self) -> None:
        """Deletes the job with its events and logs. Outputs in OBS remain."""
    def __deepcopy__(self, _memo: object, /) -> Job: ...
    def download(
        self, directory: _Path, outputs: Union[str, Sequence[str], None] = None
    ) -> List[Output]:
        """Downloads the outputs to `directory/NAME`, except files that are there already.

        Args:
            outputs: Name of an output, or several; by default all.
        """

@final
class Stream(Generic[_T]):
    """Iterator that waits for each item, also for `async for`.

    A call of another thread waits for its turn. As a context manager, it is closed at the end.
    """

    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def __iter__(self) -> Stream[_T]: ...
    def __next__(self) -> _T: ...
    def __aiter__(self) -> Stream[_T]: ...
    def __anext__(self) -> Awaitable[_T]: ...
    def __enter__(self) -> Stream[_T]: ...
    def __exit__(self, *_exception: object) -> None: ...
    def close(self) -> None:
        """Ends the stream, also in the threads that wait for its next item."""
    def to_pandas(self) -> Any:
        """Returns the remaining items as a `pandas.DataFrame`. Requires pandas."""

@final
class Server:
    url: str
    obs_url: str
    project_id: str
    access_key: str
    secret_key: str
    obs_root: PathLike[str]
    environment: Dict[str, str]
    def __new__(cls, arguments: List[str]) -> Self: ...
    def close(self) -> None: ...

def emulator_log(start: int) -> tuple[str, int]: ...

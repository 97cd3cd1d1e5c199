"""Exceptions of the package. Each is a `ModelArtsError`."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Dict, List, Optional

if TYPE_CHECKING:
    from modelarts_tools.records import End


class ModelArtsError(Exception):
    """A call failed.

    Attributes:
        code: Error code of the service, such as `ModelArts.2775`.
        advice: What to do about it, if that is known.
        request_id: Id of the request, for the support of the cloud.
        status: HTTP status of the response.
        operation: Operation of the API, such as `CreateTrainingJob`.
        attempts: Number of requests that were sent; 0 if the call was not sent.
        retry_after: Time after which the service accepts the call, a `timedelta`.
        is_uncertain: `True` if the service may have executed the call.
        violations: The broken rules, each with `field`, `rule`, `value`, `code` and `advice`.
    """

    code: Optional[str] = None
    advice: Optional[str] = None
    request_id: Optional[str] = None
    status: Optional[int] = None
    operation: Optional[str] = None
    attempts: int = 0
    retry_after: Optional[timedelta] = None
    is_uncertain: bool = False
    violations: List[Dict[str, Any]] = []

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.__dict__.update(details)

    @property
    def message(self) -> str:
        """Text of the error."""
        return str(self)

    def __reduce__(self) -> Any:
        # A job belongs to the client of its process.
        details = {name: value for name, value in self.__dict__.items() if name != "end"}
        return partial(type(self), str(self), **details), ()


class ConfigError(ModelArtsError):
    """A setting of the client is missing or invalid. Nothing was sent."""


class InvalidError(ModelArtsError, ValueError):
    """An argument or a job breaks a rule, see `violations`. Nothing was sent."""


class CredentialsError(ModelArtsError):
    """There are no usable credentials, or the service refused them."""


class ConnectError(ModelArtsError, ConnectionError):
    """The service could not be reached, or the connection broke."""


class TimeLimitError(ModelArtsError, TimeoutError):
    """The time limit of the client was reached."""


class ServiceError(ModelArtsError):
    """The service responded with an error."""


class ThrottledError(ServiceError):
    """The service limits the number of calls; see `retry_after`."""


class ConflictError(ServiceError):
    """The state of the job does not permit the call, or its name is taken."""


class NotFoundError(ModelArtsError, LookupError):
    """The job, or another resource, does not exist."""


class NotReadyError(ModelArtsError):
    """The result does not exist yet. The same call may succeed later."""


class JobNotCompletedError(ModelArtsError):
    """A job ended otherwise than completed, or the wait for it did.

    Attributes:
        end: The end of the wait, with the job; not in a copy from another process.
    """

    end: "End"


class FileError(ModelArtsError):
    """A file of this machine could not be read or written."""


class DecodeError(ModelArtsError):
    """The response could not be decoded."""


class UnexpectedError(ModelArtsError):
    """The response does not match the description of the API."""

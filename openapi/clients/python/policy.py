"""Retries and waiters, by the tables of `modelarts.json`."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx
from modelarts_training.models import ApiError

FILE = os.environ.get("MODELARTS_DESCRIPTION", "../../modelarts.json")
DESCRIPTION = json.loads(Path(FILE).read_text(encoding="utf-8"))
EFFECTS = {
    operation["operationId"]: operation["x-effect"]
    for path in DESCRIPTION["paths"].values()
    for method, operation in path.items()
    if method != "parameters"
}
ERRORS = {(row["code"], row["status"]): row for row in DESCRIPTION["x-error-table"]}
WAITERS = {waiter["name"]: waiter for waiter in DESCRIPTION["x-waiters"]}


class Model(Protocol):
    """Generated type of a body."""

    def to_dict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=Model)


class Refused(Exception):
    """An error response. A missing job has the code ModelArts.2775, not the status 404."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.code, self.message = read_error(response.text)
        # The header may also contain a date, which this sample ignores.
        after = response.headers.get("Retry-After", "")
        self.retry_after = int(after) if after.isdecimal() else 0
        super().__init__(f"status {self.status}: {self.code}: {self.message}")

    def retry(self, effect: str) -> str:
        """Returns `never`, `backoff`, `poll` or `token`, for the effect of the operation."""
        message = self.message or ""
        if self.status in (401, 403) and "token expires" in message:
            return "token"
        # The prefix of gateway codes has three spellings.
        code = re.sub(r"^(APIGW|APIC)\.", "APIG.", self.code or "")
        if row := ERRORS.get((code, self.status)):
            known = row.get("retry-only-with", "") in message
            return str(row["retry"][effect]) if known else "never"
        if self.status in (408, 500, 502, 503, 504):
            return "never" if effect == "create" else "backoff"
        return {429: "backoff", 204: "poll"}.get(self.status, "never")


def read_error(text: str) -> tuple[str | None, str | None]:
    """Returns the code and the message of an error response, in the spellings of the service, its
    gateways and the identity service."""
    try:
        body = json.loads(text)
    except ValueError:
        text = text.strip()
        return None, None if text.startswith("<") else text or None
    if not isinstance(body, dict):
        return None, None
    inner = body.get("error")
    body = inner if isinstance(inner, dict) else body
    codes = [body.get(key) for key in ("error_code", "errorCode", "code")]
    messages = [body.get(key) for key in ("error_msg", "error_message", "errorMsg", "message")]
    found = [next((str(text) for text in texts if text), None) for texts in (codes, messages)]
    return found[0], found[1]


def refuse(response: httpx.Response) -> None:
    """Event hook that raises `Refused`. The client would parse every error response as JSON."""
    if response.is_error:
        response.read()
        raise Refused(response)


def call(operation: str, send: Callable[[], T | ApiError | None]) -> T:
    """Calls an operation whose responses have a body. Sends the request up to five times, as long as
    the table permits it."""
    delay = 1
    while True:
        try:
            answer = send()
            # Because of `refuse` and `raise_on_unexpected_status`.
            assert answer is not None and not isinstance(answer, ApiError)
            return answer
        except Refused as error:
            if delay > 8 or error.retry(EFFECTS[operation]) not in ("backoff", "poll"):
                raise
            time.sleep(max(delay, error.retry_after))
            delay *= 2


def outcome(name: str, answer: Any) -> str:
    """Returns the outcome of a waiter for a response, which is the JSON of its body or `Refused`.
    If none is defined, returns `wait` or `error`."""
    if isinstance(answer, Refused):
        key, value, otherwise = "error", answer.code, "error"
    else:
        key, value, otherwise = "value", answer, "wait"
        for step in WAITERS[name]["field"].split("."):
            value = (value or {}).get(step)
    outcomes = {row[key]: row["outcome"] for row in WAITERS[name]["outcomes"] if key in row}
    return str(outcomes.get(value, otherwise))


def wait(name: str, send: Callable[[], T | ApiError | None], report: Callable[[T], None]) -> str:
    """Calls the operation of a waiter until a response has an outcome, and returns the outcome.
    Passes each successful response to `report`."""
    delay = 1.0
    while True:
        try:
            answer = call(WAITERS[name]["operation"], send)
            report(answer)
            found = outcome(name, answer.to_dict())
        except Refused as error:
            found = outcome(name, error)
            if found == "error":
                raise
        if found != "wait":
            return found
        time.sleep(delay)
        delay = min(1.5 * delay, 30)

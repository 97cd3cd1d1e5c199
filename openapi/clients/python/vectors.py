"""Runs the files of `openapi/vectors` that apply to this client. Prints `ok FILE COUNT` for each,
or fails with the name of a case."""

import base64
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from first_job import all_events
from modelarts_training import Client
from sign import authorization

VECTORS = Path(os.environ.get("MODELARTS_VECTORS", "../../vectors"))


def description() -> Any:
    """Returns the description, read from its JSON form."""
    return json.loads(Path(os.environ["MODELARTS_DESCRIPTION"]).read_text(encoding="utf-8"))


def check(case: Any, value: object, expected: object) -> None:
    if value != expected:
        sys.exit(f"{case['name']}: {value!r} instead of {expected!r}")


def signing(case: Any) -> bool:
    if "needs" in case:
        return False
    headers = {name.lower(): value for name, value in case["headers"].items()}
    body = base64.b64decode(case["body_base64"]) if "body_base64" in case else case["body"].encode()
    url = f"https://{headers['host']}{case['target']}"
    keys = case["access_key"], case["secret_key"]
    check(case, authorization(*keys, case["method"], url, headers, body), case["authorization"])
    return True


def pagination(case: Any) -> bool:
    if "needs" in case or case["operation"] != "ListTrainingJobEvents":
        return False
    client = Client(base_url=os.environ["MODELARTS_ENDPOINT"])
    events, _ = all_events(client, case["name"], "j")
    check(case, [event.message for event in events], case["expected"])
    return True


def template(text: str, forms: dict[str, str]) -> re.Pattern[str]:
    """Returns a pattern for the texts that a template of x-events produces. `forms` maps each
    placeholder to its pattern."""
    parts = re.split(r"\{(\w+)\}", text.removesuffix("."))
    source = [f"(?P<{part}>{forms[part]})" if i % 2 else re.escape(part) for i, part in enumerate(parts)]
    return re.compile("".join(source) + r"\.?", re.DOTALL | re.IGNORECASE)


def events() -> Callable[[Any], bool]:
    catalogue = description()["x-events"]
    forms = {placeholder["name"]: placeholder["pattern"] for placeholder in catalogue["placeholders"]}
    kinds = [
        (kind["kind"], template(text, forms))
        for kind in catalogue["kinds"]
        for text in kind["texts"]["guide"] + kind["texts"]["api"]
    ]

    def run(case: Any) -> bool:
        if not case["exact"] and case["kind"] != "Other":
            return False
        found = [(kind, match) for kind, text in kinds if (match := text.fullmatch(case["text"].strip()))]
        check(case, {kind for kind, _ in found} or {"Other"}, {case["kind"]})
        values = found[0][1].groupdict() if found else {}
        check(case, {name: value(name, text) for name, text in values.items()},
              {name: value for name, value in case["fields"].items() if value is not None})
        return True

    return run


def value(name: str, text: str) -> object:
    """Returns the value of a placeholder: seconds, a number, a list or text."""
    match name:
        case "seconds":
            return float(text)
        case "exit_code":
            return int(text)
        case "limit":
            return 3600 * int(text.split()[0])
        case "files":
            return text.split(", ")
    return text


def waiters() -> Callable[[Any], bool]:
    waiters = {waiter["name"]: waiter for waiter in description()["x-waiters"]}

    def run(case: Any) -> bool:
        waiter = waiters[case["waiter"]]
        failed = case["status"] >= 400
        answer = case.get("body") or {}
        for step in ["error_code"] if failed else waiter["field"].split("."):
            answer = (answer or {}).get(step)
        outcomes = {row.get("error" if failed else "value"): row["outcome"] for row in waiter["outcomes"]}
        outcome = outcomes.get(answer) if answer else None
        check(case, outcome or ("error" if failed else "wait"), case["outcome"])
        return True

    return run


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
    body = body.get("error", body)
    codes = [body.get(key) for key in ("error_code", "errorCode", "code")]
    messages = [body.get(key) for key in ("error_msg", "error_message", "errorMsg", "message")]
    return next((str(code) for code in codes if code), None), next(filter(None, messages), None)


def errors() -> Callable[[Any], bool]:
    table = {(row["code"], row["status"]): row for row in description()["x-error-table"]}

    def retry(code: str | None, message: str, status: int, effect: str) -> str:
        if status in (401, 403) and "token expires" in message:
            return "token"
        # The prefix of gateway codes has three spellings.
        if row := table.get((re.sub(r"^(APIGW|APIC)\.", "APIG.", code or ""), status)):
            return str(row["retry"][effect]) if row.get("retry-only-with", "") in message else "never"
        if status in (408, 500, 502, 503, 504):
            return "never" if effect == "create" else "backoff"
        return {429: "backoff", 204: "poll"}.get(status, "never")

    def run(case: Any) -> bool:
        code, message = read_error(case["body"])
        decision = retry(code, message or "", case["status"], case["effect"])
        check(case, {"code": code, "message": message, "retry": decision}, case["expected"])
        return True

    return run


FILES: dict[str, Callable[[], Callable[[Any], bool]]] = {
    "signing": lambda: signing,
    "pagination": lambda: pagination,
    "events": events,
    "waiters": waiters,
    "errors": errors,
}

for name, prepare in FILES.items():
    cases = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    print("ok", name, sum(map(prepare(), cases)))

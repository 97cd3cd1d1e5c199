"""Runs the files of `openapi/vectors` that apply to this client. Prints `ok FILE COUNT` for each,
or fails with the name of a case. `../responses.py` serves the lists of `pagination.json`."""

import base64
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import httpx
from first_job import all_events
from modelarts_training import Client
from policy import DESCRIPTION, Refused, outcome
from sign import authorization

VECTORS = Path(os.environ.get("MODELARTS_VECTORS", "../../vectors"))
ENDPOINT = os.environ.get("MODELARTS_VECTORS_ENDPOINT")


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
    if ENDPOINT is None or "needs" in case or case["operation"] != "ListTrainingJobEvents":
        return False
    client = Client(base_url=ENDPOINT)
    events, _ = all_events(client, case["name"], "j")
    check(case, [event.message for event in events], case["expected"])
    return True


PATTERNS = {row["name"]: row["pattern"] for row in DESCRIPTION["x-events"]["placeholders"]}


def template(text: str) -> re.Pattern[str]:
    """Returns a pattern for the texts that a template of x-events produces."""
    parts = re.split(r"\{(\w+)\}", text.removesuffix("."))
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = (f"(?P<{name}>{PATTERNS[name]})" for name in parts[1::2])
    return re.compile("".join(parts) + r"\.?", re.DOTALL | re.IGNORECASE)


TEMPLATES = [
    (kind["kind"], template(text))
    for kind in DESCRIPTION["x-events"]["kinds"]
    for text in kind["texts"]["guide"] + kind["texts"]["api"]
]


def events(case: Any) -> bool:
    if not case["exact"] and case["kind"] != "Other":
        return False
    text = case["text"].strip()
    found = [(kind, match) for kind, form in TEMPLATES if (match := form.fullmatch(text))]
    check(case, {kind for kind, _ in found} or {"Other"}, {case["kind"]})
    groups = found[0][1].groupdict() if found else {}
    fields = {name: field for name, field in case["fields"].items() if field is not None}
    check(case, {name: value(name, text) for name, text in groups.items()}, fields)
    return True


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


def waiters(case: Any) -> bool:
    answer = case.get("body")
    if case["status"] >= 400:
        answer = Refused(httpx.Response(case["status"], text=case.get("text", json.dumps(answer))))
    check(case, outcome(case["waiter"], answer), case["outcome"])
    return True


def errors(case: Any) -> bool:
    error = Refused(httpx.Response(case["status"], headers=case["headers"], text=case["body"]))
    found = {"code": error.code, "message": error.message, "retry": error.retry(case["effect"])}
    check(case, found, case["expected"])
    return True


if ENDPOINT is None:
    command = "python3 ../responses.py .venv/bin/python vectors.py"
    print(f"pagination.json is omitted; run `{command}`, which serves its lists")
for run in signing, pagination, events, waiters, errors:
    cases = json.loads((VECTORS / f"{run.__name__}.json").read_text(encoding="utf-8"))["cases"]
    if count := sum(map(run, cases)):
        print("ok", run.__name__, count)

"""Records what the official SDK sends for each operation of the description.

usage: record.py DESCRIPTION > recorded.json

Each operation is called with all parameters that the SDK has for it, and a body with
every field of every class. A server on the loopback interface records the requests.
An operation that the SDK lacks is null.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

import huaweicloudsdkmodelarts.v1 as sdk
import yaml
from huaweicloudsdkcore.auth.credentials import BasicCredentials

PROJECT = "0123456789abcdef0123456789abcdef"

# Fields that are strings in the SDK, and enumerations in the description.
ONE_OF_FEW = {
    "operator": "between",
    "order": "desc",
    "policy": "enabled",
    "report_type": "training-event",
    "x_language": "en-us",
    ("NodeSelectorRequirement", "operator"): "NotIn",
}
# Headers that the HTTP client and the signature add, and that the operation does not define.
NOT_OF_THE_OPERATION = {
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "host",
    "user-agent",
    "x-project-id",
    "x-sdk-date",
}


class Filler:
    """Generates distinct values, in the same order in each run."""

    def __init__(self):
        self.numbers = 0

    def fill(self, kind, owner, name, within=()):
        """Returns a value of a type, in the SDK's spelling of types, for a field of a class."""
        if inner := re.fullmatch(r"list\[(.*)\]", kind):
            value = self.fill(inner[1], owner, name, within)
            return None if value is None else [value]
        if inner := re.fullmatch(r"dict\(str, (.*)\)", kind):
            value = self.fill(inner[1], owner, name, within)
            return None if value is None else {f"key of {name}": value}
        if kind == "str":
            few = ONE_OF_FEW.get((owner, name), ONE_OF_FEW.get(name))
            return few or self.text(name)
        if kind in ("int", "float"):
            self.numbers += 1
            return self.numbers if kind == "int" else self.numbers + 0.5
        if kind == "bool":
            return True
        if kind == "object":
            return {"any": self.text(name)}
        if kind in within:
            return None
        return self.model(kind, within + (kind,))

    def text(self, name):
        self.numbers += 1
        # Path segments allow few characters; other values contain characters that need encoding.
        blank = "-" if re.search(r"_(id|name|type)$", name) else " & "
        return f"{name}{blank}{self.numbers}"

    def model(self, kind, within):
        cls = getattr(sdk, kind)
        fields = {
            name: self.fill(inner, kind, name, within)
            for name, inner in cls.openapi_types.items()
        }
        return cls(**{name: value for name, value in fields.items() if value is not None})


class Recorder(BaseHTTPRequestHandler):
    seen = []

    def answer(self):
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length)
        url = urlsplit(self.path)
        Recorder.seen.append(
            {
                "method": self.command,
                "path": url.path,
                "query": sorted(parse_qsl(url.query, keep_blank_values=True)),
                "headers": {
                    name.lower(): value
                    for name, value in sorted(self.headers.items())
                    if name.lower() not in NOT_OF_THE_OPERATION
                },
                "body": json.loads(body) if body else None,
            }
        )
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def record(client, operation):
    """Returns the arguments and the request of a call; None if the SDK lacks the operation."""
    call = getattr(client, snake(operation), None)
    if call is None:
        return None
    cls = getattr(sdk, f"{operation}Request")
    filler = Filler()
    said = {name: filler.fill(kind, cls.__name__, name) for name, kind in cls.openapi_types.items()}
    call(cls(**said))
    (request,) = Recorder.seen
    Recorder.seen.clear()
    said.pop("body", None)
    return {"arguments": {"project_id": PROJECT, **said}, "request": request}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        paths = yaml.safe_load(file)["paths"]
    operations = sorted(
        operation["operationId"]
        for item in paths.values()
        for operation in item.values()
        if isinstance(operation, dict)
    )
    server = HTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = (
        sdk.ModelArtsClient.new_builder()
        .with_credentials(BasicCredentials("access", "secret", PROJECT))
        .with_endpoints([f"http://127.0.0.1:{server.server_port}"])
        .build()
    )
    recorded = {operation: record(client, operation) for operation in operations}
    json.dump(recorded, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()

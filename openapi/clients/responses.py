#!/usr/bin/env python3
"""Serves the responses of `awkward.json` and the lists of `pagination.json`, and runs a program.

usage: responses.py COMMAND...

The command finds the address in MODELARTS_VECTORS_ENDPOINT. The project id of a request is the name
of a case.
"""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
AWKWARD = json.loads((VECTORS / "awkward.json").read_text())["cases"]
PAGINATION = json.loads((VECTORS / "pagination.json").read_text())
CASES = {case["name"]: case for case in AWKWARD + PAGINATION["cases"]}
# Number of requests of each case.
requests = dict.fromkeys(CASES, 0)


def filled(template, row):
    """Returns a template with `{row}` replaced."""
    if isinstance(template, dict):
        return {name: filled(value, row) for name, value in template.items()}
    return template.replace("{row}", row) if isinstance(template, str) else template


def page(case, request, offset, limit):
    """Returns the response to request number `request`, as `vectors/README.md` defines it."""
    form = PAGINATION["lists"][case["operation"]]
    state = [state for state in case["states"] if state["from_request"] <= request][-1]
    count = min(state.get("most", limit), limit)
    start = offset * count if case["offset"] == "page-index" else offset
    kind = state.get("page")
    if kind in ("first", "whole"):
        start = 0
    rows = state["rows"][start:] if kind == "whole" else state["rows"][start : start + count]
    if kind in ("empty", "null"):
        rows = []
    items = None if kind == "null" else [filled(form["row"], row) for row in rows]
    return {"total": state.get("total", len(state["rows"])), form["items"]: items}


class Handler(BaseHTTPRequestHandler):
    def do(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        case = CASES[self.path.split("/")[2]]
        if "states" in case:
            requests[case["name"]] += 1
            query = dict(re.findall(r"(\w+)=(\d+)", self.path))
            offset, limit = int(query["offset"]), int(query["limit"])
            body = page(case, requests[case["name"]], offset, limit)
            case = {"status": 200, "headers": {"Content-Type": "application/json"}, "body": body}
        text = case.get("text", json.dumps(case["body"]) if "body" in case else "").encode()
        self.send_response_only(case["status"])
        for name, value in case["headers"].items():
            self.send_header(name, value)
        if case["status"] != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do

    def log_message(self, *_):
        pass


def main():
    if len(sys.argv) == 1:
        sys.exit("usage: responses.py COMMAND...")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = {"MODELARTS_VECTORS_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
    sys.exit(subprocess.call(sys.argv[1:], env={**os.environ, "NO_PROXY": "127.0.0.1", **address}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes scoped-vectors.json: signatures of the scoped dialect of SDK-HMAC-SHA256.

No official signer speaks this dialect. The vectors are made by this script, which was
written from the written rules (and shares no code with the Rust signer); they show that
two readings of the rules agree, not that a service accepts them.

    python3 scoped_vectors.py > scoped-vectors.json
"""

import hashlib
import hmac
import json
import re
from urllib.parse import quote, unquote

AK = "AKTESTEXAMPLE0000001"
SK = "SKTESTexampleSecretKey00000000000000001"
DATE = "20260115T083045Z"
HOST = "modelarts.eu-de.otc.t-systems.com"
PROJECT = "0123456789abcdef0123456789abcdef"
JOBS = f"/v2/{PROJECT}/training-jobs"


def encode(text):
    return quote(text, safe="-_.~")


def canonical_path(path):
    path = "/".join(encode(part) for part in unquote(path).split("/"))
    return path if path.endswith("/") else path + "/"


def canonical_query(pairs):
    encoded = [(encode(name), encode(value)) for name, value in pairs]
    encoded.sort(key=lambda pair: (pair[0].lower(), pair[0], pair[1]))
    return "&".join("=".join(pair) for pair in encoded)


def canonical_headers(headers):
    named = {name.lower(): re.sub(r"\s+", " ", value).strip() for name, value in headers}
    return sorted(named.items())


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signed(method, path, query, headers, body, region, service):
    headers = canonical_headers(headers)
    date = dict(headers)["x-sdk-date"]
    names = ";".join(name for name, _ in headers)
    request = "\n".join([
        method.upper(),
        canonical_path(path),
        canonical_query(query),
        "".join(f"{name}:{value}\n" for name, value in headers),
        names,
        hashlib.sha256(body.encode()).hexdigest(),
    ])
    scope = "/".join([date[:8], region, service, "sdk_request"])
    to_sign = "\n".join([
        "SDK-HMAC-SHA256", date, scope, hashlib.sha256(request.encode()).hexdigest(),
    ])
    key = ("SDK" + SK).encode()
    for part in (date[:8], region, service, "sdk_request"):
        key = mac(key, part)
    signature = mac(key, to_sign).hex()
    authorization = (
        f"SDK-HMAC-SHA256 Credential={AK}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return request, authorization


def vector(name, method="GET", path=JOBS, query=(), more=(), body="", region="", service=""):
    headers = [("host", HOST), ("x-sdk-date", DATE), ("x-project-id", PROJECT), *more]
    query = [list(pair) for pair in query]
    request, authorization = signed(method, path, query, headers, body, region, service)
    return {
        "name": name, "method": method, "path": path, "query": query,
        "headers": [list(header) for header in headers], "body": body,
        "region": region, "service": service, "ak": AK, "sk": SK,
        "canonical_request": request, "authorization": authorization,
    }


JSON = ("content-type", "application/json")
VECTORS = [
    vector("empty-scope"),
    vector("region-and-service", region="eu-de", service="modelarts"),
    vector("service-only", service="ec2"),
    vector("region-only", region="eu-de"),
    vector("post-json", "POST", more=[JSON], body='{"kind":"job","metadata":{"name":"bert"}}'),
    vector("post-utf8", "POST", more=[JSON], body='{"description":"Schulung für später"}',
           region="eu-de", service="modelarts"),
    vector("query", query=[("limit", "50"), ("offset", "0")]),
    vector("query-case", query=[("b", "1"), ("A", "2"), ("a", "3"), ("B", "4")]),
    vector("query-order-after-encoding",
           query=[("f~", "1"), ("f[a]", "2"), ("fa", "3"), ("fA", "4"), ("fé", "5"), ("f", "6")]),
    vector("query-repeated", query=[("id", "b"), ("id", "a"), ("id", "a")]),
    vector("query-special", query=[("pattern", "a b+c*d~e/f&g=h%41"), ("empty", "")]),
    vector("path-special", path="/v2/a%20b/x%2541y/z+w"),
    vector("path-with-slash", path=JOBS + "/"),
    vector("blanks-in-headers", more=[("x-note", "  a   b\tc ")]),
    vector("security-token", more=[("x-security-token", "STTESTEXAMPLE")], region="eu-de"),
    vector("lower-case-method", "delete", path=JOBS + "/cf63aba9-63b1-4219-b717-708a2665100b"),
]

print(json.dumps({
    "made_by": "scoped_vectors.py, from the written rules and not by an official signer",
    "vectors": VECTORS,
}, indent=1, ensure_ascii=False))

#!/usr/bin/env python3
"""Generates signing-scoped.json: signatures of the scoped form of SDK-HMAC-SHA256.

No official signer has this form. This script follows the written rules and shares no code with
the Rust signer. Its vectors show that two implementations of the rules agree, not that a service
accepts them.

    python3 signing_scoped.py > signing-scoped.json
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
    return request, to_sign, authorization


def case(name, about, method="GET", path=JOBS, query=(), more=(), body="", region="", service=""):
    headers = [("host", HOST), ("x-sdk-date", DATE), ("x-project-id", PROJECT), *more]
    request, to_sign, authorization = signed(method, path, query, headers, body, region, service)
    return {
        "name": name, "about": about, "region": region, "service": service,
        "method": method, "path": path, "query": query, "headers": dict(headers), "body": body,
        "access_key": AK, "secret_key": SK,
        "canonical_request": request, "string_to_sign": to_sign, "authorization": authorization,
    }


JSON = ("content-type", "application/json")
CASES = [
    case("empty-scope", "Neither region nor service: the scope has two empty parts."),
    case("region-and-service", "Both are parts of the scope.",
         region="eu-de", service="modelarts"),
    case("service-only", "A service without a region.", service="ec2"),
    case("region-only", "A region without a service.", region="eu-de"),
    case("post-json", "A JSON body.", "POST", more=[JSON],
         body='{"kind":"job","metadata":{"name":"bert"}}'),
    case("post-utf8", "The hash is over the UTF-8 of the body.", "POST", more=[JSON],
         body='{"description":"Schulung für später"}', region="eu-de", service="modelarts"),
    case("query", "Two parameters.", query=[("limit", "50"), ("offset", "0")]),
    case("query-case", "Parameters are sorted without regard to case.",
         query=[("b", "1"), ("A", "2"), ("a", "3"), ("B", "4")]),
    case("query-order-after-encoding", "Parameters are sorted after they were encoded.",
         query=[("f~", "1"), ("f[a]", "2"), ("fa", "3"), ("fA", "4"), ("fé", "5"), ("f", "6")]),
    case("query-repeated", "Values of one name are sorted, and equal ones are kept.",
         query=[("id", "b"), ("id", "a"), ("id", "a")]),
    case("query-special", "Special characters and an empty value.",
         query=[("pattern", "a b+c*d~e/f&g=h%41"), ("empty", "")]),
    case("path-special", "A path with encoded characters.", path="/v2/a%20b/x%2541y/z+w"),
    case("path-with-slash", "A slash at the end of the path is not doubled.", path=JOBS + "/"),
    case("blanks-in-headers", "Blanks within a header value are joined.",
         more=[("x-note", "  a   b\tc ")]),
    case("security-token", "A temporary key.", more=[("x-security-token", "STTESTEXAMPLE")],
         region="eu-de"),
    case("lower-case-method", "The method is written in capitals in the canonical request.",
         "delete", path=JOBS + "/cf63aba9-63b1-4219-b717-708a2665100b"),
]

print(json.dumps({
    "about": "Requests and their signatures by SDK-HMAC-SHA256 with a derived key. Made by "
             "signing_scoped.py from the written rules, and by no official signer.",
    "cases": CASES,
}, indent=1, ensure_ascii=False))

"""Signs requests with an access key: SDK-HMAC-SHA256."""

import hashlib
import hmac
from collections.abc import Generator
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote

import httpx


def authorization(
    access_key: str, secret_key: str, method: str, url: str, headers: dict[str, str], body: bytes
) -> str:
    """Returns the header `Authorization` of a request. `headers` are those to sign, in lower case;
    `x-sdk-date` must be one of them."""
    parsed = httpx.URL(url)
    path = quote(parsed.path, safe="/~")
    pairs = sorted(parse_qsl(parsed.query.decode(), keep_blank_values=True))
    names = ";".join(sorted(headers))
    canonical = "\n".join(
        [
            method.upper(),
            path if path.endswith("/") else path + "/",
            "&".join(f"{quote(key, safe='~')}={quote(value, safe='~')}" for key, value in pairs),
            "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers)),
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = f"SDK-HMAC-SHA256\n{headers['x-sdk-date']}\n{digest}"
    signature = hmac.new(secret_key.encode(), to_sign.encode(), hashlib.sha256).hexdigest()
    return f"SDK-HMAC-SHA256 Access={access_key}, SignedHeaders={names}, Signature={signature}"


class AccessKey(httpx.Auth):
    """Signs each request as it is sent, so that a repeated request has a new signature."""

    requires_request_body = True

    def __init__(self, access_key: str, secret_key: str, project_id: str) -> None:
        self.access_key = access_key
        self.secret_key = secret_key
        self.project_id = project_id

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["X-Sdk-Date"] = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        request.headers["X-Project-Id"] = self.project_id
        signed = ["content-type", "host", "x-project-id", "x-sdk-date"]
        request.headers["Authorization"] = authorization(
            self.access_key,
            self.secret_key,
            request.method,
            str(request.url),
            {name: request.headers[name] for name in signed if name in request.headers},
            request.content,
        )
        yield request

"""`Emulator`: a running emulator of the ModelArts training service."""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from modelarts_tools import _native

# Bucket that exists from the start.
BUCKET = "modelarts-test"
# Prefixes of variables from which clients of ModelArts take credentials and addresses.
PREFIXES = ("MODELARTS_", "HUAWEICLOUD_", "HW_", "HC_", "OS_")


class Emulator:
    """A running emulator of the ModelArts training service, with its own empty OBS.

    It runs in this process, starts the code of jobs as processes of this machine, and listens only
    on a loopback address. Use it in a `with` statement, which ends it with its jobs:

        with Emulator() as emulator:
            job = emulator.client().submit("train.py")
            job.wait(check=True)

    Attributes:
        url: Address of the service, such as `http://127.0.0.1:40665`.
        obs_url: Address of OBS, for clients of the S3 protocol such as boto3.
        project_id: Id of the project.
        access_key: Access key, which both addresses accept.
        secret_key: Secret key.
        token: Value that the service accepts in the header `X-Auth-Token`, instead of a signature.
        bucket: Bucket of OBS that exists from the start.
        obs_root: Directory of OBS: `obs://bucket/key` is the file `bucket/key` in it.
        environment: Variables from which `modelarts`, the SDK for Rust and the vendor's SDKs take
            their settings, for example for `subprocess.run`. It has no other variables:
            `env={**os.environ, **emulator.environment}`.
    """

    def __init__(
        self,
        arguments: Sequence[str] = (),
        *,
        directory: Union[str, "os.PathLike[str]", None] = None,
    ) -> None:
        """Starts the emulator, without the delays of the service.

        Args:
            arguments: Further arguments of `modelarts-emulator serve`, such as
                `["--timing", "documented", "--cloud", "otc"]`.
            directory: Directory of its state and its OBS. If not given, a temporary one, which is
                deleted at the end.

        Raises:
            RuntimeError: The emulator did not start, for example because of an argument.
        """
        if not hasattr(_native, "Server"):
            raise RuntimeError("the emulator requires Linux or macOS")
        self._remove = None
        if directory is None:
            directory = tempfile.mkdtemp(prefix="modelarts-")
            self._remove = weakref.finalize(self, _remove, directory, os.getpid())
        self._directory = Path(directory).resolve()
        self._directory.mkdir(parents=True, exist_ok=True)
        self.token: str = secrets.token_hex(16)
        self.bucket: str = BUCKET
        self._log_start = _native.emulator_log(0)[1]
        own = ["--timing", "instant", "--token", self.token]
        own += ["--data-dir", str(self._directory / "data")]
        own += ["--obs-root", str(self._directory / "obs")]
        self._server = _native.Server([*own, *arguments])
        self.url: str = self._server.url
        self.obs_url: str = self._server.obs_url
        self.project_id: str = self._server.project_id
        self.access_key: str = self._server.access_key
        self.secret_key: str = self._server.secret_key
        self.obs_root: Path = Path(self._server.obs_root)
        self.environment: Dict[str, str] = self._server.environment
        self.environment["MODELARTS_OBS_BUCKET"] = self.bucket
        # Contexts and the latest job of the user are not those of a test.
        self.environment["MODELARTS_CONFIG"] = str(self._directory / "config.toml")
        self.environment["MODELARTS_STATE_DIR"] = str(self._directory / "state")
        self.environment["MODELARTS_CACHE_DIR"] = str(self._directory / "cache")
        self._empty()

    def client(self, **settings: Any) -> _native.Client:
        """Returns a client of the emulator, with further settings of `Client`."""
        return _native.Client(environment=self.environment, **settings)

    def foreign_variables(self, environment: Mapping[str, str]) -> List[str]:
        """Returns names of variables that a client would use besides those of `environment`.

        They belong to a cloud, and would for example select another kind of credentials.
        """
        return [
            name
            for name in environment
            if name.startswith(PREFIXES)
            and not name.startswith("MODELARTS_EMULATOR")
            and name not in self.environment
        ]

    def api(self, path: str, body: object = None, *, method: Optional[str] = None) -> Any:
        """Calls an operation of the service, and returns the decoded body of the response.

        Args:
            path: Path below the project, such as `training-jobs/ID`.
            body: Body of the request, which is sent as JSON.
            method: GET if not given, or POST with a body.

        Raises:
            urllib.error.HTTPError: The status is not one of success. The message has the body.
        """
        return self._send(f"/v2/{self.project_id}/{path}", body, method)

    def control(self, route: str, body: object = None, *, method: Optional[str] = None) -> Any:
        """Calls a control route of the emulator, and returns the decoded body of the response.

        For example, `control("faults", {"operation": "CreateTrainingJob", "fault": "status",
        "status": 429})` makes the next creation fail, and `control("seeds", {"jobs": [{"name":
        "old", "phase": "Failed"}]})` adds a job of the past.

        Args:
            route: Path below `/_emulator`.
            body: Body of the request, which is sent as JSON.
            method: GET if not given, or POST with a body.

        Raises:
            urllib.error.HTTPError: The status is not one of success. The message has the body.
        """
        return self._send(f"/_emulator/{route}", body, method)

    def _send(self, path: str, body: object, method: Optional[str]) -> Any:
        # These imports take longer than the rest of this module.
        from urllib.error import HTTPError
        from urllib.request import ProxyHandler, Request, build_opener

        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Auth-Token": self.token, "Content-Type": "application/json"}
        request = Request(self.url + path, data, headers, method=method)
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=60) as response:
                content = response.read()
        except HTTPError as error:
            with error:
                content = error.read()
            text = f"{error.reason}: {content.decode(errors='replace')}"
            body_again = io.BytesIO(content)
            raise HTTPError(error.url, error.code, text, error.headers, body_again) from None
        return json.loads(content) if content else None

    def reset(self) -> None:
        """Ends all jobs, and deletes jobs, faults, counts of requests and the objects of OBS."""
        self.control("reset", method="POST")
        self._empty()
        self._log_start = _native.emulator_log(0)[1]

    def _empty(self) -> None:
        for name in ("obs", "state", "cache"):
            for entry in self._directory.joinpath(name).glob("*"):
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
        self._directory.joinpath("config.toml").unlink(missing_ok=True)
        self.obs_root.joinpath(self.bucket).mkdir(parents=True)

    def log(self) -> str:
        """Returns what the emulators of this process have logged since the last reset."""
        return _native.emulator_log(self._log_start)[0]

    def close(self) -> None:
        """Ends the emulator with its jobs."""
        self._server.close()
        if self._remove is not None:
            self._remove()

    def __repr__(self) -> str:
        return f"Emulator(url={self.url!r})"

    def __enter__(self) -> "Emulator":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _remove(directory: str, process: int) -> None:
    # A fork must not remove the directory of the process that it comes from.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)

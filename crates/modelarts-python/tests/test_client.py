"""Clients, jobs and streams, on an emulator."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, List, Tuple

import pandas
import pytest

from modelarts_tools import Client, Emulator, End, Job, JobWarning, Stream, Submission, exceptions

FLAVOR = "modelarts.vm.cpu.2u"
SCRIPT = """
import sys, pathlib
given = dict(argument.lstrip("-").split("=", 1) for argument in sys.argv[1:])
for epoch in range(3):
    print(f"epoch {epoch} loss={float(given.get('lr', 1)) / 2 ** epoch}")
if "data_url" in given:
    print(sorted(path.name for path in pathlib.Path(given["data_url"]).iterdir()))
if "train_url" in given:
    pathlib.Path(given["train_url"], "model.txt").write_text(given.get("lr", "none"))
raise SystemExit(int(given.get("code", 0)))
"""
FOREVER = "import time\nprint('started', flush=True)\nwhile True: time.sleep(0.05)\n"


@pytest.fixture
def client(modelarts: Emulator) -> Client:
    return modelarts.client(flavor=FLAVOR)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    script = tmp_path / "code" / "train.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    return script


@pytest.fixture
def running(client: Client, tmp_path: Path) -> Job:
    (tmp_path / "forever.py").write_text(FOREVER)
    job = client.submit(tmp_path / "forever.py")
    assert str(next(iter(job.logs(follow=True)))) == "started"
    return job


def body(job: Job) -> Dict[str, Any]:
    algorithm: Dict[str, Any] = job.to_dict()["algorithm"]
    return algorithm


def test_a_job_from_a_script(client: Client, code: Path, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "rows.csv").write_text("1,2\n")
    job = client.submit(code, data=tmp_path / "rows", out="train_url", parameters={"lr": 0.5})
    assert (job.name[:-4], job.phase, job.is_final) == ("train-", "Creating", False)
    end = job.wait(check=True)
    assert (end.outcome, end.is_completed, str(end)) == ("completed", True, f"{job.name} completed")
    # The job is frozen; the end has the newer one.
    assert (job.phase, end.job.phase, job.refresh().phase) == ("Creating", "Completed", "Completed")
    ended = end.job
    assert (ended.tasks, ended.parameters, ended.flavor) == (["worker-0"], {"lr": "0.5"}, FLAVOR)
    assert list(ended.outputs) == ["train_url"]
    assert ended.created_at is not None and ended.created_at.tzinfo == timezone.utc
    assert abs(ended.created_at - datetime.now(timezone.utc)) < timedelta(minutes=5)
    assert isinstance(ended.time_run, timedelta)
    lines = ["epoch 0 loss=0.5", "epoch 1 loss=0.25", "epoch 2 loss=0.125", "['rows.csv']"]
    assert [str(line) for line in ended.logs()] == lines
    assert [str(line) for line in ended.logs("worker-0", tail=1)] == lines[-1:]
    assert [float(value) for value in ended.values(r"loss=(\S+)")] == [0.5, 0.25, 0.125]
    [output] = ended.download(tmp_path / "results")
    assert (output.name, output.files, output.bytes) == ("train_url", 1, 3)
    assert (tmp_path / "results" / "train_url" / "model.txt").read_text() == "0.5"
    assert ended.download(tmp_path / "results", "train_url") == [output]
    with pytest.raises(exceptions.NotFoundError, match='no output named "other"'):
        ended.download(tmp_path / "results", ["other"])


def test_a_followed_job(client: Client, code: Path) -> None:
    updates = list(client.submit(code).follow())
    assert updates[-1].kind == "phase" and str(updates[-1]) == "Completed"
    assert [str(update.line) for update in updates if update.line] == [
        f"epoch {epoch} loss={1 / 2**epoch}" for epoch in range(3)
    ]
    kinds = [update.event.kind for update in updates if update.event]
    assert kinds[0] == "created" and {"task_finished", "completed"} <= set(kinds)


def test_events(client: Client, code: Path) -> None:
    job = client.submit(code)
    followed = list(job.events(follow=True))
    assert [event.message for event in job.events()] == [event.message for event in followed]
    finished = next(event for event in followed if event.kind == "task_finished")
    assert finished.details == {"task": "worker-0", "exit_code": 0}
    assert str(finished).endswith("Info    Task [worker-0] Training finished. Exit code 0.")


def test_a_job_that_fails(client: Client, code: Path) -> None:
    job = client.submit(code, parameters={"code": 3})
    end = job.wait()
    assert end.job.exit_codes == {"worker-0": 3}
    assert (end.outcome, end.exit_code, end.task) == ("failed", 3, "worker-0")
    assert end.last_lines[-1] == "epoch 2 loss=0.25"
    with pytest.raises(exceptions.JobNotCompletedError, match="exit code 3") as failed:
        job.wait(check=True)
    assert failed.value.end.outcome == "failed"
    diagnosis = job.explain()
    assert (diagnosis.phase, diagnosis.exit_code, diagnosis.task) == ("Failed", 3, "worker-0")
    assert str(diagnosis).startswith(f"{job.name} Failed: ")
    assert diagnosis.evidence[0]["source"] == "exit_code"


def test_a_stop_and_a_deletion(client: Client, running: Job) -> None:
    assert running.wait(0.05).outcome == "timed_out"
    running.stop()
    end = running.wait(timedelta(minutes=1))
    assert (end.outcome, end.by) == ("terminated", "user")
    with pytest.raises(exceptions.ConflictError) as conflict:
        running.stop()
    assert conflict.value.code == "ModelArts.2796"
    assert conflict.value.operation == "StopTrainingJob" and conflict.value.request_id
    running.delete()
    with pytest.raises(exceptions.NotFoundError, match=running.id):
        while True:
            client.get(running.id)


def test_arguments_of_a_job(client: Client, code: Path, tmp_path: Path) -> None:
    other = code.parent / "lib" / "other.py"
    other.parent.mkdir()
    other.touch()
    request = client.prepare(
        other,
        name="all",
        code_dir=code.parent,
        description="text",
        engine="PyTorch:pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
        nodes=2,
        data={"a": "obs://modelarts-test/a/", "b": tmp_path},
        out={"x": "obs://modelarts-test/x/", "y": None},
        parameters=MappingProxyType({"lr": 1e-05, "flag": True, "none": None}),
        env=MappingProxyType({"SEED": "1"}),
        auto_stop=timedelta(hours=2),
        restarts=3,
        set={"spec.resource.node_count": 3, "metadata.annotations.note": "4"},
    )
    job = request.to_dict()
    assert job["metadata"]["name"] == request.name == "all"
    assert job["metadata"]["description"] == "text"
    assert job["metadata"]["annotations"]["note"] == "4"
    assert job["metadata"]["annotations"]["fault-tolerance/job-retry-num"] == "3"
    assert job["spec"]["resource"] == {"flavor_id": FLAVOR, "node_count": 3}
    assert job["spec"]["auto_stop"] == {"time_unit": "HOURS", "duration": 2}
    algorithm = job["algorithm"]
    assert algorithm["environments"] == {"SEED": "1"}
    parameters = {each["name"]: each["value"] for each in algorithm["parameters"]}
    assert list(parameters.items()) == [("lr", "1e-05"), ("flag", "True")]
    addresses = [
        [(each["name"], each["remote"]["obs"]["obs_url"]) for each in algorithm[channels]]
        for channels in ("inputs", "outputs")
    ]
    # Placeholders stand for the addresses of local places.
    assert addresses == [
        [("a", "obs://modelarts-test/a/"), ("b", "obs://staged/data/b/")],
        [("x", "obs://modelarts-test/x/"), ("y", "obs://staged/out/y/")],
    ]
    assert algorithm["code_dir"] == "obs://staged/code/"
    assert algorithm["boot_file"] == "obs://staged/code/lib/other.py"


def test_sources_of_a_job(
    client: Client, modelarts: Emulator, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = code.parent
    (directory / "job.yaml").write_text(
        """
metadata: {name: from-file}
algorithm:
  code_dir: .
  boot_file: train.py
  outputs: [{name: train_url}]
spec: {resource: {flavor_id: modelarts.vm.cpu.8u}}
"""
    )
    from_file = client.submit(directory / "job.yaml", parameters={"lr": 2})
    assert (from_file.name, from_file.flavor) == ("from-file", "modelarts.vm.cpu.8u")
    assert from_file.wait(check=True).job.parameters == {"lr": "2"}
    command = "python ${MA_JOB_DIR}/code/train.py --lr=4"
    by_command = client.submit(directory, command=command, engine="PyTorch:pytorch_1.8.0")
    by_command.wait(check=True)
    assert [float(value) for value in by_command.values(r"loss=(\S+)")] == [4, 2, 1]
    by_boot_file = client.submit(directory, boot_file="train.py")
    assert body(by_boot_file)["boot_file"].endswith("/code/train.py")
    (modelarts.obs_root / modelarts.bucket / "code").mkdir()
    (modelarts.obs_root / modelarts.bucket / "code" / "there.py").write_text("print('there')")
    remote = client.submit(f"obs://{modelarts.bucket}/code/there.py")
    assert remote.name.startswith("there-")
    remote.wait(check=True)
    again = client.submit({**remote.to_dict(), "metadata": {"name": "again"}})
    again.wait(check=True)
    assert [str(line) for line in again.logs()] == ["there"]
    # Options replace the code of a job file, and `set` comes last.
    (directory / "lib").mkdir()
    (directory / "lib" / "other.py").write_text("print('other')")
    monkeypatch.chdir(directory)
    replaced: List[Dict[str, Any]] = [
        {"name": "script", "boot_file": "lib/other.py"},
        {"name": "both", "code_dir": "lib", "boot_file": "other.py"},
    ]
    for options in replaced:
        other = client.submit("job.yaml", **options)
        other.wait(check=True)
        assert [str(line) for line in other.logs()] == ["other"]
    code_there = f"obs://{modelarts.bucket}/code/"
    moved = client.submit("job.yaml", name="moved", code_dir=code_there, boot_file="there.py")
    assert body(moved)["boot_file"] == f"/{modelarts.bucket}/code/there.py"
    fields = {"algorithm.code_dir": code_there, "algorithm.boot_file": code_there + "there.py"}
    fields["algorithm.outputs[0].remote.obs.obs_url"] = f"obs://{modelarts.bucket}/set/"
    by_set = client.prepare(code, out="train_url", set=fields).to_dict()["algorithm"]
    assert by_set["code_dir"] == code_there
    assert by_set["outputs"][0]["remote"]["obs"]["obs_url"] == f"obs://{modelarts.bucket}/set/"


def test_mistakes_are_named(client: Client, code: Path) -> None:
    wrong: List[Tuple[Dict[str, Any], str]] = [
        ({"flavour": "x"}, "unexpected keyword argument flavour; must be one of name, descr"),
        ({"nodes": "two"}, "nodes: must be a whole number from 1 on, and is 'two'"),
        ({"data": 3}, "data: must be a path or an address, or several by name, and is 3"),
        ({"parameters": {"a": [1]}}, "parameters: must be texts, numbers or booleans by name"),
    ]
    for options, message in wrong:
        with pytest.raises(TypeError, match=message):
            client.submit(code, **options)
    with pytest.raises(exceptions.InvalidError) as invalid:
        client.submit(code, name="a b", priority=9)
    fields = {each["field"]: each["rule"] for each in invalid.value.violations}
    assert fields["metadata.name"] == "must be 1 to 64 letters, digits, _ and -"
    assert invalid.value.attempts == 0 and isinstance(invalid.value, ValueError)
    with pytest.raises(ValueError, match='engine: "PyTorch" must have the form NAME:VERSION'):
        client.submit(code, engine="PyTorch")
    with pytest.raises(ValueError, match="does not exist; check the path"):
        client.submit("trian.py")
    with pytest.raises(ValueError, match="is a directory; boot_file must name the script"):
        client.submit(code.parent)
    with pytest.raises(ValueError, match="timeout: -1 seconds; must not be negative"):
        client.submit(code).wait(-1)
    data = code.parent
    senseless: List[Tuple[Any, Dict[str, Any], str]] = [
        (code, {"boot_file": "train.py"}, "boot_file must not be given with the script"),
        (code.parent, {"code_dir": "a"}, "code_dir must not be given with the directory"),
        ("obs://b/a.py", {"code_dir": "a"}, "code_dir must be an address"),
        (code, {"adopt": True}, "adopt: the job must have a name; give name"),
        (code, {"token": "ci"}, "token: the job must have a name; give name"),
        (code, {"data": {"x": data}, "out": "x"}, "two inputs or outputs are named x"),
        (code.parent / "none.yaml", {}, "cannot read the job in .*none.yaml"),
    ]
    for source, options, message in senseless:
        with pytest.raises(exceptions.ModelArtsError, match=message):
            client.submit(source, **options)
    with pytest.raises(ValueError, match="a datetime must have a time zone"):
        client.list(since=datetime.now())
    with pytest.raises(TypeError, match="body: must be JSON"):
        client.call("ShowTrainingQuotas", b"x")
    with pytest.raises(exceptions.InvalidError, match="did you mean ShowTrainingQuotas"):
        client.call("ShowTrainingQuota")
    assert list(client.list(name="a b")) == []


def test_settings_of_a_client(modelarts: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    # The fixture has set the variables.
    assert Client().project_id == modelarts.project_id
    keys: Dict[str, Any] = {"access_key": modelarts.access_key, "secret_key": modelarts.secret_key}
    place: Dict[str, Any] = {"endpoint": modelarts.url, "project_id": modelarts.project_id}
    explicit = Client(environment={}, cloud="huawei", timeout=60, rate_limit=100.0, **place, **keys)
    assert list(explicit.list()) == []
    assert list(Client(environment={}, token=modelarts.token, **place).list()) == []
    with pytest.raises(exceptions.CredentialsError):
        list(Client(environment={}, token="wrong", **place).list())
    with pytest.raises(exceptions.ConfigError, match="endpoint|region"):
        Client(environment={})
    with pytest.raises(ValueError, match="credentials must be access_key and secret_key"):
        Client(environment={}, access_key="a", **place)
    with pytest.raises(ValueError, match='cloud: "aws" must be'):
        Client(cloud="aws")
    config = f"""
[context.here]
endpoint = "{modelarts.url}"
project_id = "{modelarts.project_id}"
flavor = "{FLAVOR}"
"""
    Path(modelarts.environment["MODELARTS_CONFIG"]).write_text(config)
    monkeypatch.delenv("MODELARTS_ENDPOINT")
    here = Client("here")
    assert here.endpoint.rstrip("/") == modelarts.url
    assert here.prepare({}).to_dict()["spec"]["resource"]["flavor_id"] == FLAVOR
    with pytest.raises(exceptions.ConfigError, match="there"):
        Client("there")


def test_lists(client: Client, modelarts: Emulator) -> None:
    jobs = [{"name": f"job-{number:02}", "phase": "Failed"} for number in range(30)]
    jobs += [{"name": "done", "phase": "Completed"}]
    modelarts.control("seeds", {"jobs": jobs})
    names = [job.name for job in client.list()]
    assert len(names) == len(set(names)) == 31
    assert [job.name for job in client.list(phase="completed")] == ["done"]
    assert len(list(client.list(phase=["Completed", "Failed"], name="job-1"))) == 10
    assert len(list(client.list(limit=3))) == 3
    assert len(list(client.list(since=timedelta(hours=1)))) == 31
    assert list(client.list(since=datetime.now(timezone.utc))) == []
    assert list(client.list(until=3600)) == []
    assert client.get("done").name == client.get(client.get("done").id).name == "done"
    with pytest.raises(exceptions.NotFoundError, match='no job is named "none"') as missing:
        client.get("none")
    assert isinstance(missing.value, LookupError)


def test_every_operation(client: Client, modelarts: Emulator) -> None:
    modelarts.control("seeds", {"jobs": [{"name": "done", "phase": "Completed"}]})
    job = client.get("done")
    shown = client.call("ShowTrainingJobDetails", training_job_id=job.id)
    assert shown["metadata"]["name"] == "done"
    changed = client.call(
        "ChangeTrainingJobDescription", {"description": "text"}, training_job_id=job.id
    )
    assert changed is None or isinstance(changed, dict)
    assert job.refresh().to_dict()["metadata"]["description"] == "text"
    rows = client.rows("ListTrainingJobEvents", training_job_id=job.id)
    assert [row["message"] for row in rows] == [event.message for event in job.events()]


def test_several_jobs(client: Client, modelarts: Emulator, code: Path) -> None:
    def requests() -> List[Any]:
        return [
            client.prepare(
                code,
                name=f"trial-{n}",
                parameters={"lr": n, "code": n % 2},
                out="train_url",
                adopt=True,
            )
            for n in range(4)
        ]

    results: Dict[int, Submission] = {}
    for result in client.submit_all(requests(), at_most=2):
        results[result.index] = result
    ends = [results[n].end for n in range(4)]
    assert [end and end.outcome for end in ends] == ["completed", "failed"] * 2
    # The same call again returns the same jobs.
    again = {it.index: it.end for it in client.submit_all(requests())}
    assert [end and end.job.id for _, end in sorted(again.items(), key=lambda it: it[0])] == [
        end and end.job.id for end in ends
    ]
    assert modelarts.control("requests")["CreateTrainingJob"]["executed"] == 4
    table = client.submit_all(requests()).to_pandas().sort_values("index")
    assert list(table["outcome"]) == ["completed", "failed"] * 2
    assert list(table["param:lr"]) == ["0", "1", "2", "3"]
    # The error of one job does not end the others.
    mixed = [client.prepare(code, name=name) for name in ("trial-0", "ä", "trial-9")]
    by_name = {result.name: result for result in client.submit_all(mixed)}
    assert isinstance(by_name["trial-0"].error, exceptions.ConflictError)
    assert isinstance(by_name["ä"].error, exceptions.InvalidError)
    assert by_name["trial-9"].end and by_name["trial-9"].end.is_completed
    with pytest.raises(ValueError, match="either all requests must have adopt, or none"):
        client.submit_all([*mixed, requests()[0]])


def test_a_request_is_checked_before_it_is_sent(
    client: Client, modelarts: Emulator, code: Path
) -> None:
    assert client.prepare(code, name="checked").check() == []
    with pytest.raises(exceptions.InvalidError, match="must be 1 to 64"):
        client.prepare(code, name="ä").check()
    assert list(client.list()) == []
    request = client.prepare(code, name="checked", parameters={"code": 1}, adopt=True)
    assert request.submit().id == request.submit().id
    same = client.prepare(code, name="same", parameters={"code": 1}, token="ci-4711")
    assert same.submit().id == same.submit().id
    with pytest.warns(JobWarning, match="zz"):
        client.submit(code, out="zz").wait()
    # A job without anything on this machine has warnings, too.
    (modelarts.obs_root / modelarts.bucket / "code").mkdir()
    (modelarts.obs_root / modelarts.bucket / "code" / "there.py").touch()
    there = f"obs://{modelarts.bucket}/code/there.py"
    out = {"zz": f"obs://{modelarts.bucket}/zz/"}
    with pytest.warns(JobWarning, match="zz"):
        client.submit(there, out=out).wait()
    assert any("zz" in warning for warning in client.prepare(there, out=out).check())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client.submit(code).wait()
        # A warning that is an error comes before the creation.
        with pytest.raises(JobWarning):
            client.submit(code, out="zz", name="warned")
    assert list(client.list(name="warned")) == []


def test_tables(client: Client, code: Path) -> None:
    job = client.submit(code, parameters={"lr": 0.5}).wait(check=True).job
    table = client.list().to_pandas()
    assert list(table["name"]) == [job.name] and list(table["param:lr"]) == ["0.5"]
    values = job.values(r"loss=(\S+)").to_pandas()
    assert list(values["value"]) == [0.5, 0.25, 0.125]
    assert list(job.events().to_pandas()["kind"])[0] == "created"
    assert pandas.DataFrame([each.to_dict() for each in job.logs()])["text"][0] == "epoch 0 loss=0.5"


def test_results_are_frozen(client: Client, code: Path) -> None:
    end = client.submit(code).wait()
    with pytest.raises(dataclasses.FrozenInstanceError):
        end.outcome = "failed"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        end.job.phase = "Failed"  # type: ignore[misc]
    plain = end.to_dict()
    assert plain["job"]["metadata"]["name"] == end.job.name
    json.dumps(plain, default=str)
    assert end.job == client.get(end.job.id) == copy.deepcopy(end.job)
    assert len({end.job, client.get(end.job.id)}) == 1
    assert str(Stream[Job]) == "modelarts_tools.Stream[modelarts_tools.Job]"
    error = exceptions.ThrottledError("text", code="ModelArts.2799", attempts=3)
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.message, copied.code, copied.attempts) == ("text", "ModelArts.2799", 3)


def test_a_fault_is_retried_or_raised(client: Client, modelarts: Emulator, code: Path) -> None:
    fault = {"operation": "CreateTrainingJob", "fault": "lost-answer"}
    modelarts.control("faults", fault)
    client.submit(code, name="once").wait(check=True)
    assert modelarts.control("requests")["CreateTrainingJob"]["executed"] == 1
    quota = {
        "operation": "ListTrainingJobs",
        "fault": "status",
        "status": 403,
        "error_code": "ModelArts.0004",
        "error_msg": "denied",
    }
    modelarts.control("faults", quota)
    with pytest.raises(exceptions.ModelArtsError, match="denied") as denied:
        list(client.list())
    assert (denied.value.status, denied.value.code) == (403, "ModelArts.0004")


def test_the_time_limit_of_a_call(client: Client, modelarts: Emulator, code: Path) -> None:
    job = client.submit(code)
    fault = {"operation": "ShowTrainingJobDetails", "fault": "delay", "ms": 60_000}
    modelarts.control("faults", fault)
    hasty = modelarts.client(timeout=timedelta(milliseconds=200))
    with pytest.raises(exceptions.TimeLimitError) as late:
        hasty.get(job.id)
    assert isinstance(late.value, TimeoutError)
    assert str(late.value) == "ShowTrainingJobDetails: no answer within 200ms"


def test_outputs_are_data_of_the_next_job(client: Client, code: Path) -> None:
    first = client.submit(code, out="train_url").wait(check=True).job
    second = client.submit(code, data=first.outputs["train_url"]).wait(check=True).job
    assert str(list(second.logs())[-1]) == "['model.txt']"


def test_asyncio(running: Job) -> None:
    async def main() -> None:
        lines = running.logs(follow=True)
        async for line in lines:
            assert str(line) == "started"
            break
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(running.wait_async(), 0.05)
        running.stop()
        end = await running.wait_async()
        assert end.outcome == "terminated"
        with pytest.raises(exceptions.JobNotCompletedError):
            await running.wait_async(check=True)
        assert [str(line) async for line in lines] == []

    asyncio.run(main())


def test_a_stream_is_closed_while_a_thread_waits(running: Job) -> None:
    with running.logs(follow=True) as lines:
        next(lines)
        rest: List[Any] = []
        thread = threading.Thread(target=lambda: rest.extend(lines))
        thread.start()
    thread.join()
    assert rest == [] and list(lines) == []


class Alarm(Exception):
    pass


def test_a_signal_ends_a_wait_and_not_the_stream(running: Job) -> None:
    def ring(*_: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    lines = running.logs(follow=True)
    next(lines)
    try:
        for wait in (running.wait, lines.__next__):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Alarm):
                wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    running.stop()
    assert list(lines) == []


def test_ctrl_c_ends_a_program(running: Job) -> None:
    script = """
import os, sys, threading, time, signal
from modelarts_tools import Client
# A program in the background of a shell ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
job = Client().get(sys.argv[1])
print("waiting", flush=True)
job.wait()
"""
    command = [sys.executable, "-c", script, running.id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() != 0
        assert process.stderr.read().rstrip().endswith(b"KeyboardInterrupt")


def test_other_threads_run_during_a_wait(running: Job) -> None:
    ends: List[End] = []
    threads = [threading.Thread(target=lambda: ends.append(running.wait())) for _ in range(2)]
    for thread in threads:
        thread.start()
    # This thread would not continue if a wait kept the GIL.
    running.stop()
    for thread in threads:
        thread.join()
    assert [end.outcome for end in ends] == ["terminated"] * 2


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_gets_an_error(client: Client) -> None:
    assert list(client.list()) == []
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            client.get("none")
        except RuntimeError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert 'must be started by the method "spawn"' in pipe.read()
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_does_not_end_the_emulator(tmp_path: Path) -> None:
    (tmp_path / "forever.py").write_text(FOREVER)
    with Emulator() as emulator:
        job = emulator.client(flavor=FLAVOR).submit(tmp_path / "forever.py")
        next(iter(job.logs(follow=True)))
        child = os.fork()
        if child == 0:
            emulator.close()
            emulator._server = None  # type: ignore[assignment]
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert job.refresh().phase == "Running"
        assert emulator.obs_root.joinpath(emulator.bucket).is_dir()

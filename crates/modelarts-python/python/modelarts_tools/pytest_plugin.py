"""pytest plugin: the fixture `modelarts`, an emulator of the ModelArts training service."""

from __future__ import annotations

import os
import shlex
from typing import Any, Generator, Iterator

import pytest

from modelarts_tools._emulator import Emulator

# Name of the option and of the setting.
ARGUMENTS = "modelarts_arguments"
HELP = "further arguments of `modelarts-emulator serve`, such as `--timing documented --cloud otc`"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("modelarts", "emulator of ModelArts")
    group.addoption(
        "--modelarts-arguments",
        dest=ARGUMENTS,
        metavar="ARGUMENTS",
        help=HELP + "; after those of the setting",
    )
    parser.addini(ARGUMENTS, HELP, type="args", default=[])


@pytest.fixture(scope="session")
def modelarts_session(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Emulator]:
    """Emulator of the whole test run. It is not reset, and the environment is unchanged.

    Use it in fixtures with a scope above that of a function, and `modelarts` in tests.
    """
    arguments = [*pytestconfig.getini(ARGUMENTS)]
    arguments += shlex.split(pytestconfig.getoption(ARGUMENTS) or "")
    with Emulator(arguments, directory=tmp_path_factory.mktemp("modelarts")) as emulator:
        yield emulator


@pytest.fixture
def modelarts(modelarts_session: Emulator, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """Emulator of the ModelArts training service, without jobs and with an empty OBS.

    The emulator starts once for a test run; each test begins with a reset. During the test, the
    environment has the settings of a client, such as `MODELARTS_ENDPOINT` and
    `HUAWEICLOUD_SDK_AK`, and no credentials of a cloud. Code under test and programs that it starts
    therefore use the emulator.
    """
    modelarts_session.reset()
    for name in modelarts_session.foreign_variables(os.environ):
        monkeypatch.delenv(name)
    for name, value in modelarts_session.environment.items():
        monkeypatch.setenv(name, value)
    return modelarts_session


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Adds the log of the emulator to the report of a test that failed."""
    outcome = yield
    report = outcome.get_result()
    emulator = getattr(item, "funcargs", {}).get("modelarts")
    if report.when == "call" and report.failed and isinstance(emulator, Emulator):
        report.sections.append(("Log of the ModelArts emulator", emulator.log()))

"""Settings and reports of the plugin."""

from __future__ import annotations

import subprocess

import pytest

from modelarts_tools import Emulator

SHOWS_THE_CLOUD = """
import os

def test_cloud(modelarts):
    print("cloud:", os.environ["MODELARTS_CLOUD"])
"""


def test_an_option_and_a_setting_have_arguments(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SHOWS_THE_CLOUD)
    result = pytester.runpytest("-s")
    result.stdout.fnmatch_lines(["*cloud: huawei"])
    pytester.makeini("[pytest]\nmodelarts_arguments = --cloud otc --strict")
    result = pytester.runpytest("-s")
    result.stdout.fnmatch_lines(["*cloud: otc"])
    # The option comes after the setting.
    result = pytester.runpytest("-s", "--modelarts-arguments=--cloud huawei")
    result.stdout.fnmatch_lines(["*cloud: huawei"])


def test_a_failed_test_shows_the_log_since_its_begin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import urllib.error

        def test_before(modelarts):
            modelarts.control("seeds", {"jobs": [{"name": "before"}]})

        def test_fails(modelarts):
            modelarts.api("training-jobs/none")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*HTTPError*", "*Log of the ModelArts emulator*"])


def test_an_emulator_that_does_not_start_names_the_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SHOWS_THE_CLOUD)
    result = pytester.runpytest("--modelarts-arguments=--cloud none")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*RuntimeError: invalid value 'none' for '--cloud <CLOUD>'*"]
    )


def test_an_emulator_outside_of_pytest() -> None:
    with Emulator(["--cloud", "otc"]) as emulator:
        assert emulator.environment["MODELARTS_CLOUD"] == "otc"
        assert emulator.api("training-job-searches", {})["total"] == 0
        assert emulator.obs_root.is_dir()
    assert not emulator.obs_root.exists()
    with pytest.raises(OSError):
        emulator.control("health")


def test_the_help_names_option_and_fixtures(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")
    result.stdout.fnmatch_lines(["*--modelarts-arguments=ARGUMENTS*"])
    result = pytester.runpytest("--fixtures")
    result.stdout.fnmatch_lines(["modelarts_session *scope*", "modelarts *"])


def test_the_fixture_needs_no_program_on_the_path(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert subprocess.call(["sh", "-c", "command -v modelarts"]) != 0
    pytester.makepyfile(SHOWS_THE_CLOUD)
    pytester.runpytest().assert_outcomes(passed=1)

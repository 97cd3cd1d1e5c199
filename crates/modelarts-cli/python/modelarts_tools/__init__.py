"""ModelArts training jobs from Python: the programs of this package, and an emulator for tests.

The package installs the programs `modelarts` and `modelarts-emulator`, and a pytest plugin with the
fixture `modelarts`, an `Emulator`. The emulator requires Linux or macOS.
"""

from modelarts_tools._emulator import Emulator
from modelarts_tools._programs import program

__all__ = ["Emulator", "program"]

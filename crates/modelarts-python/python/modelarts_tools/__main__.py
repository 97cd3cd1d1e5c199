"""Runs the program `modelarts`: `python -m modelarts_tools ls`."""

import os
import subprocess
import sys

from modelarts_tools._programs import program


def main() -> int:
    path = str(program())
    arguments = [path, *sys.argv[1:]]
    if os.name == "posix":
        # The program takes the place of this process, so that signals reach it.
        os.execv(path, arguments)
    return subprocess.call(arguments)


if __name__ == "__main__":
    sys.exit(main())

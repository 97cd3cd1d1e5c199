"""Paths of the installed programs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

# Name of the distribution.
DISTRIBUTION = "modelarts-tools"


def program(name: str = "modelarts") -> Path:
    """Returns the path of `modelarts` or `modelarts-emulator`.

    The path is that of the program which was installed together with this package. It need not be
    on the PATH. A program of the PATH is used if the package was installed without its programs.

    Raises FileNotFoundError if there is none.
    """
    # It takes longer than the other modules of the package.
    from importlib import metadata

    file = name + ".exe" if os.name == "nt" and name == "modelarts" else name
    try:
        installed = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        installed = []
    candidates = [Path(str(path.locate())) for path in installed if path.name == file]
    # `pip install --target` moves the programs after it has recorded their paths.
    candidates.append(Path(__file__).parent.parent / "bin" / file)
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(
            f"{name} is not installed; install the wheel of {DISTRIBUTION} for this platform"
        )
    return Path(found)

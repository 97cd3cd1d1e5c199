"""Builds the wheel of the package: `python3 wheel.py SOURCE_DIR TARGET_DIR`.

The same source results in the same bytes. Files are stored without compression, so that the wheel
also works as an entry of `sys.path`. pip requires that the name of the distribution is the one in
the name of the file, and scripts install `moxing_framework-*.whl`.
"""

import base64
import hashlib
import os
import re
import sys
import zipfile

NAME = "moxing-framework"
METADATA = """\
Metadata-Version: 2.1
Name: %s
Version: %s
Summary: MoXing of the ModelArts emulator (modelarts-emulator-moxing), not Huawei's
License: MIT OR Apache-2.0
Requires-Python: >=3.7
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: modelarts-emulator
Root-Is-Purelib: true
Tag: py3-none-any
"""


def package_files(source):
    """Yields (name in the wheel, content) of the modules, in order."""
    for directory, directories, names in os.walk(os.path.join(source, "moxing")):
        directories[:] = sorted(set(directories) - {"__pycache__"})
        for name in sorted(names):
            if name.endswith(".py"):
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    yield os.path.relpath(path, source).replace(os.sep, "/"), file.read()


def build(source, target):
    """Builds the wheel in `target`, and returns its path."""
    files = dict(package_files(source))
    if "moxing/__init__.py" not in files:
        sys.exit("%s must contain the package moxing: correct SOURCE_DIR." % source)
    version = re.search(rb'__version__ = "(.+)"', files["moxing/__init__.py"]).group(1).decode()
    # A hyphen separates the parts of the file's name.
    stem = "%s-%s" % (NAME.replace("-", "_"), version.replace("-", "."))
    info = stem + ".dist-info/"
    files[info + "METADATA"] = (METADATA % (NAME, version)).encode()
    files[info + "WHEEL"] = WHEEL.encode()
    record = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        record.append("%s,sha256=%s,%d\n" % (name, digest, len(content)))
    files[info + "RECORD"] = "".join(record + [info + "RECORD,,\n"]).encode()
    wheel = os.path.join(target, stem + "-py3-none-any.whl")
    temporary = os.path.join(target, ".wheel-%d" % os.getpid())
    with zipfile.ZipFile(temporary, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # Its time is always 1980-01-01.
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    os.replace(temporary, wheel)
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("There must be two arguments: python3 wheel.py SOURCE_DIR TARGET_DIR")
    print(build(sys.argv[1], sys.argv[2]))

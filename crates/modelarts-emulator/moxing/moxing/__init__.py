"""MoXing of the ModelArts emulator: the documented `mox.file` functions on the emulator's OBS root.

This is not Huawei's MoXing. It was written from public documents (SOURCES, "MoXing"). A public name
that it does not have raises `NotImplementedError`.
"""

import sys

from moxing import framework
from moxing._missing import attribute_getter
from moxing.framework import file

# 2.5.0: the version whose documents this package follows; `stat().st_mtime` is wrong before it.
__version__ = "2.5.0+modelarts-emulator"
__getattr__ = attribute_getter(__name__)

# Old scripts write `import moxing.pytorch as mox`, and use only `mox.file`.
mxnet = pytorch = tensorflow = sys.modules[__name__]
for _engine in ("mxnet", "pytorch", "tensorflow"):
    sys.modules["moxing." + _engine] = sys.modules[__name__]

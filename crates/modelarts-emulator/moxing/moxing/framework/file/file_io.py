"""Module of the functions in Huawei's MoXing, which scripts import to change its settings.

The settings (document modelarts_trouble_0110, "Suspension in Data Copy") have no effect here.
"""

from moxing._missing import attribute_getter
from moxing.framework.file._copying import copy, copy_parallel, rename
from moxing.framework.file._directories import (
    glob, list_directory, make_dirs, mk_dir, remove, scan_dir, walk)
from moxing.framework.file._errors import _MoxFileBaseRespException
from moxing.framework.file._queries import exists, get_size, is_directory, stat
from moxing.framework.file._stream import File, append, read, write

_LARGE_FILE_METHOD = 2
_LARGE_FILE_TASK_NUM = 1
_NUMBER_OF_PROCESSES = 1
__getattr__ = attribute_getter(__name__)

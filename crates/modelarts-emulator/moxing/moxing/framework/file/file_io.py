"""Module of the functions in Huawei's MoXing, which scripts import to change its settings.

The settings (document modelarts_trouble_0110, "Suspension in Data Copy") have no effect here.
"""

from moxing._missing import attribute_getter
from moxing.framework.file._changes import copy, copy_parallel, make_dirs, mk_dir, remove, rename
from moxing.framework.file._errors import (
    MoxFileNameDuplicateException, MoxFileNotExistsException, MoxFileReadException,
    MoxFileRespException, _MoxFileBaseRespException)
from moxing.framework.file._queries import (
    exists, get_size, glob, is_directory, list_directory, scan_dir, stat, walk)
from moxing.framework.file._stream import File, append, read, write

_LARGE_FILE_METHOD = 2
_LARGE_FILE_TASK_NUM = 1
_NUMBER_OF_PROCESSES = 1
__getattr__ = attribute_getter(__name__)

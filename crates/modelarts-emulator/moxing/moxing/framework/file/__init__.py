"""Functions on files, for paths in OBS (`obs://` and `s3://`) and for local paths."""

from moxing._missing import attribute_getter
from moxing.framework.file import file_io
from moxing.framework.file._auth import set_auth
from moxing.framework.file._errors import (
    MoxFileNameDuplicateException, MoxFileNotExistsException, MoxFileReadException, MoxFileRespException)
from moxing.framework.file._shift import shift
from moxing.framework.file.file_io import (
    File, append, copy, copy_parallel, exists, get_size, glob, is_directory, list_directory, make_dirs,
    mk_dir, read, remove, rename, scan_dir, stat, walk, write)

__getattr__ = attribute_getter(__name__)

"""Functions on files, for paths in OBS (`obs://` and `s3://`) and for local paths."""

from moxing._missing import attribute_getter
from moxing.framework.file import file_io
from moxing.framework.file._auth import set_auth
from moxing.framework.file._shift import shift
from moxing.framework.file.file_io import *

__getattr__ = attribute_getter(__name__)

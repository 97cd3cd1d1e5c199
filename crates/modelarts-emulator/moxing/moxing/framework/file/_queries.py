"""Facts on files and directories."""

import os
from os import stat as os_stat
from types import SimpleNamespace

from moxing.framework.file._errors import missing
from moxing.framework.file._location import is_remote, look
from moxing.framework.file._tree import tree


def exists(url):
    """Returns True if the file or directory exists."""
    return look(url)[1] is not None if is_remote(url) else os.path.exists(url)


def is_directory(url):
    """Returns True if the path is a directory."""
    return look(url)[1] == "directory"


def get_size(url, recursive=False):
    """Returns the size in bytes; of a directory in OBS 0, unless `recursive` is set."""
    if not is_directory(url):
        return stat(url).length
    if is_remote(url) and not recursive:
        return 0
    entries = tree(look(url)[0], is_remote(url))
    return sum(os_stat(path).st_size for _, is_dir, path in entries if not is_dir)


def stat(url):
    """Returns the documented `length`, `mtime_nsec` and `is_directory`, and the fields of `os.stat`."""
    path, kind = look(url)
    if kind is None and is_remote(url):
        raise missing(url)
    status = os_stat(path)
    is_dir = kind == "directory"
    fields = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
    return SimpleNamespace(length=0 if is_dir else status.st_size, mtime_nsec=status.st_mtime_ns,
                           is_directory=is_dir, **fields)

"""Facts on files and directories. Entries have the order of keys, as in lists of the emulator."""

import os
from glob import escape
from glob import glob as os_glob
from os import scandir as os_scandir
from os import stat as os_stat
from os import walk as os_walk
from types import SimpleNamespace

from moxing.framework.file._errors import missing
from moxing.framework.file._location import PART_PREFIX, is_inside, is_remote, locate, look


def exists(url):
    """Returns True if the file or directory exists."""
    return look(url)[1] is not None if is_remote(url) else os.path.exists(url)


def is_directory(url):
    """Returns True if the path is a directory."""
    return look(url)[1] == "directory"


def stat(url):
    """Returns the documented `length`, `mtime_nsec` and `is_directory`, and fields of `os.stat`."""
    path, kind = look(url)
    if kind is None and is_remote(url):
        raise missing(url)
    status = os_stat(path)
    is_dir = kind == "directory"
    fields = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
    return SimpleNamespace(length=0 if is_dir else status.st_size, mtime_nsec=status.st_mtime_ns,
                           is_directory=is_dir, **fields)


def get_size(url, recursive=False):
    """Returns the size in bytes; of a directory in OBS 0, unless `recursive` is set."""
    if not is_directory(url):
        return stat(url).length
    if is_remote(url) and not recursive:
        return 0
    return sum(os_stat(path).st_size for _, is_dir, path in tree(url) if not is_dir)


def list_directory(url, recursive=False, remove_sep=True, skip_file=False, skip_dir=False):
    """Returns the paths in a directory, relative to it; with `remove_sep=False` as `DIRECTORY/`."""
    return [name if remove_sep or not is_dir else name + "/"
            for name, is_dir, _ in (tree if recursive else _entries)(url)
            if not (skip_dir if is_dir else skip_file)]


def scan_dir(url):
    """Returns an iterator over the entries of a directory, as `os.scandir`."""
    if not is_remote(url):
        return os_scandir(url)
    return iter([Entry(url, name, is_dir) for name, is_dir, _ in _entries(url)])


class Entry:
    """Entry of a directory in OBS, with the names of `os.DirEntry`."""

    def __init__(self, url, name, is_dir):
        self.name = name
        self.path = os.path.join(url, name)
        self.is_dir = lambda follow_symlinks=True: is_dir
        self.is_file = lambda follow_symlinks=True: not is_dir
        self.is_symlink = lambda: False
        self.stat = lambda follow_symlinks=True: stat(self.path)


def walk(url, topdown=True, onerror=None, followlinks=False):
    """Yields (directory, names of directories, names of files), as `os.walk`.

    In OBS, the other arguments have no effect, and a directory that does not exist yields nothing.
    """
    if not is_remote(url):
        yield from os_walk(url, topdown, onerror, followlinks)
    elif is_directory(url):
        yield from _walk(url, locate(url), ())


def _walk(url, path, above):
    above += (os.path.realpath(path),)
    entries = _children(path, True, above)
    directories = [name for name, is_dir, _ in entries if is_dir]
    yield url, directories, [name for name, is_dir, _ in entries if not is_dir]
    # The caller may have removed names, to leave out these directories.
    for name in directories:
        yield from _walk(os.path.join(url, name), os.path.join(path, name), above)


def glob(url, recursive=False):
    """Returns the paths that match a pattern, with the scheme and the bucket of the pattern."""
    if not is_remote(url):
        return os_glob(url, recursive=recursive)
    locate(url)  # Checks the pattern.
    scheme, rest = url.split("://", 1)
    bucket, *steps = (step for step in rest.split("/") if step)
    root = os.path.dirname(locate(scheme + "://" + bucket))
    pattern = os.path.join(escape(os.path.join(root, bucket)), *steps)
    matches = filter(is_inside, os_glob(pattern, recursive=recursive))
    return sorted(scheme + "://" + os.path.relpath(path, root) for path in matches)


def _directory(url):
    path, kind = look(url)
    if is_remote(url) and kind != "directory":
        raise missing(url.rstrip("/") + "/")
    return path


def _entries(url):
    path = _directory(url)
    return _children(path, is_remote(url), (os.path.realpath(path),))


def tree(url):
    """Yields (relative path, is_dir, path) of everything in a directory."""
    yield from _tree("", _directory(url), is_remote(url), ())


def _tree(prefix, path, is_in_obs, above):
    above += (os.path.realpath(path),)
    for name, is_dir, child in _children(path, is_in_obs, above):
        yield prefix + name, is_dir, child
        if is_dir:
            yield from _tree(prefix + name + "/", child, is_in_obs, above)


def _children(path, is_in_obs, above):
    """Returns (name, is_dir, path) of the entries of a directory.

    It leaves out incomplete files, devices, broken links, links that lead out of the OBS root, and
    links to a directory that contains one of `above`, the real paths that led to this directory.
    """
    found = []
    with os_scandir(path) as entries:
        for entry in entries:
            is_dir, is_file = os.path.isdir(entry.path), os.path.isfile(entry.path)
            if not is_dir and (entry.name.startswith(PART_PREFIX) or not is_file):
                continue
            if entry.is_symlink():
                real = os.path.realpath(entry.path) + "/"
                is_outside = is_in_obs and not is_inside(real)
                if is_outside or any((it + "/").startswith(real) for it in above):
                    continue
            found.append((entry.name, is_dir, entry.path))
    # The key of a directory ends with a slash: `a-b` comes before `a/`.
    return sorted(found, key=lambda entry: entry[0] + "/" * entry[1])

"""Functions on directories."""

import os
from glob import escape
from glob import glob as os_glob
from os import mkdir as os_mkdir
from os import scandir as os_scandir
from os import walk as os_walk
from shutil import rmtree

from moxing.framework.file._errors import missing
from moxing.framework.file._location import is_inside, is_remote, locate, look
from moxing.framework.file._pending import make_directory
from moxing.framework.file._queries import stat
from moxing.framework.file._tree import children, tree


def list_directory(url, recursive=False, remove_sep=True, skip_file=False, skip_dir=False):
    """Returns the paths in a directory, relative to it, with `remove_sep=False` as `DIRECTORY/`."""
    entries = (tree if recursive else children)(_directory(url), is_remote(url))
    return [name if remove_sep or not is_dir else name + "/" for name, is_dir, _ in entries
            if not (skip_dir if is_dir else skip_file)]


def _directory(url):
    path, kind = look(url)
    if is_remote(url) and kind != "directory":
        raise missing(url.rstrip("/") + "/")
    return path


def walk(url, topdown=True, onerror=None, followlinks=False):
    """Yields (directory, names of directories, names of files), as `os.walk`.

    In OBS, the other arguments have no effect, and a directory that does not exist yields nothing.
    """
    if not is_remote(url):
        yield from os_walk(url, topdown, onerror, followlinks)
    elif look(url)[1] == "directory":
        yield from _walk(url, locate(url), ())


def _walk(url, path, above):
    above += (os.path.realpath(path),)
    entries = children(path, True, above)
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
    matches = os_glob(os.path.join(escape(os.path.join(root, bucket)), *steps), recursive=recursive)
    return sorted(scheme + "://" + os.path.relpath(path, root) for path in matches if is_inside(path))


class Entry:
    """Entry of a directory in OBS, with the names of `os.DirEntry`."""

    def __init__(self, url, name, is_dir):
        self.name = name
        self.path = os.path.join(url, name)
        self.is_dir = lambda follow_symlinks=True: is_dir
        self.is_file = lambda follow_symlinks=True: not is_dir
        self.is_symlink = lambda: False
        self.stat = lambda follow_symlinks=True: stat(self.path)


def scan_dir(url):
    """Returns an iterator over the entries of a directory, as `os.scandir`."""
    if not is_remote(url):
        return os_scandir(url)
    return iter([Entry(url, name, is_dir) for name, is_dir, _ in children(_directory(url), True)])


def make_dirs(url):
    """Creates a directory and its parents, if it does not exist."""
    make_directory(locate(url), url)


def mk_dir(url):
    """Creates a directory in an existing one."""
    path = locate(url)
    if not is_remote(url):
        os_mkdir(path)
        return
    if not os.path.isdir(os.path.dirname(path)):
        raise OSError("%s must be in an existing directory: use make_dirs." % url)
    make_dirs(url)


def remove(url, recursive=False):
    """Deletes a file, or with `recursive` a directory. Other paths in OBS are ignored, as documented."""
    path, kind = look(url)
    if is_remote(url) and "/" not in url.split("://")[1].rstrip("/"):
        raise OSError("%s must not be a bucket: use a program for OBS to delete it." % url)
    if kind == "directory" and recursive:
        if os.path.islink(path):
            os.unlink(path)
        else:
            rmtree(path)
    elif kind == "file" or not is_remote(url):
        os.unlink(path)

"""Functions of Python that accept paths in OBS after `shift('os', 'mox')`."""

import builtins
import functools
import glob
import os
import shutil

from moxing.framework.file import _changes, _queries
from moxing.framework.file._location import is_remote, look
from moxing.framework.file._stream import File


def _copy_into(src, dst, **_):
    target = os.path.join(dst, os.path.basename(src)) if _queries.is_directory(dst) else dst
    _changes.copy(src, target)
    return target


# The table of the document "Mapping Between mox.file and Local APIs and Switchover", and `isfile` and
# `shutil.copy`, which call functions of that table.
_REPLACEMENTS = (
    (builtins, "open", lambda file, mode="r", *args, **kwargs: File(file, mode, *args, **kwargs)),
    (glob, "glob", lambda pathname, recursive=False, **_: _queries.glob(pathname, recursive)),
    (os, "listdir", lambda path: _queries.list_directory(path)),
    (os, "makedirs", lambda name, *_, **__: _changes.make_dirs(name)),
    (os, "mkdir", lambda path, *_, **__: _changes.mk_dir(path)),
    (os, "remove", lambda path, **_: _changes.remove(path)),
    (os, "rename", lambda src, dst, **_: _changes.rename(src, dst)),
    (os, "scandir", lambda path: _queries.scan_dir(path)),
    (os, "stat", lambda path, **_: _queries.stat(path)),
    (os, "walk", lambda top, *_, **__: _queries.walk(top)),
    (os.path, "exists", lambda path: _queries.exists(path)),
    (os.path, "getsize", lambda filename: _queries.get_size(filename)),
    (os.path, "isdir", lambda s: _queries.is_directory(s)),
    (os.path, "isfile", lambda path: look(path)[1] == "file"),
    (shutil, "copy", _copy_into),
    (shutil, "copyfile", lambda src, dst, **_: _changes.copy(src, dst) or dst),
    (shutil, "copytree", lambda src, dst, *_, **__: _changes.copy_parallel(src, dst) or dst),
    (shutil, "rmtree", lambda path, *_, **__: _changes.remove(path, recursive=True)),
)
# Sets in which Python looks up functions of `os`.
_SETS = (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks)
_originals = []


def _route(original, replacement):
    """Returns a function that calls `replacement` for a path in OBS."""

    @functools.wraps(original)
    def routed(*args, **kwargs):
        is_obs = any(map(is_remote, args[:2])) or any(map(is_remote, kwargs.values()))
        return (replacement if is_obs else original)(*args, **kwargs)

    return routed


def shift(source, target):
    """Makes functions of Python accept paths in OBS ('os', 'mox'), or restores them ('mox', 'os').

    A second call has no effect. A function that was imported by its name before stays as it was.
    """
    if (source, target) == ("os", "mox"):
        for module, name, replacement in _REPLACEMENTS if not _originals else ():
            original = getattr(module, name)
            routed = _route(original, replacement)
            for functions in _SETS:
                functions.update([routed] if original in functions else [])
            _originals.append((module, name, original))
            setattr(module, name, routed)
    elif (source, target) == ("mox", "os"):
        while _originals:
            module, name, original = _originals.pop()
            for functions in _SETS:
                functions.discard(getattr(module, name))
            setattr(module, name, original)
    else:
        raise ValueError("The arguments of shift must be 'os' and 'mox', or 'mox' and 'os': correct "
                         "%r and %r." % (source, target))

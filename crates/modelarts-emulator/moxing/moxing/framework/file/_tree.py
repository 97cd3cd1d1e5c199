"""Entries of directories, in the order of keys, as in the emulator's lists of objects."""

import os
from os import scandir

from moxing.framework.file._location import PART_PREFIX, is_inside


def children(path, is_in_obs, above=()):
    """Returns (name, is_dir, path) of the entries of a directory.

    It leaves out incomplete files, devices, broken links, links that lead out of the OBS root, and
    links to a directory that contains one of `above`, the real paths that led to this directory.
    """
    found = []
    with scandir(path) as entries:
        for entry in entries:
            is_dir, is_file = os.path.isdir(entry.path), os.path.isfile(entry.path)
            if not is_dir and (entry.name.startswith(PART_PREFIX) or not is_file):
                continue
            if entry.is_symlink():
                real = os.path.realpath(entry.path) + "/"
                if is_in_obs and not is_inside(real) or any((it + "/").startswith(real) for it in above):
                    continue
            found.append((entry.name, is_dir, entry.path))
    # The key of a directory ends with a slash: `a-b` comes before `a/`.
    return sorted(found, key=lambda entry: entry[0] + "/" * entry[1])


def tree(path, is_in_obs, below="", above=()):
    """Yields (relative path, is_dir, path) of everything in a directory."""
    above += (os.path.realpath(path),)
    for name, is_dir, child in children(path, is_in_obs, above):
        yield below + name, is_dir, child
        if is_dir:
            yield from tree(child, is_in_obs, below + name + "/", above)

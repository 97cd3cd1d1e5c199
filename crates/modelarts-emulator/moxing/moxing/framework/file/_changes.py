"""Creating, deleting, copying and moving files and directories."""

import logging
import os
from os import mkdir as os_mkdir
from os import rename as os_rename
from shutil import copyfile, rmtree

from moxing.framework.file._errors import MoxFileNameDuplicateException, missing, unreadable
from moxing.framework.file._location import is_remote, locate, look
from moxing.framework.file._pending import PendingObject, make_directory
from moxing.framework.file._queries import tree


def make_dirs(url):
    """Creates a directory and its parents, if it does not exist."""
    make_directory(locate(url), url)


def mk_dir(url):
    """Creates a directory in an existing one."""
    path = locate(url)
    if not is_remote(url):
        os_mkdir(path)
    elif not os.path.isdir(os.path.dirname(path)):
        raise OSError("%s must be in an existing directory: use make_dirs." % url)
    else:
        make_dirs(url)


def remove(url, recursive=False):
    """Deletes a file, or with `recursive` a directory; ignores other paths in OBS, as documented."""
    path, kind = look(url)
    if is_remote(url) and "/" not in url.split("://")[1].rstrip("/"):
        raise OSError("%s must not be a bucket: use a program for OBS to delete it." % url)
    if kind == "directory" and recursive and not os.path.islink(path):
        rmtree(path)
    elif kind == "file" or recursive and kind or not is_remote(url):
        os.unlink(path)


def copy(src_url, dst_url, client_id=None):
    """Copies a file to the file `dst_url`, whose directory is created if it does not exist."""
    path, kind = look(src_url)
    if kind == "directory":
        raise IsADirectoryError("%s must be a file: use copy_parallel." % src_url)
    if kind is None and is_remote(src_url):
        raise unreadable(src_url)
    _copy_file(path, dst_url)


def _copy_file(path, dst_url):
    if is_remote(dst_url):
        PendingObject(dst_url, content=path).store()
    else:
        make_directory(os.path.dirname(os.path.abspath(dst_url)), dst_url)
        copyfile(path, dst_url)


def copy_parallel(src_url, dst_url, file_list=None, threads=16, is_processing=True, use_queue=True):
    """Copies the content of a directory into the directory `dst_url`, or a file to this file.

    `file_list` has paths relative to `src_url`. A source without files is reported in the log. The
    other arguments have no effect: files are copied one after the other.
    """
    path, kind = look(src_url)
    if kind == "file":
        _copy_file(path, dst_url)
        return
    # The list is complete before the first copy, so that a copy into the source itself ends.
    entries = list(tree(src_url)) if kind else []
    if file_list is not None:
        entries = [entry for entry in entries if entry[0] in set(file_list)]
        absent = set(file_list) - {name for name, _, _ in entries}
        if absent:
            raise missing(os.path.join(src_url, min(absent)))
    if all(is_dir for _, is_dir, _ in entries):
        logging.warning("No files to copy: %s must contain files.", src_url)
    if kind:
        make_dirs(dst_url)
    for name, is_dir, child in entries:
        target = os.path.join(dst_url, name)
        if look(target)[1] == ("file" if is_dir else "directory"):
            raise MoxFileNameDuplicateException(
                "%s and %s must both be files or both be directories: rename one."
                % (os.path.join(src_url, name), target))
        if is_dir:
            make_dirs(target)
        else:
            _copy_file(child, target)


def rename(src_url, dst_url):
    """Moves a file or a directory, also between OBS and local paths."""
    if not is_remote(src_url) and not is_remote(dst_url):
        os_rename(src_url, dst_url)
        return
    path, kind = look(src_url)
    if kind is None:
        raise missing(src_url)
    source, target = os.path.realpath(path), os.path.realpath(locate(dst_url))
    if target.startswith(source + "/"):
        raise OSError("%s must not be in %s: choose another directory." % (dst_url, src_url))
    if target != source:
        copy_parallel(src_url, dst_url)
        remove(src_url, recursive=True)

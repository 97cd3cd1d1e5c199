"""Paths in OBS as paths below the OBS root.

The object KEY of BUCKET is the file ROOT/BUCKET/KEY, and the rules are those of the emulator's OBS
endpoint. They protect against accidents, and not against the code itself, which has the same user.
"""

import functools
import os
import unicodedata

from moxing.framework.file._errors import MoxFileNotExistsException

ROOT_VARIABLE = "MODELARTS_EMULATOR_OBS"
# Prefix of the names of incomplete files, which lists of the emulator leave out.
PART_PREFIX = ".copying-"
_real_root = functools.lru_cache(maxsize=None)(os.path.realpath)


def is_remote(path):
    """Returns True for a path in OBS."""
    return isinstance(path, str) and path.startswith(("obs://", "s3://"))


def obs_root():
    """Returns the real path of the OBS root."""
    root = os.environ.get(ROOT_VARIABLE)
    if not root:
        raise OSError("%s must be the path of the emulator's OBS root: run this code as a job of the "
                      "emulator, or set the variable." % ROOT_VARIABLE)
    return _real_root(root)


def is_inside(path):
    """Returns True if the real path is in the OBS root."""
    return (os.path.realpath(path) + "/").startswith(obs_root() + "/")


def locate(url):
    """Returns the local path of a path in OBS, and a local path as it is.

    Repeated slashes count as one, as in paths of jobs. A link at the end of the path is not
    resolved, so that the caller replaces or deletes the link.
    """
    if not is_remote(url):
        return os.fspath(url)
    rest = url.split("://", 1)[1]
    bucket, _, key = rest.partition("/")
    steps = [step for step in key.split("/") if step]
    for is_broken, rule in (
        (any(unicodedata.category(char) == "Cc" for char in rest), "not contain control characters"),
        (not bucket, "name a bucket, as in obs://BUCKET/KEY"),
        ({".", ".."} & {bucket, *steps}, "not contain the steps . and .."),
        (any(step.startswith(PART_PREFIX) for step in steps),
         "not contain names of incomplete copies, which begin with " + PART_PREFIX),
    ):
        if is_broken:
            raise OSError("%r must %s: correct the path." % (url, rule))
    directory = os.path.join(obs_root(), bucket)
    if bucket.startswith(".") or "\\" in bucket or not os.path.isdir(directory):
        raise MoxFileNotExistsException(
            "%s must be in an existing bucket: create the bucket %s first." % (url, bucket))
    path = os.path.join(directory, *steps)
    if not is_inside(path):
        raise PermissionError("%s must not lead out of the OBS root by a link: replace the link with "
                              "what it links to." % url)
    return path


def look(url):
    """Returns the local path, and "file", "directory" or None."""
    path = locate(url)
    if os.path.isdir(path):
        return path, "directory"
    # The key of an object that is a file does not end with a slash.
    is_file = os.path.isfile(path) and not str(url).endswith("/")
    return path, "file" if is_file else None

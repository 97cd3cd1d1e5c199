"""Errors of MoXing. Their base is `Exception`, as documented, and not `OSError`."""

from types import SimpleNamespace


class MoxFileNotExistsException(Exception):
    """A file, a directory or a bucket in OBS does not exist."""


class MoxFileNameDuplicateException(Exception):
    """A file has the name of an existing directory, or a directory that of a file."""


class _MoxFileBaseRespException(Exception):
    """Error with the response of OBS in `resp`, which has the names of Huawei's OBS SDK."""

    def __init__(self, resp, *args):
        super().__init__(resp, *args)
        self.resp = resp


class MoxFileReadException(_MoxFileBaseRespException):
    """A response of OBS broke off. It never does in the emulator."""


class MoxFileRespException(_MoxFileBaseRespException):
    """OBS responded with status 300 or higher."""


def missing(url):
    """Returns the error for a path in OBS that does not exist."""
    return MoxFileNotExistsException("%s must exist: write it first, or correct the path." % url)


def unreadable(url):
    """Returns the error for reading an object that does not exist."""
    message = "%s must be an existing object: write it first, or correct the path." % url
    return MoxFileRespException(SimpleNamespace(
        status=404, reason="Not Found", errorCode="NoSuchKey", errorMessage=message))

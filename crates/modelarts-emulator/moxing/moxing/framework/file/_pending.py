"""Objects that are being written."""

import os
import secrets
from contextlib import suppress
from shutil import copyfile

from moxing.framework.file._location import PART_PREFIX, locate


class PendingObject:
    """Temporary file that replaces the file of an object. Readers see the old or the new content."""

    def __init__(self, url, content=None):
        """Creates the temporary file, with the content of the file `content`."""
        self.target = locate(url)
        if url.endswith("/") or os.path.isdir(self.target):
            raise IsADirectoryError("%s must not be a directory, nor end with a slash: add the name "
                                    "of the file." % url)
        directory = make_directory(os.path.dirname(self.target), url)
        self.path = os.path.join(directory, PART_PREFIX + "moxing-" + secrets.token_hex(8))
        try:
            if content is None:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o666))
            else:
                copyfile(content, self.path)
        except BaseException:
            self.discard()
            raise

    def store(self):
        """Replaces the object."""
        try:
            os.replace(self.path, self.target)
        finally:
            self.discard()

    def discard(self):
        """Deletes the temporary file, if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)


def make_directory(path, url):
    """Creates a directory and its parents for `url`, if it does not exist, and returns it."""
    try:
        os.makedirs(path, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError("%s must not have a file as a directory, since the emulator stores "
                                 "objects as files: choose another name." % url) from None
    return path

"""Reading and writing the content of files."""

import io
import os

from moxing.framework.file._errors import unreadable
from moxing.framework.file._location import is_remote, look
from moxing.framework.file._pending import PendingObject


class File:
    """File object, with the methods of the objects of `open`, and `size`.

    `flush` and `close` store the whole content in OBS. The end of a `with` block closes the file, as
    documented, also after an exception: what was written until then is stored, as with `open`.
    """

    _file = _pending = None

    def __init__(self, name, mode="r", *args, **kwargs):
        self.name = name
        self.mode = mode
        path = name
        if is_remote(name):
            letters = set(mode)
            if len(letters & set("rwa")) != 1 or len(mode) != len(letters & set("rwabt+")):
                raise ValueError("The mode of %s must be r, w or a, with b or + if needed: correct "
                                 "%r." % (name, mode))
            if "b" not in letters and len(args) < 2:
                kwargs["encoding"] = kwargs.get("encoding") or "utf-8"
            path, kind = look(name)
            if "r" in letters and kind != "file":
                raise unreadable(name)
            if letters & set("wa+"):
                is_kept = kind == "file" and "w" not in letters
                self._pending = PendingObject(name, path if is_kept else None)
                path = self._pending.path
        try:
            self._file = io.open(path, mode, *args, **kwargs)
        except BaseException:
            if self._pending:
                self._pending.discard()
            raise

    def __getattr__(self, name):
        if self._file is None or name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._file, name)
        if not callable(value):
            return value

        def method(*args, **kwargs):
            # It refers to `self`, so that the file stays open in `File(...).read()`.
            return getattr(self._file, name)(*args, **kwargs)

        return method

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:
            pass  # `open` failed, or the interpreter ends.

    def fileno(self):
        """Returns the descriptor of a local file."""
        if is_remote(self.name):
            raise io.UnsupportedOperation("%s must be a local file to have a descriptor." % self.name)
        return self._file.fileno()

    def size(self):
        """Returns the size in bytes, with what was written so far."""
        if self._file.writable():
            self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def flush(self):
        """Stores what was written so far."""
        self._file.flush()
        if self._pending:
            PendingObject(self.name, content=self._pending.path).store()

    def close(self):
        """Stores what was written, and closes the file."""
        if self._file.closed:
            return
        try:
            self._file.close()
            if self._pending:
                self._pending.store()
        finally:
            if self._pending:
                self._pending.discard()


def read(url, binary=False, client_id=None):
    """Returns the content of a file, as text or as bytes."""
    with File(url, "rb" if binary else "r") as file:
        return file.read()


def write(url, data, binary=False):
    """Replaces the content of a file."""
    _add(url, data, "wb" if binary else "w")


def append(url, data, binary=False):
    """Adds to the end of a file, which is created if it does not exist."""
    _add(url, data, "ab" if binary else "a")


def _add(url, data, mode):
    # A wrong type is an error before the earlier content is replaced.
    if isinstance(data, str) == mode.endswith("b"):
        raise TypeError("The data for %s must be text, or bytes with binary=True: convert it." % url)
    with File(url, mode) as file:
        file.write(data)

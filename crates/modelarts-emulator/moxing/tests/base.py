"""Test case with a temporary OBS root that has the empty bucket `data`."""

import os
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, SOURCE)

import moxing as mox  # noqa: E402
from moxing.framework.file._location import ROOT_VARIABLE  # noqa: E402


class ObsTestCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.base = os.path.realpath(temporary.name)
        self.root = os.path.join(self.base, "obs")
        self.bucket = os.path.join(self.root, "data")
        os.makedirs(self.bucket)
        earlier = os.environ.get(ROOT_VARIABLE)
        os.environ[ROOT_VARIABLE] = self.root
        self.addCleanup(self.restore, earlier)

    def restore(self, earlier):
        mox.file.shift("mox", "os")
        os.environ.pop(ROOT_VARIABLE, None)
        if earlier is not None:
            os.environ[ROOT_VARIABLE] = earlier

    def put(self, key, content="x"):
        """Writes a file of the bucket without MoXing."""
        path = os.path.join(self.bucket, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode())

    def content(self, path):
        """Returns the content of a file of the bucket, or of an absolute path."""
        with open(os.path.join(self.bucket, path), "rb") as file:
            return file.read().decode()

    def local(self, name):
        """Returns the path of a local file."""
        return os.path.join(self.base, "local", name)

    def files(self, path=None):
        """Returns the relative paths of all files, with incomplete ones."""
        top = path or self.bucket
        return sorted(
            os.path.relpath(os.path.join(directory, name), top)
            for directory, _, names in os.walk(top)
            for name in names
        )

    def error(self, kind, action, *args, **kwargs):
        """Returns the text of an error of exactly this class."""
        with self.assertRaises(kind) as caught:
            action(*args, **kwargs)
        self.assertIs(type(caught.exception), kind)
        return str(caught.exception)

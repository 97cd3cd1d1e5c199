import copy
import importlib
import inspect
import subprocess
import sys

from base import SOURCE, ObsTestCase, mox


class Names(ObsTestCase):
    def test_spellings_of_scripts(self):
        code = """
import moxing.framework.file as f
import moxing
import moxing.pytorch as mox
import moxing.tensorflow
import moxing.mxnet as mxnet
from moxing import file as a
from moxing.framework import file as b
from moxing.framework.file import file_io, copy_parallel, File
assert f is a is b is mox.file is mxnet.file is moxing.tensorflow.file is moxing.framework.file
assert file_io.copy_parallel is copy_parallel is f.copy_parallel and f.File is File
file_io._NUMBER_OF_PROCESSES = file_io._LARGE_FILE_TASK_NUM = file_io._LARGE_FILE_METHOD
assert file_io._NUMBER_OF_PROCESSES == 2
"""
        subprocess.run([sys.executable, "-c", code], cwd=SOURCE, check=True)

    def test_missing_names(self):
        for module, name in ((mox, "run"), (mox.file, "background_sync_copy"), (mox.framework, "util")):
            with self.assertRaises(NotImplementedError) as caught:
                getattr(module, name)
            self.assertEqual(
                str(caught.exception),
                "%s.%s is not available: the MoXing of the ModelArts emulator has only the documented"
                " functions of mox.file. Use one of those, or run this code on the service."
                % (module.__name__, name),
            )
            self.assertFalse(hasattr(module, name))
        with self.assertRaises(ImportError):
            from moxing.framework.file import background_sync_copy  # noqa: F401

    def test_tools_of_python_work_on_the_modules(self):
        for module in (mox, mox.file, mox.file.file_io):
            with self.assertRaises(AttributeError) as caught:
                module.__wrapped__
            self.assertNotIsInstance(caught.exception, NotImplementedError)
            inspect.getmembers(module)
            self.assertTrue(inspect.getsource(module))
            self.assertIs(inspect.unwrap(module), module)
            self.assertIs(importlib.import_module(module.__name__), module)
        self.assertRaises(TypeError, copy.copy, mox)

    def test_set_auth(self):
        names = (
            "ak sk server port is_secure ssl_verify long_conn_mode path_style retry retry_wait"
            " client_timeout list_max_keys timeout_config obs_client_log negotiation"
        )
        mox.file.set_auth(**dict.fromkeys(names.split(), 1))
        with self.assertRaisesRegex(TypeError, "'secret'"):
            mox.file.set_auth(secret="x")

    def test_errors_have_the_documented_base(self):
        for name in ("NotExists", "NameDuplicate"):
            kind = getattr(mox.file, "MoxFile%sException" % name)
            self.assertEqual(kind.__bases__, (Exception,))
        for name in ("Read", "Resp"):
            kind = getattr(mox.file, "MoxFile%sException" % name)
            self.assertEqual(kind.__bases__, (mox.file.file_io._MoxFileBaseRespException,))

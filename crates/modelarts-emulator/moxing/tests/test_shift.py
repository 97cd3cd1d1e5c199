import glob
import os
import shutil
import unittest.mock

from base import ObsTestCase, mox


def functions():
    names = "listdir makedirs mkdir remove rename scandir stat walk".split()
    paths = "exists getsize isdir isfile".split()
    copies = "copy copyfile copytree rmtree".split()
    return (
        [open, glob.glob]
        + [getattr(os, name) for name in names]
        + [getattr(os.path, name) for name in paths]
        + [getattr(shutil, name) for name in copies]
    )


class Shift(ObsTestCase):
    def test_shift_and_back(self):
        originals = functions()
        stat = os.stat
        mox.file.shift("os", "mox")
        mox.file.shift("os", "mox")
        for original, shifted in zip(originals, functions()):
            self.assertIsNot(original, shifted)
            self.assertIs(shifted.__wrapped__, original)
        self.assertIn(os.stat, os.supports_follow_symlinks)
        shifted = os.stat
        mox.file.shift("mox", "os")
        mox.file.shift("mox", "os")
        self.assertEqual(functions(), originals)
        self.assertIs(os.stat, stat)
        self.assertNotIn(shifted, os.supports_follow_symlinks)
        self.assertRaises(FileNotFoundError, open, "obs://data/a")

    def test_other_arguments_are_refused(self):
        self.assertEqual(
            self.error(ValueError, mox.file.shift, "os", "tf"),
            "The arguments of shift must be 'os' and 'mox', or 'mox' and 'os': correct 'os' and 'tf'.",
        )

    def test_functions_of_python_on_obs(self):
        mox.file.shift("os", "mox")
        os.makedirs("obs://data/a", exist_ok=True)
        os.mkdir("s3://data/a/b")
        with open("obs://data/a/b/c.txt", "w", encoding="utf-8") as file:
            file.write("hello")
        self.assertIsInstance(file, mox.file.File)
        with open(file="obs://data/a/b/c.txt") as file:
            self.assertEqual(file.read(), "hello")
        self.assertEqual(os.listdir("obs://data/a"), ["b"])
        self.assertEqual([it.path for it in os.scandir("obs://data/a")], ["obs://data/a/b"])
        self.assertEqual(
            list(os.walk("obs://data/a")),
            [("obs://data/a", ["b"], []), ("obs://data/a/b", [], ["c.txt"])],
        )
        self.assertTrue(os.path.exists("obs://data/a") and os.path.isdir("obs://data/a"))
        self.assertTrue(os.path.isfile("obs://data/a/b/c.txt"))
        self.assertFalse(os.path.exists("obs://data/no") or os.path.isfile("obs://data/a"))
        self.assertEqual(os.path.getsize("obs://data/a/b/c.txt"), 5)
        self.assertEqual(os.stat("obs://data/a/b/c.txt").st_size, 5)
        self.assertEqual(glob.glob("obs://data/*/*/*.txt"), ["obs://data/a/b/c.txt"])
        self.assertEqual(glob.glob("obs://data/**/c.txt", recursive=True), ["obs://data/a/b/c.txt"])
        os.rename("obs://data/a/b/c.txt", "obs://data/d.txt")
        os.remove("obs://data/d.txt")
        self.assertEqual(self.files(), [])
        shutil.rmtree("obs://data/a", ignore_errors=True)
        self.assertFalse(mox.file.exists("obs://data/a"))

    def test_functions_of_shutil(self):
        local = os.path.join(self.base, "local.txt")
        mox.file.write(local, "x")
        mox.file.shift("os", "mox")
        os.mkdir("obs://data/a")
        self.assertEqual(shutil.copy(local, "obs://data/a"), "obs://data/a/local.txt")
        self.assertEqual(shutil.copyfile(local, dst="obs://data/b.txt"), "obs://data/b.txt")
        target = os.path.join(self.base, "a")
        self.assertEqual(shutil.copytree("obs://data/a", target), target)
        self.assertEqual((self.files(target), self.files()), (["local.txt"], ["a/local.txt", "b.txt"]))

    def test_local_paths_go_to_the_original_functions(self):
        mox.file.shift("os", "mox")
        path = os.path.join(self.base, "x")
        with open(path, "w") as file:
            file.write("1")
        self.assertNotIsInstance(file, mox.file.File)
        self.assertIsInstance(os.stat(path), os.stat_result)
        with os.scandir(self.base) as entries:
            self.assertEqual(sorted(it.name for it in entries), ["obs", "x"])
        os.makedirs(os.path.join(self.base, "t", "u"))
        os.symlink("u", os.path.join(self.base, "t", "link"))
        shutil.copytree(os.path.join(self.base, "t"), os.path.join(self.base, "v"), symlinks=True)
        self.assertTrue(os.path.islink(os.path.join(self.base, "v", "link")))
        shutil.rmtree(os.path.join(self.base, "v"))
        self.assertFalse(os.path.exists(os.path.join(self.base, "v")))
        with unittest.mock.patch.dict(os.environ):
            del os.environ["MODELARTS_EMULATOR_OBS"]
            self.assertEqual(sorted(os.listdir(self.base)), ["obs", "t", "x"])

    def test_mox_file_works_while_shifted(self):
        mox.file.shift("os", "mox")
        mox.file.write("obs://data/a/b.txt", "x")
        mox.file.copy_parallel("obs://data/a", os.path.join(self.base, "out"))
        mox.file.rename("obs://data/a", "obs://data/c")
        mox.file.remove("obs://data/c", recursive=True)
        self.assertEqual(self.files(os.path.join(self.base, "out")), ["b.txt"])
        self.assertEqual(os.listdir("obs://data"), [])

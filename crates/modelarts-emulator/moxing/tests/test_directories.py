import os
import stat

from base import ObsTestCase, mox

f = mox.file


class Directories(ObsTestCase):
    def setUp(self):
        super().setUp()
        for key in ("object_dir/dir0/file00", "object_dir/file1", "object_dir/dir0-x"):
            self.put(key, "12345")

    def test_list_directory(self):
        url = "obs://data/object_dir"
        self.assertEqual(f.list_directory(url), ["dir0-x", "dir0", "file1"])
        everything = ["dir0-x", "dir0", "dir0/file00", "file1"]
        self.assertEqual(f.list_directory(url + "/", recursive=True), everything)
        with_slash = ["dir0-x", "dir0/", "file1"]
        self.assertEqual(f.list_directory(url, remove_sep=False), with_slash)
        self.assertEqual(f.list_directory(url, skip_file=True), ["dir0"])
        self.assertEqual(f.list_directory(url, skip_dir=True), ["dir0-x", "file1"])
        self.assertEqual(f.list_directory("s3://data"), ["object_dir"])
        self.assertEqual(f.list_directory(self.bucket + "/object_dir", True), everything)
        for path in ("absent", "object_dir/file1"):
            error = self.error(f.MoxFileNotExistsException, f.list_directory, "obs://data/" + path)
            expected = "obs://data/%s/ must exist: write it first, or correct the path." % path
            self.assertEqual(error, expected)
        self.error(FileNotFoundError, f.list_directory, self.local("absent"))

    def test_walk(self):
        expected = [
            ("obs://data/object_dir/", ["dir0"], ["dir0-x", "file1"]),
            ("obs://data/object_dir/dir0", [], ["file00"]),
        ]
        self.assertEqual(list(f.walk("obs://data/object_dir/")), expected)
        walk = f.walk("s3://data/object_dir", topdown=True)
        next(walk)[1].clear()
        self.assertEqual(list(walk), [])
        self.assertEqual(list(f.walk("obs://data/absent")), [])
        local = os.path.join(self.bucket, "object_dir", "dir0")
        self.assertEqual(list(f.walk(local)), [(local, [], ["file00"])])

    def test_glob(self):
        self.put("object_dir/.copying-file", "incomplete")
        os.makedirs(os.path.join(self.root, "b[1]", "c"))
        self.assertEqual(f.glob("obs://b[1]/*"), ["obs://b[1]/c"])
        self.assertEqual(f.glob("s3://data/object_dir/file*"), ["s3://data/object_dir/file1"])
        self.assertEqual(f.glob("obs://data//*/*/file??"), ["obs://data/object_dir/dir0/file00"])
        self.assertEqual(f.glob("obs://data/object_dir/[a-d]*0"), ["obs://data/object_dir/dir0"])
        found = f.glob("obs://data/**/file00", recursive=True)
        self.assertEqual(found, ["obs://data/object_dir/dir0/file00"])
        self.assertEqual(f.glob("obs://data/none*"), [])
        local = os.path.join(self.bucket, "object_dir", "file1")
        self.assertEqual(f.glob(local[:-1] + "*"), [local])
        self.error(OSError, f.glob, "obs://data/../*")

    def test_scan_dir(self):
        entries = list(f.scan_dir("obs://data/object_dir"))
        self.assertEqual(
            [(it.name, it.path, it.is_dir(), it.is_file(), it.stat().length) for it in entries],
            [
                ("dir0-x", "obs://data/object_dir/dir0-x", False, True, 5),
                ("dir0", "obs://data/object_dir/dir0", True, False, 0),
                ("file1", "obs://data/object_dir/file1", False, True, 5),
            ],
        )
        self.assertFalse(entries[0].is_symlink())
        self.error(f.MoxFileNotExistsException, f.scan_dir, "obs://data/absent")
        local = f.scan_dir(os.path.join(self.bucket, "object_dir", "dir0"))
        self.assertEqual([it.name for it in local], ["file00"])

    def test_queries(self):
        facts = [
            (url, f.exists("obs://data" + url), f.is_directory("obs://data" + url))
            for url in ("", "/", "/object_dir", "/object_dir/", "/object_dir/file1",
                        "/object_dir/file1/", "/absent", "/obj")
        ]
        self.assertEqual(
            facts,
            [("", True, True), ("/", True, True), ("/object_dir", True, True),
             ("/object_dir/", True, True), ("/object_dir/file1", True, False),
             ("/object_dir/file1/", False, False), ("/absent", False, False), ("/obj", False, False)],
        )
        self.assertTrue(f.exists(self.bucket) and f.is_directory(self.bucket))
        self.assertFalse(f.exists(self.local("absent")))

    def test_get_size(self):
        self.put("object_dir/.copying-file", "incomplete")
        self.assertEqual(f.get_size("obs://data/object_dir/file1"), 5)
        self.assertEqual(f.get_size("obs://data/object_dir"), 0)
        self.assertEqual(f.get_size("obs://data/object_dir", recursive=True), 15)
        self.assertEqual(f.get_size(os.path.join(self.bucket, "object_dir")), 15)
        self.error(f.MoxFileNotExistsException, f.get_size, "obs://data/absent")

    def test_stat(self):
        os.utime(os.path.join(self.bucket, "object_dir/file1"), ns=(0, 1600000000123456789))
        result = f.stat("obs://data/object_dir/file1")
        self.assertEqual(
            (result.length, result.mtime_nsec, result.is_directory, result.st_size),
            (5, 1600000000123456789, False, 5),
        )
        self.assertEqual(int(result.st_mtime), 1600000000)
        result = f.stat("obs://data/object_dir")
        self.assertEqual((result.length, result.is_directory), (0, True))
        self.assertTrue(stat.S_ISDIR(result.st_mode))
        error = self.error(f.MoxFileNotExistsException, f.stat, "s3://data/absent")
        expected = "s3://data/absent must exist: write it first, or correct the path."
        self.assertEqual(error, expected)
        self.error(FileNotFoundError, f.stat, self.local("absent"))

    def test_make_dirs_and_mk_dir(self):
        f.make_dirs("obs://data/a/b")
        f.make_dirs("obs://data/a/b/")
        f.mk_dir("obs://data/a/c")
        f.mk_dir("obs://data/a/c")
        self.assertEqual(f.list_directory("obs://data/a"), ["b", "c"])
        self.assertEqual(
            self.error(OSError, f.mk_dir, "obs://data/x/y"),
            "obs://data/x/y must be in an existing directory: use make_dirs.",
        )
        for action in (f.make_dirs, f.mk_dir):
            self.error(NotADirectoryError, action, "obs://data/object_dir/file1")
        f.make_dirs(self.local("a/b"))
        f.make_dirs(self.local("a/b"))
        f.mk_dir(self.local("c"))
        self.assertEqual(f.list_directory(self.local("")), ["a", "c"])

    def test_remove_follows_the_document(self):
        url = "obs://data/object_dir"
        for args in ((url,), (url + "/",), (url + "/file1/",), (url + "/file1/", True), (url + "/no",)):
            f.remove(*args)
        self.assertEqual(len(self.files()), 3)
        f.remove(url + "/file1")
        f.remove(url + "/dir0-x", recursive=True)
        self.assertEqual(self.files(), ["object_dir/dir0/file00"])
        f.remove(url + "/", recursive=True)
        self.assertEqual(os.listdir(self.bucket), [])

    def test_remove_keeps_buckets_and_what_links_lead_to(self):
        for url in ("obs://data", "s3://data/", "obs://data//"):
            self.assertEqual(
                self.error(OSError, f.remove, url, recursive=True),
                url + " must not be a bucket: use a program for OBS to delete it.",
            )
        os.symlink("object_dir", os.path.join(self.bucket, "link"))
        f.remove("obs://data/link/", recursive=True)
        self.assertEqual((os.listdir(self.bucket), len(self.files())), (["object_dir"], 3))

    def test_remove_of_local_paths(self):
        f.write(os.path.join(self.base, "a"), "")
        f.make_dirs(self.local("b"))
        f.remove(os.path.join(self.base, "a"))
        f.remove(self.local(""), recursive=True)
        self.assertEqual(os.listdir(self.base), ["obs"])
        self.error(FileNotFoundError, f.remove, self.local("absent"))

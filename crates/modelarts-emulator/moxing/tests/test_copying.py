import os

from base import ObsTestCase, mox

f = mox.file


class Copying(ObsTestCase):
    def setUp(self):
        super().setUp()
        self.put("in/a.txt", "A")
        self.put("in/sub/b.txt", "B")

    def test_copy_in_each_direction_creates_directories(self):
        f.copy("obs://data/in/a.txt", self.local("x/a.txt"))
        f.copy(src_url=self.local("x/a.txt"), dst_url="s3://data/out/y/a.txt")
        f.copy("s3://data/out/y/a.txt", "obs://data/out/z.txt")
        f.copy(self.local("x/a.txt"), self.local("y/a.txt"))
        for path in ("out/y/a.txt", "out/z.txt", self.local("y/a.txt")):
            self.assertEqual(self.content(path), "A")

    def test_copy_refuses_directories_and_absent_files(self):
        self.assertEqual(
            self.error(IsADirectoryError, f.copy, "obs://data/in", self.local("in")),
            "obs://data/in must be a file: use copy_parallel.",
        )
        self.error(IsADirectoryError, f.copy, "obs://data/in/a.txt", "obs://data/in/")
        self.error(f.MoxFileRespException, f.copy, "obs://data/no", self.local("no"))
        self.error(FileNotFoundError, f.copy, self.local("no"), "obs://data/no")
        self.assertEqual(self.files(), ["in/a.txt", "in/sub/b.txt"])

    def test_copy_to_itself_keeps_the_content(self):
        f.copy("obs://data/in/a.txt", "s3://data/in/a.txt")
        self.assertEqual(self.content("in/a.txt"), "A")

    def test_copy_parallel_copies_the_content_of_the_directory(self):
        os.makedirs(os.path.join(self.bucket, "in/empty"))
        self.put("in/.copying-old", "incomplete")
        f.copy_parallel("obs://data/in", self.local("in"))
        self.assertEqual(self.files(self.local("in")), ["a.txt", "sub/b.txt"])
        self.assertTrue(os.path.isdir(self.local("in/empty")))
        f.write(self.local("in/c.txt"), "C")
        f.copy_parallel(
            src_url=self.local("in/"), dst_url="s3://data/out/", threads=0, is_processing=False
        )
        self.put("out/kept.txt")
        f.copy_parallel("s3://data/in/", "obs://data/out", threads=16, use_queue=False)
        self.assertEqual(
            f.list_directory("obs://data/out", recursive=True),
            ["a.txt", "c.txt", "empty", "kept.txt", "sub", "sub/b.txt"],
        )

    def test_copy_parallel_of_a_list(self):
        f.copy_parallel("obs://data/in", self.local("in"), file_list=["sub/b.txt"])
        self.assertEqual(self.files(self.local("in")), ["sub/b.txt"])
        self.assertEqual(
            self.error(f.MoxFileNotExistsException, f.copy_parallel, "obs://data/in",
                       self.local("in"), file_list=["no"]),
            "obs://data/in/no must exist: write it first, or correct the path.",
        )

    def test_copy_parallel_of_a_file(self):
        f.copy_parallel("obs://data/in/a.txt", self.local("a.txt"))
        self.assertEqual(self.content(self.local("a.txt")), "A")

    def test_copy_parallel_without_files_is_reported(self):
        f.make_dirs("obs://data/empty")
        for source in ("obs://data/no", self.local("no"), "obs://data/empty"):
            with self.assertLogs(level="WARNING") as logs:
                f.copy_parallel(source, self.local("to"))
            message = logs.records[0].getMessage()
            self.assertEqual(message, "No files to copy: %s must contain files." % source)
        self.assertEqual(os.listdir(self.local("to")), [])

    def test_copy_parallel_into_the_source_ends(self):
        f.copy_parallel("obs://data/in", "obs://data/in/copy")
        self.assertEqual(self.files(os.path.join(self.bucket, "in/copy")), ["a.txt", "sub/b.txt"])

    def test_copy_parallel_reports_equal_names(self):
        for name in ("a.txt/x", "sub"):
            f.copy("obs://data/in/a.txt", self.local(name))
            self.assertEqual(
                self.error(f.MoxFileNameDuplicateException, f.copy_parallel, "obs://data/in",
                           self.local("")),
                "obs://data/in/%s and %s must both be files or both be directories: rename one."
                % (name.split("/")[0], self.local(name.split("/")[0])),
            )
            f.remove(self.local(""), recursive=True)

    def test_rename(self):
        f.rename("obs://data/in/a.txt", "s3://data/new/c.txt")
        f.rename("obs://data/in", "obs://data/moved")
        self.assertEqual(self.files(), ["moved/sub/b.txt", "new/c.txt"])
        self.assertFalse(f.exists("obs://data/in"))
        f.rename(src_url="obs://data/moved", dst_url=self.local("m"))
        f.rename(self.local("m/sub/b.txt"), "obs://data/b.txt")
        f.rename(self.local("m"), self.local("n"))
        self.assertEqual(self.files(), ["b.txt", "new/c.txt"])
        self.assertEqual(f.list_directory(self.local("")), ["n"])

    def test_rename_keeps_the_source_if_it_cannot_be_moved(self):
        f.rename("obs://data/in", "s3://data/in/")
        self.error(OSError, f.rename, "obs://data/in", "obs://data/in/sub/x")
        self.error(f.MoxFileNotExistsException, f.rename, "obs://data/no", "obs://data/x")
        self.error(f.MoxFileNotExistsException, f.rename, "obs://data/in", "obs://no/x")
        self.error(IsADirectoryError, f.rename, "obs://data/in/a.txt", "obs://data/in/sub")
        self.assertEqual(self.files(), ["in/a.txt", "in/sub/b.txt"])

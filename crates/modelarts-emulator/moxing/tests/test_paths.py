import os

from base import ObsTestCase, mox

f = mox.file


class Paths(ObsTestCase):
    def test_both_schemes_and_repeated_slashes_mean_the_same_object(self):
        f.write("s3://data//a///b.txt", "hello")
        self.assertEqual(self.content("a/b.txt"), "hello")
        self.assertEqual(f.read("obs://data/a/b.txt"), "hello")

    def test_paths_that_leave_the_root_are_refused(self):
        self.put("a.txt")
        with open(os.path.join(self.base, "secret"), "w") as file:
            file.write("secret")
        for url, rule in (
            ("obs://data/../../secret", "must not contain the steps . and .."),
            ("obs://../secret", "must not contain the steps . and .."),
            ("s3://data/./a.txt", "must not contain the steps . and .."),
            ("obs:///data/a.txt", "must name a bucket, as in obs://BUCKET/KEY"),
            ("obs://", "must name a bucket, as in obs://BUCKET/KEY"),
            ("obs://data/a\0b", "must not contain control characters"),
            ("obs://data/a\nb", "must not contain control characters"),
            (
                "obs://data/.copying-a",
                "must not contain names of incomplete copies, which begin with .copying-",
            ),
        ):
            expected = "%r %s: correct the path." % (url, rule)
            self.assertEqual(self.error(OSError, f.read, url), expected)
            self.assertEqual(self.error(OSError, f.write, url, "x"), expected)
            self.assertEqual(self.error(OSError, f.exists, url), expected)
        self.assertEqual(self.files(self.root), ["data/a.txt"])

    def test_links_that_lead_out_are_refused_and_left_out_of_lists(self):
        outside = os.path.join(self.base, "outside")
        os.mkdir(outside)
        with open(os.path.join(outside, "secret"), "w") as file:
            file.write("secret")
        os.symlink(outside, os.path.join(self.bucket, "out"))
        os.symlink(os.path.join(outside, "secret"), os.path.join(self.bucket, "out.txt"))
        os.symlink(os.path.join(outside, "new"), os.path.join(self.bucket, "dangling"))
        for key in ("out/secret", "out.txt", "out/new", "dangling"):
            url = "obs://data/" + key
            expected = (
                url + " must not lead out of the OBS root by a link: replace the link with"
                " what it links to."
            )
            self.assertEqual(self.error(PermissionError, f.read, url), expected)
            self.assertEqual(self.error(PermissionError, f.write, url, "x"), expected)
            self.assertEqual(
                self.error(PermissionError, f.remove, url, recursive=True), expected
            )
        self.assertEqual(f.list_directory("obs://data", recursive=True), [])
        self.assertEqual(f.glob("obs://data/*/*"), [])
        self.assertEqual(self.files(outside), ["secret"])
        self.assertEqual(self.content(os.path.join(outside, "secret")), "secret")

    def test_bucket_that_is_a_link_out_is_refused(self):
        os.mkdir(os.path.join(self.base, "other"))
        os.symlink(os.path.join(self.base, "other"), os.path.join(self.root, "linked"))
        self.error(PermissionError, f.list_directory, "obs://linked")

    def test_links_inside_the_root_are_followed_once(self):
        self.put("a/b.txt")
        os.symlink(self.bucket, os.path.join(self.bucket, "a", "up"))
        os.symlink("a", os.path.join(self.bucket, "z"))
        os.symlink("loop", os.path.join(self.bucket, "loop"))
        self.assertEqual(
            f.list_directory("obs://data", recursive=True), ["a", "a/b.txt", "z", "z/b.txt"]
        )
        walked = [(url, files) for url, _, files in f.walk("obs://data")]
        self.assertEqual(
            walked, [("obs://data", []), ("obs://data/a", ["b.txt"]), ("obs://data/z", ["b.txt"])]
        )

    def test_writing_to_a_link_replaces_the_link(self):
        self.put("a.txt", "old")
        os.symlink("a.txt", os.path.join(self.bucket, "link"))
        f.write("obs://data/link", "new")
        self.assertEqual(self.content("a.txt"), "old")
        self.assertEqual(self.content("link"), "new")

    def test_bucket_must_exist_and_is_never_created(self):
        expected = "obs://no/a must be in an existing bucket: create the bucket no first."
        actions = ((f.write, "x"), (f.read,), (f.exists,), (f.make_dirs,), (f.stat,), (f.remove,))
        for action, *args in actions:
            error = self.error(f.MoxFileNotExistsException, action, "obs://no/a", *args)
            self.assertEqual(error, expected)
        os.mkdir(os.path.join(self.root, ".hidden"))
        self.error(f.MoxFileNotExistsException, f.exists, "obs://.hidden")
        self.assertEqual(sorted(os.listdir(self.root)), [".hidden", "data"])

    def test_without_the_variable_every_access_is_an_error(self):
        expected = (
            "MODELARTS_EMULATOR_OBS must be the path of the emulator's OBS root: run this code as"
            " a job of the emulator, or set the variable."
        )
        for value in ("", None):
            os.environ.pop("MODELARTS_EMULATOR_OBS", None)
            if value is not None:
                os.environ["MODELARTS_EMULATOR_OBS"] = value
            for action, *args in ((f.read,), (f.exists,), (f.write, "x"), (f.list_directory,)):
                self.assertEqual(self.error(OSError, action, "obs://data/a", *args), expected)
        f.write(os.path.join(self.base, "a.txt"), "local paths work")

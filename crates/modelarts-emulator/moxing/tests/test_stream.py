import gc
import io
import logging
import os
import pickle

from base import ObsTestCase, mox
from moxing.framework.file._pending import PendingObject

f = mox.file


class Streams(ObsTestCase):
    def test_text_and_bytes(self):
        f.write("obs://data/a/b.txt", "grün\n")
        self.assertEqual(f.read("obs://data/a/b.txt"), "grün\n")
        self.assertEqual(f.read("obs://data/a/b.txt", binary=True), "grün\n".encode())
        f.append("obs://data/a/b.txt", "2\n")
        f.append("obs://data/a/b.txt", b"3\n", binary=True)
        f.write("obs://data/a/c.bin", b"\xff", binary=True)
        f.append("obs://data/new.txt", "created")
        self.assertEqual(self.content("a/b.txt"), "grün\n2\n3\n")
        self.assertEqual(f.read("obs://data/a/c.bin", binary=True), b"\xff")
        self.assertEqual(self.files(), ["a/b.txt", "a/c.bin", "new.txt"])

    def test_wrong_type_keeps_the_old_content(self):
        self.put("a", "old")
        for data, binary in ((b"x", False), ("x", True)):
            error = self.error(TypeError, f.write, "obs://data/a", data, binary=binary)
            expected = "The data for obs://data/a must be text, or bytes with binary=True: convert it."
            self.assertEqual(error, expected)
        self.assertEqual(self.content("a"), "old")

    def test_methods_of_the_file_object(self):
        self.put("a.txt", "one\ntwo\nthree\n")
        with f.File("obs://data/a.txt", "r") as file:
            self.assertEqual((file.name, file.mode), ("obs://data/a.txt", "r"))
            self.assertEqual(file.size(), 14)
            self.assertEqual(file.readline(), "one\n")
            self.assertEqual(file.tell(), 4)
            self.assertEqual(file.readlines(), ["two\n", "three\n"])
            file.seek(0)
            self.assertEqual(file.read(3), "one")
            file.seek(0)
            self.assertEqual(list(file), ["one\n", "two\n", "three\n"])
            self.assertEqual((file.readable(), file.writable(), file.seekable()), (True, False, True))
            self.assertRaises(io.UnsupportedOperation, file.fileno)
        self.assertTrue(file.closed)
        with f.File("obs://data/a.bin", "wb") as file:
            file.writelines([b"ab", b"c"])
            self.assertEqual(file.size(), 3)
            pickle.dump([1], file)
        with f.File("obs://data/a.bin", "rb") as file:
            file.seek(3)
            self.assertEqual(pickle.load(file), [1])

    def test_modes(self):
        self.put("a", "12345")
        for mode, expected in (("r+", "ab345"), ("a", "ab345ab"), ("br+", "ab345ab"), ("w+", "ab")):
            with f.File("obs://data/a", mode) as file:
                file.write(b"ab" if "b" in mode else "ab")
            self.assertEqual(self.content("a"), expected, mode)
        for mode in ("x", "rw", "r++", "", "U"):
            error = self.error(ValueError, f.File, "obs://data/a", mode)
            self.assertEqual(
                error,
                "The mode of obs://data/a must be r, w or a, with b or + if needed: correct %r." % mode,
            )
        self.assertEqual(self.files(), ["a"])

    def test_reading_an_absent_object_has_the_response_of_obs(self):
        for mode in ("r", "rb", "r+"):
            with self.assertRaises(f.MoxFileRespException) as caught:
                f.File("obs://data/a", mode)
            self.assertEqual(caught.exception.resp.status, 404)
            self.assertEqual(caught.exception.resp.errorCode, "NoSuchKey")
            self.assertEqual(
                caught.exception.resp.errorMessage,
                "obs://data/a must be an existing object: write it first, or correct the path.",
            )
        self.assertNotIsInstance(caught.exception, OSError)
        self.assertEqual(self.files(), [])

    def test_readers_see_the_old_content_until_flush_or_close(self):
        self.put("a", "old")
        reader = open(os.path.join(self.bucket, "a"))
        file = f.File("obs://data/a", "w")
        file.write("new")
        self.assertEqual(self.content("a"), "old")
        self.assertEqual(f.list_directory("obs://data"), ["a"])
        self.assertEqual(len(self.files()), 2)
        file.flush()
        self.assertEqual(self.content("a"), "new")
        file.write("er")
        self.assertEqual(self.content("a"), "new")
        file.close()
        file.close()
        self.assertEqual(self.content("a"), "newer")
        self.assertEqual(reader.read(), "old")
        reader.close()
        self.assertEqual(self.files(), ["a"])

    def test_exception_in_with_stores_what_was_written(self):
        self.put("a", "old")
        with self.assertRaises(KeyError):
            with f.File("obs://data/a", "w") as file:
                file.write("new")
                raise KeyError
        self.assertEqual(self.content("a"), "new")
        self.assertEqual(self.files(), ["a"])

    def test_file_that_is_no_longer_used_is_closed(self):
        f.File("obs://data/a", "w").write("x")
        gc.collect()
        self.assertEqual(self.content("a"), "x")

    def test_failed_rename_leaves_no_temporary_file(self):
        file = f.File("obs://data/a", "w")
        os.mkdir(os.path.join(self.bucket, "a"))
        self.assertRaises(OSError, file.flush)
        self.assertEqual(len(self.files()), 1)
        self.assertRaises(OSError, file.close)
        self.assertEqual(self.files(), [])

    def test_failed_copy_leaves_no_temporary_file(self):
        pending = PendingObject("obs://data/a")
        os.mkdir(os.path.join(self.bucket, "a"))
        self.assertRaises(OSError, pending.store)
        absent = self.local("absent")
        self.assertRaises(FileNotFoundError, PendingObject, "obs://data/b", content=absent)
        self.assertEqual(self.files(), [])

    def test_bad_arguments_leave_no_temporary_file(self):
        self.assertRaises(LookupError, f.File, "obs://data/a", "w", encoding="none")
        self.assertEqual(self.files(), [])

    def test_names_that_cannot_be_objects(self):
        self.put("a/b")
        for url in ("obs://data/a", "obs://data/c/", "obs://data"):
            self.assertEqual(
                self.error(IsADirectoryError, f.write, url, "x"),
                url + " must not be a directory, nor end with a slash: add the name of the file.",
            )
        self.assertEqual(
            self.error(NotADirectoryError, f.write, "obs://data/a/b/c", "x"),
            "obs://data/a/b/c must not have a file as a directory, since the emulator stores objects"
            " as files: choose another name.",
        )
        self.assertEqual(self.files(), ["a/b"])

    def test_new_objects_have_the_mode_of_the_umask(self):
        earlier = os.umask(0o027)
        try:
            f.write("obs://data/a", "x")
        finally:
            os.umask(earlier)
        self.assertEqual(os.stat(os.path.join(self.bucket, "a")).st_mode & 0o777, 0o640)

    def test_stream_of_logging(self):
        stream = f.File("obs://data/log.txt", "w")
        logger = logging.Logger("test")
        logger.addHandler(logging.StreamHandler(stream))
        logger.info("one")
        self.assertEqual(self.content("log.txt"), "one\n")
        stream.close()

    def test_local_paths(self):
        f.make_dirs(self.local(""))
        path = self.local("a.txt")
        f.write(path, "1")
        f.append(path, "2")
        with f.File(path, "r") as file:
            self.assertEqual((file.size(), file.read()), (2, "12"))
            self.assertGreater(file.fileno(), 2)
        self.error(FileNotFoundError, f.read, self.local("absent"))

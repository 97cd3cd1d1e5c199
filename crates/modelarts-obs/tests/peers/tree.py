"""Files that every client uploads and downloads."""

import hashlib

# Names and sizes in bytes.
FILES = {
    "kilobyte.bin": 1024,
    "empty": 0,
    # Clients upload this file in parts.
    "large.bin": 40 << 20,
    "with blank.txt": 10,
    "a+b=c&d;e,f'g(h).txt": 11,
    "ünicode/日本語.txt": 12,
    "a%2Fb.txt": 13,
    "/".join(str(step) for step in range(1, 21)) + "/deep.txt": 14,
}
# Number of objects in the list, which has three pages.
MANY = 2500
# Range of bytes around the end of the first part of 8 MiB.
RANGE = ((8 << 20) - 50, (8 << 20) + 49)


def contents(name, size):
    """Returns bytes that depend on the name. The period of 31 does not divide the size of a part."""
    pattern = hashlib.sha256(name.encode()).digest()[:31]
    return (pattern * (size // 31 + 1))[:size]


def write(directory):
    for name, size in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents(name, size))


def write_many(directory):
    (directory / "below").mkdir(parents=True)
    for number in range(MANY - 1):
        (directory / f"{number:04}").write_bytes(b"x")
    (directory / "below" / "one").write_bytes(b"x")


def compare(directory):
    """Fails unless a directory has exactly these files."""
    found = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}
    assert found == set(FILES), found ^ set(FILES)
    for name, size in FILES.items():
        assert (directory / name).read_bytes() == contents(name, size), name

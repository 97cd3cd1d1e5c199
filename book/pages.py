"""Preprocessor of mdBook: links to pages of the repository lead to their chapters.

Most chapters include a page of the repository. A link of a page that is relative, or leads to the
repository, becomes a link to the chapter of its target, or to the repository if there is none.
"""

import json
import re
import sys
from os.path import dirname, join, normpath, relpath
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "book/src"
REPOSITORY = "https://github.com/modelarts-rs/modelarts-rs"
# A block of code, which stays as it is, or the target of a link.
LINK = re.compile(r"^```.*?^```$|(?<=\]\()[^)\s]+", re.M | re.S)

# The page of each chapter, and the chapter of each page.
PAGES = {}
for file in SOURCE.rglob("*.md"):
    include = re.match(r"\{\{#include ([^:}]+)", file.read_text())
    page = file.parent / include[1] if include else file
    PAGES[str(file.relative_to(SOURCE))] = relpath(page, ROOT)
CHAPTERS = {page: chapter for chapter, page in PAGES.items()}
CHAPTERS |= {page.removesuffix("/README.md"): chapter for page, chapter in CHAPTERS.items()}


def replaced(target, chapter):
    path, mark, heading = target.partition("#")
    if found := re.match(f"{REPOSITORY}/(blob|tree)/HEAD/", path):
        path = path[found.end() :]
    elif not path or ":" in path or path.startswith("```"):
        return target
    else:
        path = normpath(join(dirname(PAGES[chapter]), path))
    if path.startswith("book/src/"):
        path = relpath(path, join("book/src", dirname(chapter)))
    elif path in CHAPTERS:
        path = relpath(CHAPTERS[path], dirname(chapter))
    else:
        path = f"{REPOSITORY}/{'tree' if (ROOT / path).is_dir() else 'blob'}/HEAD/{path}"
    return path + mark + heading


def with_links(item):
    """Replaces the links of a chapter; other objects of the book stay as they are."""
    if "content" in item and item.get("path"):
        text = LINK.sub(lambda link: replaced(link[0], item["path"]), item["content"])
        # Without the fields at the beginning of SKILL.md.
        item["content"] = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    return item


if sys.argv[1:2] != ["supports"]:
    _, book = json.load(sys.stdin, object_hook=with_links)
    json.dump(book, sys.stdout)

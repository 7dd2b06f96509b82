# SPDX-License-Identifier: Apache-2.0
"""The program that made a result: our own files, and the Python and the libraries that run them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import time
from collections.abc import Iterator

from bootscope.core.paths import package_dir

BEGAN_S = time.time()
_OWN = (".py", ".toml", ".json", ".csv")
"""Suffixes of files that results depend on."""
_LIBRARY = ".dist-info"


@functools.cache
def program_id() -> bytes:
    """A hash of the program's files, of the versions of Python and of all installed libraries.

    Empty if that is unknown for the running code: there are no sources, or one of them was changed after this
    process began.
    """
    found = hashlib.sha256("\0".join([sys.version, *_libraries()]).encode("utf-8", "surrogateescape"))
    count, root = 0, str(package_dir())
    for path in _own_files(root):
        with open(path, "rb") as f:  # noqa: PTH123 - hundreds of files, each time
            if os.fstat(f.fileno()).st_ctime > BEGAN_S:
                return b""
            content = hashlib.sha256(f.read()).digest()
        found.update(os.fsencode(path.path[len(root) :]) + b"\0" + content)
        count += path.name.endswith(".py")
    return found.digest() if count else b""


def _own_files(root: str) -> Iterator[os.DirEntry[str]]:
    """The program's files, in the same order each time."""
    folders = [root]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as found:
            for entry in sorted(found, key=lambda e: e.name):
                if entry.name.endswith(_OWN):
                    yield entry
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)


def _libraries() -> list[str]:
    """Names with versions of the packages installed where Python looks for libraries."""
    found: set[str] = set()
    for folder in sys.path:
        with contextlib.suppress(OSError):
            found |= {name for name in os.listdir(folder) if name.endswith(_LIBRARY)}  # noqa: PTH208
    return sorted(found)

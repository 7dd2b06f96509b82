# SPDX-License-Identifier: Apache-2.0
"""Files at a URL: a share (file:///srv/boots), an object store (s3://bucket/folder), whatever fsspec knows.

An uploaded file is checked afterwards: a server that claims to have stored it may have lost it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bootscope.core import hints
from bootscope.core.errors import ToolError, UserError, printable

_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+")


class MissingFileError(ToolError):
    """There is no such file at the URL."""


def is_url(name: str) -> bool:
    """Whether a name is the URL of a file."""
    return _URL.match(name) is not None


def upload(path: Path, url: str) -> None:
    """Uploads a file, replacing an existing one. Raises ToolError if that is refused or the file is lost."""
    fs, there = _at(url)
    try:
        if _is_local(fs):
            _copy(path, Path(there))
        else:
            fs.put_file(str(path), there)
        fs.invalidate_cache()
        size = fs.info(there)["size"]
    except FileNotFoundError as error:
        words = f"{_shown(url)} was sent and is not there"
        raise ToolError(words, hint="the server loses what it takes; nothing was changed here") from error
    except Exception as error:
        raise _refused(url, "be written", error) from error
    if size != path.stat().st_size:
        raise ToolError(f"{_shown(url)} has {size:,} bytes, {path.stat().st_size:,} were sent")


def download(url: str, to: Path) -> None:
    """Downloads a file. Raises MissingFileError if there is none, ToolError if it cannot be read."""
    fs, there = _at(url)
    try:
        fs.get_file(there, str(to))
    except FileNotFoundError as error:
        raise MissingFileError(f"there is no {_shown(url)}") from error
    except Exception as error:
        raise _refused(url, "be read", error) from error


def listing(url: str) -> dict[str, str]:
    """The files of a folder at a URL -> a mark that changes when the file is replaced; empty if there is no
    such folder. Raises ToolError if it cannot be read."""
    fs, there = _at(url)
    try:
        fs.invalidate_cache()
        found = fs.ls(there, detail=True)
    except FileNotFoundError:
        return {}
    except Exception as error:
        raise _refused(url, "be read", error) from error
    marks = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "created")
    names = {}
    for item in found:
        if item.get("type") == "file":
            mark = next((str(item[key]) for key in marks if item.get(key)), "")
            names[str(item["name"]).rpartition("/")[2]] = f"{item.get('size')} {mark or os.urandom(8).hex()}"
    return names


def read_all(urls: Sequence[str]) -> list[bytes | None]:
    """The content of small files at URLs of one server, in their order; None for a missing file.

    Raises ToolError if one cannot be read.
    """
    if not urls:
        return []
    fs, _ = _at(urls[0])
    paths = [_at(url)[1] for url in urls]
    try:
        fs.invalidate_cache()
        found = fs.cat(paths, on_error="return")
    except Exception as error:
        raise _refused(urls[0], "be read", error) from error
    # A server may spell the paths slightly differently in its answer; the order is kept.
    held = dict(zip(paths, found.values(), strict=True)) if len(found) == len(paths) else found
    for url, path in zip(urls, paths, strict=True):
        said = held.get(path)
        if isinstance(said, Exception) and not isinstance(said, FileNotFoundError):
            raise _refused(url, "be read", said) from said
    return [held[path] if isinstance(held.get(path), bytes) else None for path in paths]


def remove(url: str) -> None:
    """Removes a file; a missing one is ignored. Raises ToolError if that is refused."""
    fs, there = _at(url)
    try:
        fs.rm_file(there)
        fs.invalidate_cache()
    except FileNotFoundError:
        return
    except Exception as error:
        raise _refused(url, "be removed", error) from error


def _at(url: str) -> tuple[Any, str]:
    """The file system and the path on it. Raises UserError if a package for it is missing."""
    if importlib.util.find_spec("fsspec") is None:
        raise UserError(f"{_shown(url)} needs the Python package fsspec", hint=hints.share("fsspec"))
    import fsspec

    try:
        fs, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        words = f"{_shown(url)} needs another Python package: {error}"
        raise UserError(words, hint=hints.share("s3fs" if url.startswith("s3:") else "")) from error
    except ValueError as error:
        raise UserError(f"{_shown(url)} cannot be used: {error}") from error
    except Exception as error:  # some kinds connect at once
        raise _refused(url, "be read", error) from error
    return fs, path


def _is_local(fs: Any) -> bool:
    names = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    return "file" in names


def _copy(path: Path, to: Path) -> None:
    """Copies into a folder that others also write to: completely or not at all."""
    to.parent.mkdir(parents=True, exist_ok=True)
    new = to.with_name(f".{to.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        shutil.copyfile(path, new)
        new.replace(to)
    finally:
        new.unlink(missing_ok=True)


def _refused(url: str, what: str, error: Exception) -> ToolError:
    said = _shown(str(error).strip().replace("\n", " "))[:200] or type(error).__name__
    hint = "are the credentials right, and may they read and write there?" if _denied(error) else None
    return ToolError(f"{_shown(url)} cannot {what}: {said}", hint=hint)


def _denied(error: Exception) -> bool:
    return isinstance(error, PermissionError) or "403" in str(error) or "Forbidden" in str(error)


def _shown(url: str) -> str:
    """A URL without its password, for display."""
    return printable(re.sub(r"//[^/@]*@", "//", url))

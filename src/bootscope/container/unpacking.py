# SPDX-License-Identifier: Apache-2.0
"""Debian packages as a folder: their files only; their installation scripts are not run."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from bootscope.core.errors import ToolError, printable

MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into /usr on today's systems, even where a package has them as folders."""
_MAGIC, _HEAD_BYTES = b"!<arch>\n", 60
_LEFT_OUT = ("doc", "doc-base", "info", "lintian", "locale", "man")
"""Below /usr/share: what is not needed there; licences stay."""
_LICENCE = "copyright"


def unpack(deb: Path, root: Path) -> None:
    """Unpacks the files of a package into a root folder. Raises ToolError where it is not a package."""
    data = next((data for name, data in _members(deb) if name.startswith("data.tar")), b"")
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                _put(archive, member, root)
    except (tarfile.TarError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ToolError(f"{deb.name} holds no files that can be read: {error}") from error


def _members(deb: Path) -> Iterator[tuple[str, bytes]]:
    """(name, data) of the members of an ar archive, the format of a package."""
    data, at = deb.read_bytes(), len(_MAGIC)
    if not data.startswith(_MAGIC):
        raise ToolError(f"{deb.name} is no package")
    while at + _HEAD_BYTES <= len(data):
        name, size = data[at : at + 16].decode("ascii", "replace"), data[at + 48 : at + 58].strip()
        at += _HEAD_BYTES
        if not size.isdigit() or at + int(size) > len(data):
            raise ToolError(f"{deb.name} is damaged at byte {at:,}")
        yield name.strip().rstrip("/"), data[at : at + int(size)]
        at += int(size) + int(size) % 2


def _put(archive: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    name = PurePosixPath(member.name)
    if name.parts and name.parts[0] in MERGED:
        name = "usr" / name
    is_licence = name.name == _LICENCE and member.isfile()
    if not is_licence and any(name.is_relative_to(f"usr/share/{folder}") for folder in _LEFT_OUT):
        return
    place = root / name
    if name.is_absolute() or ".." in name.parts or any((root / p).is_symlink() for p in name.parents[:-1]):
        raise ToolError(f"a package has the path {printable(member.name)}, which leads somewhere else")
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    if member.issym():
        place.symlink_to(member.linkname)
    elif found := archive.extractfile(member):
        place.write_bytes(found.read())
        place.chmod(0o755 if member.mode & 0o100 else 0o644)

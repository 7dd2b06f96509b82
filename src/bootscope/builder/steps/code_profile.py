# SPDX-License-Identifier: Apache-2.0
"""Compiles the application with a profile of its own boot (`application.profile`): GCC's -fprofile-use.

The profile is what a program that counts writes for each of its object files, a .gcda file: how often each
branch was taken, and which values a division, a call, or a copy saw. The setting has these files as one text.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from bootscope.core.errors import UserError
from bootscope.system.application import Application

SETTING = "application.profile"
SOURCES = "sources"
COUNTING = "-fprofile-generate"
TRAINING = (COUNTING, "-fno-pie", "-no-pie")
"""Options for a program that counts. It is linked at a fixed address, where its counters are found."""
USE = (
    "-O3",  # for the code that ran, wherever else it would be; GCC makes the rest small
    "-fprofile-use",
    "-fprofile-correction",  # threads may lose counts
    "-Wno-missing-profile",
    "-Wno-error=coverage-mismatch",  # another C library's macros: that function goes without its profile
)
SUFFIX = ".gcda"
_LARGEST_BYTES = 256 << 20


def packed(files: Mapping[str, bytes]) -> str:
    """The text for the setting: .gcda files by their path in the build folder."""
    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(dict(sorted(files.items()))), 9)).decode()


def unpacked(text: str) -> dict[str, bytes]:
    """The .gcda files of a profile. Raises UserError for a text that is none."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(text, validate=True), _LARGEST_BYTES)
        if not unpacker.eof:
            raise ValueError("truncated, or too large")
        files = msgspec.msgpack.decode(data, type=dict[str, bytes])
    except (ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise UserError(
            f"{SETTING} is not a profile: {error}", hint="bootscope try app-profile-hot-code makes one"
        ) from error
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or path.suffix != SUFFIX or "\0" in name:
            raise UserError(f"{SETTING}: {name!r} is not the path of a {SUFFIX} file in a build folder")
    return files


def files_of(application: Application) -> dict[str, bytes]:
    """The files of an application's profile; none without one. Raises UserError for an invalid one."""
    return unpacked(application.profile) if isinstance(application.profile, str) else {}


def inputs(files: Mapping[str, bytes]) -> tuple[object, ...]:
    """What a step depends on: the compiler's options, and the names and hashes of the files."""
    return USE, sorted((name, hashlib.sha256(data).hexdigest()) for name, data in files.items())


def put(build: Path, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Writes the files to where the compiler looks for them, and returns its options; none without files."""
    for name, data in files.items():
        path = build / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return USE if files else ()


def apart(scratch: Path, folder: Path) -> Path:
    """A folder to compile the sources of `folder` in, which are SOURCES there.

    GCC names a static function in a profile by the path of its source and by that of the output, as they are
    given: they must be the same in both builds and on every computer, so both are relative.
    """
    (scratch / SOURCES).symlink_to(folder)
    return scratch

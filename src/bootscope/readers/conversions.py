# SPDX-License-Identifier: Apache-2.0
"""Files that bootscope does not read itself: what they are, and the command that makes what it reads.

Told by the first bytes of each format: https://man7.org/linux/man-pages/man5/magic.5.html (the table of
file(1)), and for journals https://systemd.io/JOURNAL_FILE_FORMAT/.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath

from bootscope.core.errors import UserError, printable
from bootscope.readers.base import Source

_MAKES = "`{}` makes what bootscope reads"
_PERHAPS = "import a log of its boot; if it is a kernel, `bootscope audit {file}` looks into it"
_AUDIT = "`bootscope audit {file}` looks into it"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A format: its bytes at a place of the file, what it is, and what to do; `{file}` is the file's name."""

    magics: tuple[bytes, ...]
    what: str
    do: str
    at: int = 0


def _by(command: str) -> str:
    return _MAKES.format(command)


_CTF = (b"\x57\x1d\xd1\x75", b"\x75\xd1\x1d\x57", b"/* CTF 1.")
_KINDS = (
    _Kind((b"PERFILE2", b"2ELIFREP", b"PERFFILE"), "perf.data of perf",
          _by("perf script --ns -i {file} > perf.txt")),
    _Kind((b"LPKSHHRH",), "a journal of systemd", _by("journalctl --file {file} -o json > boot.json")),
    _Kind((b"SQLite format 3",), "an SQLite database",
          "`sqlite3 {file} .dump` shows whether a table of it holds a log, to be exported as text"),
    _Kind((b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d",
           b"\x0a\x0d\x0d\x0a"),
          "a capture of a network (pcap)", "import the console log of the same boot"),
    _Kind((b"\x7fELF",), "a program, library or kernel (ELF)", _PERHAPS),
    _Kind((b"\x27\x05\x19\x56",), "an image for U-Boot (uImage)", _PERHAPS),
    _Kind((b"ARM\x64",), "a kernel for arm64 (Image)", _AUDIT, 56),
    _Kind((b"\x18\x28\x6f\x01",), "a kernel for ARM (zImage)", _AUDIT, 36),
    _Kind((b"HdrS",), "a kernel for x86 (bzImage)", _AUDIT, 0x202),
    _Kind((b"hsqs",), "a SquashFS image", _AUDIT),
    _Kind((b"\x53\xef",), "an ext2, ext3 or ext4 image", _AUDIT, 0x438),
    _Kind((b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"), "a picture",
          "import the log that it was drawn from"),
    _Kind((b"%PDF-",), "a PDF document", "`pdftotext -layout {file} boot.txt` takes a log out of it as text"),
    _Kind((*_CTF, b"\xc1\x1f\xfc\xc1", b"\xc1\xfc\x1f\xc1"),
          "a part of a trace of LTTng or another tool (CTF)", "import the folder that it lies in"),
)  # fmt: skip


def refusal(source: Source) -> UserError | None:
    """Why a source is not read, and the command that converts it; None for one of no such format."""
    if source.members:
        if any(_is_metadata(name, data) for name, data in source.members.items()):
            return _error(
                source,
                "a trace of LTTng or another tool (CTF)",
                _by("babeltrace2 --clock-cycles {file} > trace.txt"),
            )
        return None
    kind = _kind(source.data)
    return _error(source, kind.what, kind.do) if kind else None


def is_other(data: bytes) -> bool:
    """Whether bytes are of a format that :func:`refusal` knows."""
    return _kind(data) is not None


def _kind(data: bytes) -> _Kind | None:
    for kind in _KINDS:
        # What stands further in could be a word of a text, which has no NUL before it.
        if data.startswith(kind.magics, kind.at) and (not kind.at or b"\0" in data[: kind.at]):
            return kind
    return None


def _is_metadata(name: str, data: bytes) -> bool:
    return PurePosixPath(name).name == "metadata" and data.startswith(_CTF)


def _error(source: Source, what: str, do: str) -> UserError:
    name = printable(source.name)
    # As a word for a shell, which the command is pasted into.
    file = shlex.quote(name) if name not in ("", "stdin") else "FILE"
    return UserError(
        f"{name} is {what}: {do.format(file=file)}", hint="bootscope import --formats lists what it reads"
    )

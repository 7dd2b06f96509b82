# SPDX-License-Identifier: Apache-2.0
"""Files of other programs: the error says what they are, and the command that makes what is read."""

from __future__ import annotations

import pytest

from bootscope.core.errors import UserError
from bootscope.readers.base import Source
from bootscope.readers.conversions import refusal
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget

ZEROS = bytes(4096)
FILES = {
    "perf.data": (b"PERFILE2" + ZEROS, "perf.data of perf: `perf script --ns -i perf.data > perf.txt`"),
    "system.journal": (
        b"LPKSHHRH" + ZEROS,
        "a journal of systemd: `journalctl --file system.journal -o json > boot.json`",
    ),
    "a.db": (b"SQLite format 3\0" + ZEROS, "an SQLite database: `sqlite3 a.db .dump`"),
    "a.pcap": (b"\xd4\xc3\xb2\xa1\2\0\4\0" + ZEROS, "a capture of a network"),
    "ls": (b"\x7fELF\2\1\1" + ZEROS, "(ELF): import a log"),
    "Image": (b"MZ" + bytes(54) + b"ARM\x64" + ZEROS, "a kernel for arm64 (Image): `bootscope audit Image`"),
    "zImage": (bytes(36) + b"\x18\x28\x6f\x01" + ZEROS, "a kernel for ARM (zImage)"),
    "bzImage": (bytes(0x202) + b"HdrS" + ZEROS, "a kernel for x86"),
    "root.ext4": (bytes(0x438) + b"\x53\xef" + ZEROS, "an ext2, ext3 or ext4 image"),
    "root.squashfs": (b"hsqs" + ZEROS, "a SquashFS image"),
    "boot.png": (b"\x89PNG\r\n\x1a\n" + ZEROS, "a picture"),
    "channel0_0": (b"\xc1\x1f\xfc\xc1" + ZEROS, "import the folder"),
}


def words(name: str, data: bytes) -> str:
    error = refusal(opened(name, data, Budget()).source)
    assert isinstance(error, UserError)
    return error.message


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_told_by_its_first_bytes(name: str) -> None:
    data, said = FILES[name]
    assert said in words(name, data)


def test_a_name_is_a_word_for_a_shell() -> None:
    assert "journalctl --file 'a; b $(c)'" in words("a; b $(c)", b"LPKSHHRH" + ZEROS)


def test_a_folder_of_ctf_names_the_command() -> None:
    source = Source(
        "lttng/boot", b"", {"kernel/metadata": b"/* CTF 1.8 */\n", "kernel/channel0_0": b"\xc1\x1f"}
    )
    error = refusal(source)
    assert error and "`babeltrace2 --clock-cycles lttng/boot > trace.txt`" in error.message


def test_words_of_a_text_are_no_mark() -> None:
    text = b"[    0.000000] Booting Linux on physical CPU 0x0, HdrS \n"
    for at, word in ((56, b"ARM\x64"), (0x202, b"HdrS"), (0x438, b"S\xef")):
        assert refusal(Source("x", (text * 40)[:at] + word + text)) is None

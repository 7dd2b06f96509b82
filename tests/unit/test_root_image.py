# SPDX-License-Identifier: Apache-2.0
"""A root file system for a card, from a tar archive: also from a hostile one."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from bootscope.core.errors import UserError
from bootscope.imageboot import root_image
from tests.unit.image_builders import tool
from tests.unit.time_bound import within


def member(name: str, kind: bytes = tarfile.REGTYPE, data: bytes = b"", **fields: object) -> bytes:
    """One member, without the end of an archive."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as made:
        made.addfile(info, io.BytesIO(data))
        return out.getvalue()[: made.offset]


def changed(header: bytes, at: int, field: bytes) -> bytes:
    """A member whose header has another field, and the right checksum."""
    data = bytearray(header)
    data[at : at + len(field)] = field
    data[148:156] = b"%06o\0 " % (sum(data[:148]) + 8 * 32 + sum(data[156:512]))
    return bytes(data)


def made_of(data: bytes, folder: Path, most_bytes: int = root_image.MOST_BYTES) -> tuple[Path, list[str]]:
    archive = folder / "root.tar"
    archive.write_bytes(data)
    return root_image.of_tar(archive, folder, most_bytes)


def test_an_archive_becomes_a_file_system(tmp_path: Path) -> None:
    image, lost = made_of(
        b"".join(
            [
                member("./bin", tarfile.DIRTYPE, mode=0o755),
                member("./bin/sh", data=b"#!program\n" * 300_000, mode=0o4755, uid=7, gid=8),
                member("./bin/ash", tarfile.LNKTYPE, linkname="./bin/sh"),
                member("./init", tarfile.SYMTYPE, linkname="bin/sh"),
                member("./dev/console", tarfile.CHRTYPE, mode=0o600, devmajor=5, devminor=1),
                changed(member("old/", mode=0o700), 156, b"\0"),
                member("./pipe", tarfile.FIFOTYPE),
                member("../out", data=b"x"),
                bytes(1024),
            ]
        ),
        tmp_path,
    )
    told = (
        tool("debugfs", "-R", "ls -p /", image).decode() + tool("debugfs", "-R", "ls -p /bin", image).decode()
    )
    rows = {row.split("/")[5]: row.split("/")[2:5] for row in told.splitlines() if row}
    assert rows["sh"] == rows["ash"] == ["104755", "7", "8"]
    assert (rows["old"], rows["init"][0][:2]) == (["040700", "0", "0"], "12")
    assert not {"pipe", "out"} & set(rows)
    assert tool("debugfs", "-R", "cat /bin/ash", image) == b"#!program\n" * 300_000
    assert b"Device major/minor number: 05:01" in tool("debugfs", "-R", "stat /dev/console", image)
    assert lost == ["left out: ../out, whose name cannot be written"]


def sparse() -> bytes:
    """A file of 200 MB in the form of GNU tar, of which the archive has nothing."""
    header = changed(member("disk", data=b"x" * 512), 386, b"%011o\0%011o\0" % (0, 512))
    return changed(changed(header, 483, b"%011o\0" % (200 << 20)), 156, b"S")


def sparse_by_words() -> bytes:
    return member("pax", b"x", b"22 GNU.sparse.major=1\n") + member("disk", data=b"1\n0\n512\n" + bytes(600))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (member("a") + changed(member("b"), 124, (-1024).to_bytes(12, "big", signed=True)), "damaged"),
        (member("pax", b"x", b"14 size=-1024\n") + member("b"), "damaged"),
        (sparse(), "'disk' is stored as a sparse file"),
        (sparse_by_words(), "'disk' is stored as a sparse file"),
        (member("a", data=bytes(5000))[:2048], "damaged or truncated"),
        (b"no archive " * 200, "damaged or truncated"),
        (b"", "is empty"),
        (member("a", data=bytes(4096)) + member("b", data=b"x") * 2, "more than 8,192 bytes"),
    ],
    ids=["negative", "negative by words", "sparse", "sparse by words", "cut", "other", "empty", "large"],
)  # fmt: skip
def test_hostile_archives_are_refused(data: bytes, why: str, tmp_path: Path) -> None:
    with within(20), pytest.raises(UserError, match=why):
        made_of(data, tmp_path, most_bytes=8192)
    assert sum(path.stat().st_size for path in (tmp_path / "files").glob("*")) <= 8192

# SPDX-License-Identifier: Apache-2.0
"""Compressed files, archives and encodings: unpacked in memory, within bounds, every repair told."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.encoding import as_utf8, encoding
from bootscope.readers.source import gather, members, opened
from bootscope.readers.unpack import Budget, archive, compression, decompressed

TEXT = b"".join(b"[%5d.%06d] line %d\n" % (n // 7, n * 13 % 1_000_000, n) for n in range(5_000))


def zstd(data: bytes) -> bytes:
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    pytest.importorskip("backports.zstd")
    return subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}


def tar(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return out.getvalue()


# ---- compressed files ----


@pytest.mark.parametrize("kind", PACKERS)
def test_a_compressed_file_is_its_content(kind: str) -> None:
    packed = PACKERS[kind](TEXT)
    assert compression(packed) == kind
    assert decompressed("x", packed, Budget()) == (TEXT, [])


@pytest.mark.parametrize("kind", PACKERS)
def test_two_compressed_files_in_a_row_are_one(kind: str) -> None:
    packed = PACKERS[kind](TEXT) + PACKERS[kind](b"more\n")
    assert decompressed("x", packed, Budget()) == (TEXT + b"more\n", [])


@pytest.mark.parametrize("kind", PACKERS)
def test_a_cut_file_is_read_as_far_as_it_goes(kind: str) -> None:
    packed = PACKERS[kind](TEXT)
    data, repairs = decompressed("x", packed[: len(packed) * 2 // 3], Budget())
    assert TEXT.startswith(data)
    assert [r.what for r in repairs] == [f"{kind} data cut off; read up to there"]
    if kind == "gzip":  # the others unpack whole blocks only
        assert len(data) > len(TEXT) // 2


def test_what_follows_compressed_data_is_left_out_and_told() -> None:
    data, repairs = decompressed("x", gzip.compress(TEXT) + b"trailer", Budget())
    assert data == TEXT
    assert [(r.what, r.count) for r in repairs] == [("bytes after the end of the gzip data left out", 7)]
    assert decompressed("x", gzip.compress(TEXT) + bytes(512), Budget()) == (TEXT, [])


def test_a_damaged_file_gives_what_came_before_the_damage() -> None:
    packed = bytearray(gzip.compress(TEXT * 20, compresslevel=1))
    packed[-6] ^= 0xFF  # the checksum
    data, repairs = decompressed("x", bytes(packed), Budget())
    assert len(data) > len(TEXT)
    assert repairs[0].what.startswith("gzip data damaged (Error -3 while decompressing data")


@pytest.mark.parametrize("kind", PACKERS)
def test_a_bomb_is_refused(kind: str) -> None:
    bomb = PACKERS[kind](bytes(20 << 20))
    assert len(bomb) < 100_000
    with pytest.raises(UserError, match="x unpacks to more than 10 MB"):
        decompressed("x", bomb, Budget(max_bytes=10 << 20))


def test_a_bomb_in_a_bomb_is_refused() -> None:
    bomb = gzip.compress(gzip.compress(bytes(20 << 20)))
    with pytest.raises(UserError, match="unpacks to more than 10 MB"):
        opened("x", bomb, Budget(max_bytes=10 << 20))


def test_layers_are_unwrapped() -> None:
    assert opened("x", gzip.compress(bz2.compress(TEXT)), Budget()).source.data == TEXT


# ---- archives ----


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_a_tar_archive_is_its_files(form: int) -> None:
    long_name = "/".join(["folder-with-a-long-name"] * 5) + "/boot.log"
    files = {"header": b"version = 0.8\n", long_name: TEXT, "empty": b""}
    found = archive("x", tar(files, form), Budget())
    assert found
    assert (found.members, found.repairs) == (files, [])


def test_a_name_beyond_ascii_in_a_tar_archive() -> None:
    found = archive("x", tar({"böt/log": b"x", "plain": b"y"}), Budget())
    assert found
    assert found.members == {"böt/log": b"x", "plain": b"y"}


def test_folders_and_links_in_a_tar_archive_are_no_files() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo(f"of type {kind.decode()}")
            info.type, info.linkname = kind, "/etc/passwd"
            made.addfile(info)
        info = tarfile.TarInfo("file")
        info.size = 3
        made.addfile(info, io.BytesIO(b"abc"))
    found = archive("x", out.getvalue(), Budget())
    assert found
    assert found.members == {"file": b"abc"}


def test_a_cut_tar_archive_gives_what_is_there() -> None:
    found = archive("x", tar({"a": TEXT, "b": TEXT})[: len(TEXT) + 5_000], Budget())
    assert found
    assert found.members["a"] == TEXT
    assert 0 < len(found.members["b"]) < len(TEXT)
    assert [r.what for r in found.repairs] == ["tar archive truncated; read up to there"]


def test_a_tar_archive_with_a_negative_size_ends_there() -> None:
    """As in CVE-2025-8194, which never ended."""
    data = bytearray(tar({"a": b"abc"}))
    data[124:136] = b"\xff" * 12
    data[148:156] = b"%06o\0 " % (sum(data[:148]) + 8 * 32 + sum(data[156:512]))
    found = archive("x", bytes(data), Budget())
    assert found
    assert found.members == {}
    assert [r.what for r in found.repairs] == ["tar archive damaged; read up to there"]


def test_a_tar_archive_that_claims_to_be_huge_costs_nothing() -> None:
    data = bytearray(tar({"a": b"abc"}))
    data[124:136] = b"\x80" + (1 << 70).to_bytes(11, "big")
    data[148:156] = b"%06o\0 " % (sum(data[:148]) + 8 * 32 + sum(data[156:512]))
    found = archive("x", bytes(data), Budget(max_bytes=100_000))
    assert found
    assert len(found.members["a"]) < len(data)


def test_sizes_that_extended_headers_of_a_tar_archive_tell() -> None:
    for size, names in (("5000", ["a", "b"]), ("-1024", []), ("5_000", []), ("9" * 30, [])):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
            info = tarfile.TarInfo("a")
            info.pax_headers = {"size": size}
            made.addfile(info)
        data = out.getvalue()[:1536] + bytes(5120) + tar({"b": b"x"})
        found = archive("x", data, Budget())
        assert found and [*found.members] == names


def test_a_zip_archive_is_its_files() -> None:
    found = archive("x", zipped({"a/b.log": TEXT, "c": b"x"}), Budget())
    assert found
    assert (found.members, found.repairs) == ({"a/b.log": TEXT, "c": b"x"}, [])


def test_a_zip_bomb_is_refused() -> None:
    with pytest.raises(UserError, match="unpacks to more than 10 MB"):
        archive("x", zipped({"a": bytes(20 << 20)}), Budget(max_bytes=10 << 20))


def test_a_zip_member_that_lies_about_its_size_is_bounded() -> None:
    data = zipped({"a": bytes(20 << 20)})
    lie = data.replace((20 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    found = archive("x", lie, Budget(max_bytes=10 << 20))
    assert found
    assert len(found.members["a"]) <= 101


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_bomb_of_a_method_that_unpacks_whole_blocks_is_left_out_and_told(method: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        made.writestr("a", bytes(40 << 20))
        made.writestr("b", b"log", zipfile.ZIP_DEFLATED)
    lie = out.getvalue().replace((40 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    tracemalloc.start()
    found = archive("x", lie, Budget(max_bytes=1 << 20))
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most_bytes < 4 << 20
    assert found
    assert found.members == {"b": b"log"}
    why = f"a: compression method {method} is not read, only stored and deflated files are"
    assert [r.what for r in found.repairs] == [why]


def test_too_many_files_are_refused() -> None:
    many = {str(n): b"x" for n in range(30)}
    for data in (tar(many), zipped(many)):
        with pytest.raises(UserError, match="x holds more than 20 files"):
            archive("x", data, Budget(max_members=20))


def test_a_damaged_zip_archive_says_so() -> None:
    found = archive("x", zipped({"a": TEXT})[:-10], Budget())
    assert found
    assert "zip archive damaged" in found.repairs[0].what


def test_text_is_no_archive() -> None:
    assert archive("x", TEXT, Budget()) is None
    assert archive("x", b"", Budget()) is None


@given(st.data())
def test_no_damage_leads_to_anything_but_an_answer(data: st.DataObject) -> None:
    whole = data.draw(
        st.sampled_from(
            [tar({"a": TEXT[:3000], "b": b"x"}), zipped({"a": TEXT[:3000]}), gzip.compress(TEXT[:3000])]
        )
    )
    broken = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        broken[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    box = opened("x", bytes(broken[: data.draw(st.integers(0, len(whole)))]), Budget())
    list(members(box, Budget()))


# ---- encodings ----


@pytest.mark.parametrize(
    ("data", "name", "text", "repairs"),
    [
        (b"abc\n", "ASCII", b"abc\n", []),
        ("grün\n".encode(), "UTF-8", "grün\n".encode(), []),
        ("\ufeffgrün\n".encode(), "UTF-8", "grün\n".encode(), ["UTF-8 byte order mark removed"]),
        ("\ufeffgrün\n".encode("utf-16-le"), "UTF-16LE", "grün\n".encode(), ["UTF-16LE read as text"]),
        ("\ufeffgrün\n".encode("utf-16-be"), "UTF-16BE", "grün\n".encode(), ["UTF-16BE read as text"]),
        ("no mark here\n".encode("utf-16-le"), "UTF-16LE", b"no mark here\n", ["UTF-16LE read as text"]),
        ("no mark here\n".encode("utf-16-be"), "UTF-16BE", b"no mark here\n", ["UTF-16BE read as text"]),
        (b"gr\xfcn\n", "Latin-1 or another 8-bit encoding", b"gr\xfcn\n", []),
        (b"a\nb\0\0c\n", "ASCII", b"a\nbc\n", ["NUL bytes removed"]),
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary", b"\x7fELF\x02\x01\x01\0\0\0", []),
        (bytes(100), "binary", bytes(100), []),
    ],
)
def test_text_becomes_utf8_and_binary_stays(data: bytes, name: str, text: bytes, repairs: list[str]) -> None:
    assert encoding(data) == name
    found, told = as_utf8(data)
    assert found == text
    assert [r.what for r in told] == repairs


def test_nul_bytes_are_counted_and_placed() -> None:
    (repair,) = as_utf8(b"a\nb\0\0c\n")[1]
    assert (repair.count, repair.first_line) == (2, 2)


def test_a_character_at_the_end_of_the_sample_is_no_wrong_encoding() -> None:
    for shift in range(3):
        assert encoding(b"x" * shift + "€".encode() * 40_000) == "UTF-8"


# ---- what the user names ----


def test_a_folder_is_its_files_without_hidden_ones(tmp_path: Path) -> None:
    (tmp_path / "logs" / "sub").mkdir(parents=True)
    for name in ("b.log", "a.log", ".hidden", "sub/c.log"):
        (tmp_path / "logs" / name).write_bytes(b"x")
    (tmp_path / "logs" / "loop").symlink_to(tmp_path / "logs")
    found = gather([str(tmp_path / "logs")])
    assert [Path(raw.name).relative_to(tmp_path / "logs").as_posix() for raw in found] == [
        "a.log", "b.log", "sub/c.log",
    ]  # fmt: skip
    assert {raw.folder for raw in found} == {str(tmp_path / "logs")}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "nothing").mkdir()
    for name, words in [
        ("gone", "cannot read .*gone: No such file"),
        ("empty", "empty is empty"),
        ("nothing", "there are no files in .*nothing"),
        ("a\0b", "cannot read"),
    ]:
        with pytest.raises(UserError, match=words):
            gather([str(tmp_path / name)])


def test_a_folder_does_not_reach_outside_of_itself(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "secret").write_bytes(b"key")
    (tmp_path / "logs/a.log").write_bytes(b"x")
    (tmp_path / "logs/boot.log").symlink_to(tmp_path / "secret")
    (tmp_path / "named").symlink_to(tmp_path / "logs")
    (tmp_path / "one").symlink_to(tmp_path / "secret")
    for name in ("logs", "named"):
        told: list[str] = []
        assert [raw.data for raw in gather([str(tmp_path / name)], told.append)] == [b"x"]
        assert told == [f"{tmp_path / name}: links are not followed: boot.log"]
    assert [raw.data for raw in gather([str(tmp_path / "one")])] == [b"key"]
    (tmp_path / "logs/a.log").unlink()
    with pytest.raises(UserError, match="there are no files in"):
        gather([str(tmp_path / "logs")])

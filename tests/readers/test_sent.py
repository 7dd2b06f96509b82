# SPDX-License-Identifier: Apache-2.0
"""Files that came over the console, in logs as they come: with stamps, other lines, and torn lines."""

from __future__ import annotations

import base64
import gzip
import io
import random
import tarfile
import zlib

from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.capture.imported import Answers, Raw
from bootscope.importing.files import understand
from bootscope.readers.sent import is_there, sent_files

from .fuzzing import FIXTURES

LINE = 54
FILE = bytes(random.Random(1).randrange(256) for _ in range(1000))


def sent(data: bytes, name: str = "x.tgz") -> list[bytes]:
    """What the collector prints (native/agent/send.h)."""
    lines = [f"bootscope-agent: begin 1 {name}".encode()]
    pieces = [data[i : i + LINE] for i in range(0, len(data), LINE)]
    for number, piece in enumerate(pieces):
        text = f"{number} ".encode() + base64.b64encode(piece)
        lines.append(b"@bs %s %08x" % (text, zlib.crc32(text)))
    lines.append(b"bootscope-agent: end %d %d %08x" % (len(pieces), len(data), zlib.crc32(data)))
    return lines


def one(log: bytes) -> tuple[bytes, list[str]]:
    (file,), _ = sent_files(log)
    return file.data, [r.what for r in file.repairs]


def test_whole_file_between_other_lines() -> None:
    lines = sent(FILE)
    lines.insert(5, b"login: ")
    lines.insert(9, b"[   12.345678] random: crng init done")
    log = b"\r\n".join([b"U-Boot 2025.01", *lines, b"# "])
    assert is_there(log) and one(log) == (FILE, [])
    (file,), rest = sent_files(log)
    assert file.name == "x.tgz"
    assert [x for x in rest.split(b"\r\n") if x and not x.startswith(b"bootscope-agent")] == [
        b"U-Boot 2025.01",
        b"login: ",
        b"[   12.345678] random: crng init done",
        b"# ",
    ]
    assert rest.count(b"\n") == log.count(b"\n")


def test_stamps_of_a_logger_do_no_harm() -> None:
    log = b"\n".join(b"[%d.000123 0.000123] " % i + line for i, line in enumerate(sent(FILE)))
    assert one(log) == (FILE, [])


def test_a_line_that_was_printed_into_is_put_together() -> None:
    lines = sent(FILE)
    torn = lines[7]
    lines[7:8] = [torn[:30] + b"[   12.345678] usb 1-1: new device", torn[30:]]
    assert one(b"\r\n".join(lines)) == (FILE, ["split lines of a sent file joined"])
    lines = sent(FILE)
    lines[7] = torn[:30] + b"<shell: x>" + torn[30:]
    assert one(b"\r\n".join(lines)) == (FILE, ["split lines of a sent file joined"])


def test_what_is_missing_is_said_and_cut_off() -> None:
    lines = sent(FILE)
    del lines[4]
    assert one(b"\n".join(lines)) == (FILE[: 3 * LINE], ["lines of a sent file are missing: truncated there"])
    assert one(b"\n".join(sent(FILE)[:6])) == (
        FILE[: 5 * LINE],
        ["a sent file is truncated: read up to there"],
    )


def test_a_wrong_byte_is_never_taken() -> None:
    lines = sent(FILE)
    lines[3] = lines[3].replace(lines[3][10:11], b"A" if lines[3][10:11] != b"A" else b"B", 1)
    data, repairs = one(b"\n".join(lines))
    assert data == FILE[: 2 * LINE] and repairs == ["lines of a sent file are missing: truncated there"]


def test_two_files_of_two_boots() -> None:
    files, _ = sent_files(b"\n".join([*sent(FILE, "a"), b"reboot", *sent(FILE[:99], "b")]))
    assert [(f.name, f.data, f.repairs) for f in files] == [("a", FILE, []), ("b", FILE[:99], [])]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damage_never_gives_wrong_bytes(data: st.DataObject) -> None:
    log = bytearray(b"\n".join(sent(FILE[:300])))
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(30, len(log) - 1))
        log[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=30))
    for file in sent_files(bytes(log))[0]:
        assert FILE.startswith(file.data)


def test_import_reads_the_log_and_what_was_sent_in_it() -> None:
    log = gzip.decompress((FIXTURES / "bootchart" / "agent-console.log.gz").read_bytes())
    understood = understand([Raw("console.log", log)], Answers(), strict=True)
    assert [(f.name, f.reader.name) for f in understood.files] == [
        ("console.log", "plain"),
        ("console.log/bootscope-agent.tgz", "bootchart"),
    ]
    assert understood.boots == 1
    titles = [t.title for t in understood.trace(1).tracks if t.kind == "process"]
    assert "testcard (95)" in titles


def test_import_reads_the_trace_that_lies_in_an_archive() -> None:
    trace = b"# tracer: nop\n#\n" + b"".join(
        b"     cat-%d  [000] ..... 1.%06d: sched_process_exec: filename=/bin/cat pid=%d old_pid=%d\n"
        % (n, n, n, n)
        for n in range(100, 120)
    )
    box = io.BytesIO()
    with tarfile.open(fileobj=box, mode="w:gz") as archive:
        for name, data in (
            ("taskstats.log", b"100\n1 0 init 5 0 0\n\n"),
            ("header", b"a = b\n"),
            ("trace", trace),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    understood = understand([Raw("x.tgz", box.getvalue())], Answers(), strict=True)
    assert [f.reader.name for f in understood.files] == ["bootchart", "ftrace"]

# SPDX-License-Identifier: Apache-2.0
"""`dd` of GNU and BusyBox, on its output; the fit, on sweeps that were made up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Source
from bootscope.readers.detect import rank
from bootscope.readers.formats.dd import READERS
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget
from bootscope.timeline.trace import Table

from .fuzzing import FIXTURES, damaged, read, source, survives

(DD,) = READERS
FILES = sorted(path.name for path in (FIXTURES / "dd").glob("*.txt"))
SIZES = (512, 1024, 4096, 16384, 65536, 262144, 1048576)

Row = tuple[str | int | None, ...]


def tables(data: bytes) -> list[Table]:
    return DD.read(Source("x", data), Options()).boots[0].tables


def rows(data: bytes) -> tuple[Row, ...]:
    return tables(data)[0].rows


def run(size: int, blocks: int, ns: int) -> str:
    records = f"{blocks}+0 records in\n{blocks}+0 records out\n"
    return f"{records}{size * blocks} bytes (1 kB, 1 KiB) copied, {ns / 1e9:.9f} s, 1 MB/s\n"


def sweep(latency_ns: int, bytes_per_s: int, blocks: int = 64, sizes: tuple[int, ...] = SIZES) -> bytes:
    whole_ns = ((size, blocks * (latency_ns + size * 1_000_000_000 // bytes_per_s)) for size in sizes)
    return "".join(run(size, blocks, ns) for size, ns in whole_ns).encode()


@pytest.mark.parametrize("name", FILES)
def test_every_line_of_dd_is_understood(name: str) -> None:
    assert DD.sure(source("dd", name)) == 95
    assert read(DD, "dd", name).missed == []


def test_a_sweep_of_gnu_dd() -> None:
    boot = read(DD, "dd", "gnu.txt").boots[0]
    assert boot.clock.name == "none"
    speeds, fitted = boot.tables
    assert (speeds.title, fitted.title) == ("reads by block size", "as a board profile has it")
    assert speeds.columns == ("block bytes", "blocks", "partial blocks", "bytes", "ns", "bytes/s")
    assert speeds.rows == (
        (512, 64, 0, 32768, 7580330, 4322766),
        (1024, 64, 0, 65536, 9428860, 6950575),
        (4096, 64, 0, 262144, 8103150, 32350875),
        (16384, 64, 0, 1048576, 7190090, 145836282),
        (65536, 64, 0, 4194304, 14378700, 291702587),
        (262144, 64, 0, 16777216, 39892200, 420563819),
        (1048576, 64, 0, 67108864, 100684000, 666529577),
    )
    assert fitted.rows == (
        ("command_latency_ns", 115789),
        ("bandwidth_bytes_per_s", 661674928),
        ("largest deviation, %", "25.1"),
    )


def test_a_sweep_of_busybox_dd() -> None:
    speeds, fitted = read(DD, "dd", "busybox.txt").boots[0].tables
    assert speeds.rows == (
        (512, 64, 0, 32768, 6702000, 4889286),
        (1024, 64, 0, 65536, 6328000, 10356510),
        (4096, 64, 0, 262144, 6434000, 40743549),
        (16384, 64, 0, 1048576, 9058000, 115762419),
        (65536, 64, 0, 4194304, 12945000, 324009578),
        (262144, 64, 0, 16777216, 40457000, 414692537),
        (1048576, 64, 0, 67108864, 144388000, 464781449),
    )
    assert fitted.rows == (
        ("command_latency_ns", 97672),
        ("bandwidth_bytes_per_s", 508007114),
        ("largest deviation, %", "12.1"),
    )


def test_what_dd_does_not_say_stays_empty() -> None:
    (table,) = read(DD, "dd", "busybox-no-rate.txt").boots[0].tables
    assert table.rows == ((None, 64, 0, None, None, None),) * len(SIZES)
    # Of SIGINT, a block was read that was not written; the report of SIGUSR1 is like any other.
    (table,) = read(DD, "dd", "gnu-signals.txt").boots[0].tables
    assert table.rows == (
        (None, 916313, 0, 3753213952, 1300920000, 2885045930),
        (65536, 86837, 0, 5690949632, 505271000, 11263162999),
        (None, 4, 0, None, None, None),
    )


def test_a_block_size_is_known_only_if_no_other_fits() -> None:
    """1953 blocks of 511 or 513 bytes and a shorter one are never 1,000,100 bytes; 244 of 4,096 may be
    244 of 4,090 and a longer rest."""
    (table,) = read(DD, "dd", "gnu-partial.txt").boots[0].tables
    assert table.rows == (
        (512, 1953, 1, 1000100, 5985700, 167081544),
        (None, 244, 1, 1000100, 398093, 2512227042),
        (None, 15, 1, 1000100, 155420, 6434821773),
        (None, 0, 1, 1000100, 573661, 1743364112),
    )
    odd = b"3+0 records in\n3+0 records out\n1000 bytes (1.0 kB) copied, 0.5 s, 2.0 kB/s\n"
    assert rows(odd) == ((None, 3, 0, 1000, 500_000_000, 2000),)


def test_other_spellings() -> None:
    head = b"1+0 records in\n1+0 records out\n"
    assert rows(head + b"512 bytes copied, 3.2e-05 s, 16 MB/s\n")[0][3:] == (512, 32_000, 16_000_000)
    assert rows(head + b"512 bytes (512 B) copied, 0,00123 s, 0,4 MB/s\n")[0][4] == 1_230_000
    assert rows(head + b"512 bytes (512 B) copied, 0 s, Infinity B/s\n")[0][3:] == (512, 0, None)
    assert rows(head + b"1 byte (1 B) copied, 1 s, 0.0 kB/s\n")[0] == (1, 1, 0, 1, 1_000_000_000, 1)


def test_a_sweep_gives_back_what_it_was_made_of() -> None:
    _, fitted = tables(sweep(500_000, 11_300_000))
    values = {str(name): value for name, value in fitted.rows}
    assert values["command_latency_ns"] == pytest.approx(500_000, rel=0.01)
    assert values["bandwidth_bytes_per_s"] == pytest.approx(11_300_000, rel=0.01)
    assert values["largest deviation, %"] == "0.0"


@pytest.mark.parametrize(
    "data",
    [
        sweep(500_000, 11_300_000, sizes=(512, 4096, 512, 4096)),
        sweep(0, 11_300_000),
        # The same time for each size: there is no bandwidth in it.
        b"".join(run(size, 64, 32_000_000).encode() for size in SIZES),
        # Small blocks in less time than the bandwidth of the large ones allows: a command below 0.
        b"".join(run(size, 64, size * size).encode() for size in SIZES),
    ],
    ids=["two sizes", "no latency", "no bandwidth", "below zero"],
)
def test_nothing_is_fitted_to_a_sweep_that_does_not_tell(data: bytes) -> None:
    assert [table.title for table in tables(data)] == ["reads by block size"]


def test_dd_in_another_log_does_not_make_it_one_of_dd() -> None:
    console = b"".join(b"[    %d.000000] usb 1-1: new device number %d\n" % (n, n) for n in range(1, 60))
    log = console + source("dd", "gnu.txt").data[:200] + console
    assert DD.sure(Source("x", log)) < 10
    assert rank(opened("x", log, Budget()).source)[0].reader is not DD
    assert DD.sure(source("time", "gnu.txt")) == DD.sure(source("dmesg", "README.md")) == 0


def test_something_else_is_refused() -> None:
    with pytest.raises(UserError, match="line 1"):
        DD.read(Source("x", b"hello\n"), Options())


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_at_any_line_is_read(name: str) -> None:
    data = source("dd", name).data
    for end in range(len(data)):
        if end % 7 == 0 or data[end : end + 1] == b"\n":
            survives(DD, data[:end])


ALL = b"".join(source("dd", name).data for name in FILES)


@settings(max_examples=80, deadline=None)
@given(st.one_of(damaged(ALL), st.binary(max_size=200)))
def test_damage_is_survived(data: bytes) -> None:
    survives(DD, data)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(0, 10**18)), max_size=6))
def test_any_figures_are_survived(found: list[tuple[int, int, int]]) -> None:
    survives(DD, "".join(run(*figures) for figures in found).encode())

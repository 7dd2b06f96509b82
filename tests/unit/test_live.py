# SPDX-License-Identifier: Apache-2.0
"""Following a boot while it runs agrees with understanding it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.analysis.views import View, view
from bootscope.capture import stream
from bootscope.capture.store import Store
from bootscope.emulator.qemu import PoweredOff
from bootscope.emulator.recording import how_it_ended
from bootscope.loaders.registry import PHASES
from bootscope.timeline.build import timeline
from bootscope.timeline.live import Live
from tests.fixtures.stock_boot import unpack

from .builders import encode

ENDED_WELL = PoweredOff(status=0, timed_out=False, stalled=False, host_ns=1)


@pytest.fixture
def stock(tmp_path: Path) -> View:
    store = Store(tmp_path / "store")
    unpack(store)
    return view(store, store.find("last"))


def follow(stock: View, size: int | None = None) -> tuple[Live, list[tuple[int, str, bytes]]]:
    """Feeds the recorded stream in small pieces, up to `size` bytes."""
    lines: list[tuple[int, str, bytes]] = []
    live = Live(stock.run.info, lambda *line: lines.append(line))
    data = stream.body((stock.boot.path / "stream.bin").read_bytes())[:size]
    for at in range(0, len(data), 1000):
        live.feed(data[at : at + 1000])
    live.flush()
    return live, lines


def test_lines_times_and_phases_are_those_of_the_timeline(stock: View) -> None:
    live, lines = follow(stock)
    assert [text for _, _, text in lines] == [line.data for line in stock.timeline.lines]
    assert live.now_ns == stock.timeline.total_ns
    assert live.phase == "application"
    seen = list(dict.fromkeys(phase for _, phase, _ in lines))
    assert seen == [phase for phase in PHASES if phase in seen]
    assert {"spl", "bootloader", "load", "kernel", "init"} <= set(seen)


def test_phases_and_milestones_begin_when_the_timeline_says(stock: View) -> None:
    live, _ = follow(stock)
    assert live.milestones == stock.timeline.milestones
    assert live.starts == {phase.name: phase.start_ns for phase in stock.timeline.phases}
    half, _ = follow(stock, 300_000)
    reached = list(half.milestones.items())
    assert reached == list(live.milestones.items())[: len(reached)]
    assert 0 < len(reached) < len(live.milestones)


def test_the_first_light_is_reached_at_the_same_time_in_both(stock: View) -> None:
    run, records = stock.run.info, stream.read(stock.boot.path / "stream.bin")
    at = next(index for index, record in enumerate(records) if isinstance(record, stream.Frame))
    records.insert(at, stream.Light(records[at].time_ns, 1, 0, 0xC0101238))
    live = Live(run, lambda *line: None)
    live.feed(encode(records))
    found = timeline(stock.boot.info.boot_id, records, run).milestones
    assert live.milestones == found
    assert found.pop("first-light") < found["first-frame"]
    assert found == stock.timeline.milestones


def test_how_it_ended_is_told_from_the_stream_first(stock: View, tmp_path: Path) -> None:
    log = tmp_path / "qemu.log"
    log.write_bytes(b"")
    live, _ = follow(stock)
    assert how_it_ended(live, stock.run.info, ENDED_WELL, log)[0] == "milestone"
    half, _ = follow(stock, 300_000)
    for off, wanted in (
        (PoweredOff(0, timed_out=True, stalled=False, host_ns=1), "timeout"),
        (PoweredOff(-9, timed_out=False, stalled=True, host_ns=1), "hang"),
        (PoweredOff(-11, timed_out=False, stalled=False, host_ns=1), "died"),
    ):
        assert how_it_ended(half, stock.run.info, off, log)[0] == wanted


def test_the_last_words_of_qemu_are_made_safe_and_ours_come_first(stock: View, tmp_path: Path) -> None:
    log = tmp_path / "qemu.log"
    log.write_bytes(b"bootscope plugin: no \x1b[31mroom\nqemu: could not load\n")
    half, _ = follow(stock, 300_000)
    _, message = how_it_ended(half, stock.run.info, PoweredOff(1, False, False, 1), log)
    assert message.endswith("bootscope plugin: no \\x1b[31mroom")


def test_a_board_that_resets_itself_is_quoted(stock: View, tmp_path: Path) -> None:
    log = tmp_path / "qemu.log"
    log.write_bytes(b"qemu-system-arm: warning: nic allwinner-emac.0 has no peer\n")
    half, lines = follow(stock, 300_000)
    _, message = how_it_ended(half, stock.run.info, PoweredOff(0, False, False, 1), log)
    last = [text.decode().strip() for _, _, text in lines if text.strip()][-3:]
    assert message.startswith("the board reset itself, or switched itself off, at ")
    assert message.endswith(f"; its last words: {' / '.join(last)}")
    log.write_bytes(b"qemu-system-arm: terminating on signal 15 from pid 7 (kill)\n")
    _, message = how_it_ended(half, stock.run.info, PoweredOff(0, False, False, 1), log)
    assert message.startswith("QEMU ended by itself (status 0) at ")
    assert "terminating on signal 15" in message

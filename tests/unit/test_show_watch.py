# SPDX-License-Identifier: Apache-2.0
"""`bootscope show --watch` follows a run while another process records it."""

from __future__ import annotations

import argparse
import io
import json
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from rich.console import Console

from bootscope.analysis.views import View, view
from bootscope.capture import record, stream
from bootscope.capture.measured import TAP
from bootscope.capture.store import Store
from bootscope.cli.watch import watch
from bootscope.report.watched import Drawn
from bootscope.runs.watching import Progress, Watcher, recording_now
from tests.fixtures.stock_boot import unpack

from .conftest import Command
from .real_boards import capture, keep_measured
from .test_cli import assert_refused

pytestmark = pytest.mark.long

RUN = "20261124-120000-stock"


@pytest.fixture
def stock(tmp_path: Path) -> View:
    store = Store(tmp_path / "elsewhere")
    unpack(store)
    return view(store, store.find("last"))


def recorded(store: Store, stock: View, boots: int = 1) -> Generator[None]:
    """Records the boot anew, step by step, as a recorder writes it; each step leaves more of it."""
    (store.runs / RUN).mkdir()
    with store.recording(RUN) as path:
        run = json.loads((stock.run.path / record.RUN).read_text())
        (path / record.RUN).write_text(json.dumps({**run, "run_id": RUN}))
        yield
        whole = (stock.boot.path / record.STREAM).read_bytes()
        header, body = whole[: stream.HEADER_BYTES], stream.body(whole)
        for number in range(1, boots + 1):
            folder = path / "boots" / f"{number:03}"
            folder.mkdir()
            yield
            for size in (len(body) // 4, len(body) // 2, len(body)):
                # The header counts the bytes that are whole; what follows them is there, but not yet valid.
                committed = header[:16] + size.to_bytes(8, "little") + header[24:]
                (folder / record.STREAM).write_bytes(committed + body)
                yield
            shutil.copy(stock.boot.path / record.BOOT, folder / record.BOOT)
    yield


def followed(
    store: Store, stock: View, capsys: pytest.CaptureFixture[str], boots: int = 1, **more: object
) -> str:
    """What is printed by one who watches a recording from its beginning."""
    steps = recorded(store, stock, boots)
    next(steps)
    nothing = dict.fromkeys(("run", "boot", "board", "view", "phase", "to", "top", "sort"))
    args = argparse.Namespace(**{**nothing, "json": False, **more})
    assert watch(store, args, lambda: next(steps)) == 0
    return capsys.readouterr().out


def test_phases_and_milestones_are_told_as_they_are_reached(
    store: Store, stock: View, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = followed(store, stock, capsys, boots=2).splitlines()
    for name, ns in stock.timeline.milestones.items():
        assert f"boot 1  {ns / 1e9:>9.3f} s  milestone {name}" in lines
        assert f"boot 2  {ns / 1e9:>9.3f} s  milestone {name}" in lines
    phases = [line.split()[-1] for line in lines if line.startswith("boot 1 ") and " phase " in line]
    assert phases == [phase.name for phase in stock.timeline.phases]
    assert lines.index("boot 1: first-frame at 10.629 s") < lines.index(
        next(x for x in lines if "boot 2" in x)
    )
    assert lines[-1] == f"recording ended: 2 of 2 boots completed; bootscope show {RUN}"
    assert len(lines) == len(set(lines))


def test_in_json_each_change_is_a_document_in_a_line(
    store: Store, stock: View, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [json.loads(line) for line in followed(store, stock, capsys, json=True).splitlines()]
    assert {(each["kind"], each["run_id"], each["boot"]) for each in documents} == {("watch", RUN, 1)}
    counts = [len(each["phases"]) for each in documents]
    assert counts == sorted(counts)
    assert documents[0]["ended"] is None
    assert documents[-1]["ended"] == "first-frame at 10.629 s"
    assert documents[-1]["milestones"] == stock.timeline.milestones


def test_on_a_terminal_it_is_one_table_that_grows(store: Store, stock: View) -> None:
    steps, out = recorded(store, stock), io.StringIO()
    next(steps)
    watcher = Watcher(store, recording_now(store, None))
    with Drawn(Console(file=out, width=80, color_system=None, force_terminal=True)) as drawn:
        for _ in steps:
            for progress in watcher.look():
                drawn.tell(progress)
    assert watcher.over
    drawn_anew = out.getvalue().split("\x1b[2K")
    assert len(drawn_anew) > 3
    assert "boot 1, being recorded" in drawn_anew[0]
    last = out.getvalue().splitlines()
    assert any("first-frame 10.629" in line for line in last)
    assert any("boot 1: first-frame at 10.629 s" in line for line in last)


def test_a_boot_of_a_real_board_is_followed_by_its_console(store: Store) -> None:
    lines = (
        "U-Boot SPL 2025.01 (Jan 01 2025 - 00:00:00 +0000)",
        "U-Boot 2025.01 (Jan 01 2025 - 00:00:00 +0000)",
        "DRAM:  1 GiB",
        "[    0.000000] Booting Linux on physical CPU 0x0",
        "desk login: ",
    )
    text = "\r\n".join(lines).encode()
    heard = [(at * 10_000_000, byte) for at, byte in enumerate(text)]
    run_id = keep_measured(store, [heard])
    with store.recording(run_id) as path:
        folder = path / "boots/001"
        ended = (folder / record.BOOT).read_text()
        (folder / record.BOOT).unlink()
        watcher = Watcher(store, run_id)
        seen: list[Progress] = []
        for size, reached in ((0, set()), (120, {"bootloader"}), (len(heard), {"login"})):
            (folder / TAP).write_bytes(capture(heard[:size]))
            found = list(watcher.look())
            while not reached <= set(found[-1].milestones):  # reading again has pauses
                found = list(watcher.look())
            seen += found
        (folder / record.BOOT).write_text(ended)
    seen += watcher.look()
    assert [list(progress.milestones) for progress in seen[:2]] == [[], ["bootloader"]]
    assert list(seen[2].milestones)[:1] == ["bootloader"]
    assert "login" in seen[2].milestones
    assert [progress.ended for progress in seen] == ["", "", "", "ended by milestone"]


def test_a_recorder_that_is_killed_ends_it(store: Store, stock: View) -> None:
    steps = recorded(store, stock)
    for _ in range(4):
        next(steps)
    watcher = Watcher(store, RUN)
    assert [progress.ended for progress in watcher.look()] == [""]
    steps.close()
    assert [progress.ended for progress in watcher.look()] == ["the recorder was killed"]
    assert watcher.over


def test_where_nothing_is_recorded_it_says_so_and_of_finished_runs_it_shows_nothing(
    store: Store, main_here: Command
) -> None:
    unpack(store)
    assert_refused(main_here("show", "--watch"), "no run is being recorded", "bootscope record")
    assert_refused(main_here("show", "stock", "--watch"), "no run called 'stock' is being recorded")
    for words in (["--view", "console"], ["--boot", "1"], ["--top", "3"]):
        assert_refused(main_here("show", "--watch", *words), f"{words[0]} is about finished runs")

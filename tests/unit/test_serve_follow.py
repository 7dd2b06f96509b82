# SPDX-License-Identifier: Apache-2.0
"""Following recordings and searches of other processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import StreamingResponse

from bootscope.analysis.views import view
from bootscope.capture import record
from bootscope.capture.store import Store
from bootscope.runs.growing import Emulated
from bootscope.search.journal import Journal
from bootscope.search.outcome import Outcome
from bootscope.serve.events import MOST, Events
from bootscope.serve.follow import MOST_LINES, Follower
from bootscope.serve.searches import SearchFollower
from tests.fixtures.measured_runs import LINES, Recorder
from tests.fixtures.stock_boot import unpack

from .builders import environment
from .served import waited


@pytest.fixture
def recorder(store: Store) -> Iterator[Recorder]:
    made = Recorder(store)
    yield made
    made.ends()


def told(follower: Follower, until_lines: int) -> dict[str, Any]:
    """What is told once there are so many lines: reading again has pauses. `lines` are those that are new."""
    lines: list[Any] = []
    while True:
        found = follower.look()
        lines += found["lines"]
        if found["total"] >= until_lines:
            return {**found, "lines": lines}


def test_a_board_is_followed_line_by_line(store: Store, recorder: Recorder) -> None:
    follower = Follower(store, recorder.run_id)
    first = follower.look()
    assert first["boot"] == 1
    assert first["fresh"]
    assert first["lines"] == []
    assert not first["over"]
    recorder.says(*LINES[:2])
    found = told(follower, 2)
    assert [text for _, _, text in found["lines"]] == [line.decode() for line in LINES[:2]]
    assert [name for name, _ in found["milestones"]] == ["spl", "bootloader"]
    recorder.says(*LINES[2:])
    found = told(follower, len(LINES))
    assert found["milestones"][-1][0] == "login"
    assert found["phases"][-1][0] == "application"
    recorder.ends()
    last = follower.look()
    assert last["over"]
    assert last["ended"] == ["boot 1: login at 3.000 s"]


def test_only_what_is_new_is_told(store: Store, recorder: Recorder) -> None:
    follower = Follower(store, recorder.run_id)
    recorder.says(*LINES)
    told(follower, len(LINES))
    assert follower.look()["lines"] == []
    recorder.says(b"one more")
    found = follower.look()
    while not found["lines"]:
        found = follower.look()
    assert found["total"] == len(LINES) + 1
    assert found["from"] >= len(LINES) - 1


def test_hostile_lines_are_inert_and_short(store: Store, recorder: Recorder) -> None:
    recorder.says(*LINES[:1], b"\x1b[2J<script>\xff\xe2\x80\xae\x00", b"x" * 200_000)
    text = str(told(Follower(store, recorder.run_id), 3)["lines"])
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x00" not in text
    assert len(text) < 3000


def test_of_a_long_log_the_newest_lines_are_told(store: Store, recorder: Recorder) -> None:
    recorder.says(*(b"line %d" % number for number in range(MOST_LINES + 50)))
    found = Follower(store, recorder.run_id).look()
    assert found["total"] == MOST_LINES + 50
    assert len(found["lines"]) == MOST_LINES
    assert found["from"] == 50


def test_a_run_that_is_deleted_meanwhile_is_gone(store: Store, recorder: Recorder) -> None:
    follower = Follower(store, recorder.run_id)
    follower.look()
    recorder.ends()
    store.remove(recorder.run_id)
    assert follower.look() == {"gone": True, "over": True}


def test_a_damaged_capture_is_told(store: Store, recorder: Recorder) -> None:
    (store.runs / recorder.run_id / "boots" / "001" / "console.tap").write_bytes(b"something else entirely")
    assert "has no known format" in Follower(store, recorder.run_id).look()["trouble"]


def test_a_boot_of_the_emulator_is_followed_as_its_stream_grows(store: Store) -> None:
    run_id = unpack(store)
    whole = view(store, store.find(run_id))
    expected = whole.timeline
    path = whole.boot.path / record.STREAM
    data = path.read_bytes()
    watched = Emulated(whole.run.info, whole.boot.path)
    path.write_bytes(data[:16] + (100_000).to_bytes(8, "little") + data[24:])
    some = watched.look()
    assert 0 < len(some.lines) < len(expected.lines)
    path.write_bytes(data)
    found = watched.look()
    assert len(found.lines) == len(expected.lines)
    assert dict(found.milestones).keys() == expected.milestones.keys()
    assert [name for name, _, _ in found.phases] == [phase.name for phase in expected.phases]
    assert found.now_ns == expected.total_ns


# ---- searches ----


def outcome(key: str, ns: int, *what: str) -> Outcome:
    return Outcome(key=key, what=what, run_id=f"run-{key}", ended="milestone", message="login", reached=True,
                   until="login", total_ns=ns)  # fmt: skip


def test_a_search_is_followed(tmp_path: Path) -> None:
    journal, follower = Journal(tmp_path, "stock"), SearchFollower(tmp_path, "stock")
    assert follower.look() == {"gone": True, "over": True}
    journal.begin({"keep": ["modules"]})
    journal.add(outcome("a", 10_000_000_000))
    found = follower.look()
    assert found["fresh"]
    assert found["options"] == ["keep: ['modules']"]
    assert [(row.what, row.time, row.change) for row in found["rows"]] == [
        ("without changes", "10.000 s", "")
    ]
    journal.add(outcome("b", 9_000_000_000, "quiet"))
    journal.add(Outcome(key="c", what=("<b>",), message="no\x1b space"))
    found = follower.look()
    assert not found["fresh"]
    assert [(row.what, row.change, row.run_id) for row in found["rows"]] == [
        ("quiet", "-1.000 s", "run-b"),
        ("<b>", "", ""),
    ]
    assert "\x1b" not in found["rows"][1].how
    assert follower.look()["rows"] == []
    assert follower.look()["best"] == "9.000 s (-1.000 s, -10.0 %): quiet"
    assert follower.look()["alive"] is True
    journal.end("the budget is used up")
    assert follower.look()["ended"] == "the budget is used up"
    assert follower.look()["alive"] is False


def test_a_search_that_was_killed_is_told_from_one_that_runs(tmp_path: Path) -> None:
    follower = SearchFollower(tmp_path, "stock")
    script = (
        "import sys, time; from pathlib import Path; from bootscope.search.journal import Journal;"
        "journal = Journal(Path(sys.argv[1]), 'stock'); journal.begin({});"
        "print('begun', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as searching:
        assert searching.stdout
        searching.stdout.readline()
        assert (follower.look()["alive"], follower.look()["ended"]) == (True, "")
        searching.kill()
    assert (follower.look()["alive"], follower.look()["ended"]) == (False, "")
    (tmp_path / "searches" / "stock.running").unlink()
    assert follower.look()["alive"] is None


def test_a_new_search_of_the_same_system_begins_anew(tmp_path: Path) -> None:
    journal, follower = Journal(tmp_path, "stock"), SearchFollower(tmp_path, "stock")
    journal.begin({})
    journal.add(outcome("a", 10))
    journal.end("done")
    follower.look()
    journal.begin({})
    found = follower.look()
    assert found["fresh"]
    assert found["rows"] == []
    assert found["ended"] == ""


def test_a_line_that_is_half_written_waits_for_its_end(tmp_path: Path) -> None:
    journal, follower = Journal(tmp_path, "stock"), SearchFollower(tmp_path, "stock")
    journal.begin({})
    journal.add(outcome("a", 10))
    data = journal.path.read_bytes()
    journal.path.write_bytes(data[:-20])
    assert follower.look()["rows"] == []
    journal.path.write_bytes(data)
    assert [row.key for row in follower.look()["rows"]] == ["a"]


# ---- events ----


def test_a_stream_ends_with_what_it_follows() -> None:
    looks = iter([{"n": 1}, {"n": 1}, {"n": 2, "over": True}])
    response = Events(lambda: False).stream(lambda: next(looks))
    assert isinstance(response, StreamingResponse)
    assert waited(chunks(response)) == ['data: {"n":1}\n\n', 'data: {"n":2,"over":true}\n\n']


def test_a_stream_ends_when_the_server_does() -> None:
    response = Events(lambda: True).stream(dict)
    assert isinstance(response, StreamingResponse)
    assert waited(chunks(response)) == []


async def chunks(response: StreamingResponse) -> list[str]:
    return [str(chunk) async for chunk in response.body_iterator]


def test_only_so_many_pages_are_followed_at_a_time() -> None:
    async def full() -> int:
        events = Events(lambda: False)
        open_streams = []
        for _ in range(MOST):
            response = events.stream(dict)
            assert isinstance(response, StreamingResponse)
            stream = aiter(response.body_iterator)
            await anext(stream)
            open_streams.append(stream)
        return events.stream(dict).status_code

    assert waited(full()) == 503


def test_the_last_look_sees_all(store: Store, recorder: Recorder) -> None:
    """However soon after the one before it comes: reading a long capture again has pauses."""
    follower = Follower(store, recorder.run_id)
    recorder.says(*LINES[:2])
    lines = told(follower, 2)["lines"]
    recorder.says(*LINES[2:])
    recorder.ends()
    last = follower.look()
    assert last["over"]
    assert len(lines) + len(last["lines"]) >= last["total"] == len(LINES)

# SPDX-License-Identifier: Apache-2.0
"""The store: loses nothing, finds everything, and says what is damaged."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from bootscope.capture import record
from bootscope.capture.store import Store
from bootscope.capture.stream import Sample
from bootscope.core.errors import UserError

from .builders import boot_info, environment, keep_run, python, stream_file

NOON = datetime(2026, 11, 21, 12, 0, 0)


# ---- run ids ----


def test_runs_of_the_same_second_have_ids_of_their_own(store: Store) -> None:
    ids = [store.new_run_id("stock", NOON) for _ in range(12)]
    assert ids[:3] == ["20261121-120000-stock", "20261121-120000-stock-2", "20261121-120000-stock-3"]
    assert len(set(ids)) == 12


def test_runs_are_listed_in_the_order_in_which_they_were_made(store: Store) -> None:
    ids = [keep_run(store) for _ in range(12)]
    assert store.run_ids() == ids
    assert store.find("last").info.run_id == ids[-1]


# ---- finding ----


def test_a_run_is_found_by_its_id_a_beginning_a_part_and_as_the_last(store: Store) -> None:
    first, second = keep_run(store, system="stock", day=20), keep_run(store, system="small", day=21)
    for name, expected in [
        (first, first),
        ("20261120", first),
        ("stock", first),
        ("small", second),
        ("last", second),
        (None, second),
    ]:
        assert store.find(name).path.name == expected


def test_a_whole_id_goes_before_the_longer_ids_that_begin_with_it(store: Store) -> None:
    first = keep_run(store)
    keep_run(store)
    assert store.find(first).path.name == first


def test_a_name_that_fits_several_runs_lists_them(store: Store) -> None:
    ids = [keep_run(store, day=day) for day in (20, 21)]
    with pytest.raises(UserError, match="'2026112' matches 2 runs") as caught:
        store.find("2026112")
    assert caught.value.hint == ", ".join(ids)


def test_an_unknown_name_lists_those_there_are_and_is_made_harmless(store: Store) -> None:
    run_id = keep_run(store)
    with pytest.raises(UserError) as caught:
        store.find("no\x1b[31m")
    assert caught.value.message == "unknown run 'no\\x1b[31m'"
    assert caught.value.hint == f"the newest are: {run_id} (bootscope list)"


def test_an_empty_name_is_no_run(store: Store) -> None:
    """As in: bootscope rm "$UNSET"."""
    keep_run(store)
    with pytest.raises(UserError):
        store.find("")


def test_an_empty_store_says_how_to_begin(store: Store) -> None:
    with pytest.raises(UserError, match="no boot has been recorded") as caught:
        store.find("last")
    assert caught.value.hint == "bootscope record debian"


# ---- recordings that were cut off ----

RECORDER = """
import sys
from pathlib import Path
from bootscope.capture import record
from bootscope.capture.store import Store
from bootscope.capture.stream import Sample
from datetime import datetime
from tests.unit.builders import boot_info, run_info, stream_file
store = Store(Path(sys.argv[1]))
run_id = store.new_run_id("test", datetime.now())
with store.recording(run_id) as path:
    record.write_json(path / "run.json", run_info(run_id))
    for number in (1, 2):
        folder = path / "boots" / f"{number:03}"
        folder.mkdir()
        (folder / "stream.bin").write_bytes(stream_file([Sample(1, number)], spare=1000))
    record.write_json(path / "boots" / "001" / "boot.json", boot_info(run_id))
    print(run_id, flush=True)
    sys.stdin.read()
"""


def start_recorder(store: Store) -> subprocess.Popen[str]:
    return subprocess.Popen(
        python(RECORDER, store.root),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_boot_whose_recorder_was_killed_becomes_partial(store: Store) -> None:
    with start_recorder(store) as recorder:
        assert recorder.stdout
        run_id = recorder.stdout.readline().strip()
        while_recording = store.load(run_id)
        assert [boot.info.number for boot in while_recording.boots] == [1]
        assert store.summaries()[0].ended == "recording"
        recorder.kill()
    complete, partial = store.load(run_id).boots
    assert (complete.info.ended, partial.info.ended) == ("milestone", "partial")
    assert (partial.info.boot_id, partial.info.number) == (f"{run_id}/002", 2)
    data = stream_file([Sample(1, 2)])
    assert (partial.path / record.STREAM).read_bytes() == data
    assert partial.info.stream_sha256 == hashlib.sha256(data).hexdigest()
    assert partial.records() == [Sample(1, 2)]
    assert store.load(run_id).boots[1] == partial
    assert (store.summaries()[0].ended, store.summaries()[0].complete) == ("partial", 1)


def test_a_boot_that_was_killed_before_its_stream_began_is_partial_and_empty(store: Store) -> None:
    run_id = keep_run(store, boots=0)
    (store.runs / run_id / "boots" / "001").mkdir(parents=True)
    (boot,) = store.load(run_id).boots
    assert (boot.info.ended, boot.info.stream_sha256, boot.records()) == ("partial", "", [])


def test_a_boot_that_ends_while_we_look_stays_what_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder ends its work after we missed boot.json and before we try its lock."""
    run_id = keep_run(store, boots=0)
    folder = store.runs / run_id / "boots" / "001"
    folder.mkdir()

    def ends_just_now(_path: Path) -> bool:
        record.write_json(folder / record.BOOT, boot_info(run_id))
        return False

    monkeypatch.setattr(store, "is_recording", ends_just_now)
    assert [boot.info.ended for boot in store.load(run_id).boots] == ["milestone"]


def test_a_run_that_is_being_recorded_cannot_be_removed(store: Store) -> None:
    run_id = keep_run(store)
    with store.recording(run_id), pytest.raises(UserError, match="is being recorded"):
        store.remove(run_id)
    store.remove(run_id)


def test_a_folder_without_a_description_is_no_run(store: Store) -> None:
    store.new_run_id("stock", NOON)
    assert store.run_ids() == []
    assert store.summaries() == []


# ---- the index ----


def test_a_run_is_listed_with_what_it_was(store: Store) -> None:
    run_id = keep_run(store, boots=3)
    (summary,) = store.summaries()
    assert (summary.run_id, summary.system, summary.board) == (run_id, "test", "cubieboard")
    assert (summary.until, summary.boots, summary.complete, summary.ended) == ("app-ready", 3, 3, "milestone")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def overwrite(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xa5" * (len(data) - 100))


def other_columns(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE runs (run_id TEXT PRIMARY KEY, colour TEXT)")
        db.execute("INSERT INTO runs VALUES ('20261121-120000-test', 'red')")
    db.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "no database": lambda path: path.write_bytes(b"not a database" * 1000),
    "empty": lambda path: path.write_bytes(b""),
    "cut off": cut,
    "overwritten": overwrite,
    "other columns": other_columns,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_made_again(store: Store, damage: str) -> None:
    ids = [keep_run(store, day=day) for day in (20, 21)]
    expected = store.summaries()
    DAMAGE[damage](store.root / "index.sqlite")
    assert store.summaries() == expected
    store.remove(ids[0])
    assert store.summaries() == expected[1:]


def test_runs_that_came_or_went_behind_its_back_are_noticed(store: Store, tmp_path: Path) -> None:
    ids = [keep_run(store, day=day) for day in (19, 20, 21)]
    store.summaries()
    shutil.move(store.runs / ids[1], tmp_path / "away")
    assert [summary.run_id for summary in store.summaries()] == [ids[0], ids[2]]
    shutil.move(tmp_path / "away", store.runs / ids[1])
    assert [summary.run_id for summary in store.summaries()] == ids


def test_a_removed_run_is_gone_from_disk_and_list(store: Store) -> None:
    run_id = keep_run(store)
    store.summaries()
    store.remove(run_id)
    assert store.summaries() == []
    assert sorted(path.name for path in store.root.iterdir()) == ["index.sqlite", "objects", "runs"]

# SPDX-License-Identifier: Apache-2.0
"""Files of the store: objects and descriptions, whole or said to be damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bootscope.capture import objects, record
from bootscope.capture.packing import gunzipped
from bootscope.capture.store import Store
from bootscope.core.errors import ToolError, UserError

from .builders import boot_info, keep_run, run_info

# ---- objects ----


def test_an_object_comes_back_by_its_hash_and_is_kept_once(store: Store) -> None:
    data = b"c0008000 T stext\n" * 1000
    name = store.keep_object(data)
    assert store.keep_object(data) == name
    assert store.object(name) == data
    (path,) = (store.root / "objects").iterdir()
    assert path.stat().st_size < len(data)


def test_an_empty_object_is_an_object(store: Store) -> None:
    assert store.object(store.keep_object(b"")) == b""


@pytest.mark.parametrize(
    "damage",
    [b"", b"no gzip", gzip.compress(b"other", mtime=0), gzip.compress(b"table", mtime=0)[:-9]],
    ids=["empty", "no gzip", "other contents", "cut off"],
)
def test_a_damaged_object_is_noticed(store: Store, damage: bytes) -> None:
    name = store.keep_object(b"table")
    (store.root / "objects" / f"{name}.gz").write_bytes(damage)
    with pytest.raises(ToolError, match=name[:12]):
        store.object(name)


def test_an_object_with_a_damaged_byte_is_noticed(store: Store) -> None:
    name = store.keep_object(b"a table of symbols" * 20)
    path = store.root / "objects" / f"{name}.gz"
    whole = path.read_bytes()
    for at in range(10, len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with pytest.raises(ToolError):
            store.object(name)


def test_an_object_that_is_gone_is_noticed(store: Store) -> None:
    with pytest.raises(ToolError, match="the store lacks object 0000"):
        store.object("0" * 64)


def test_what_unpacks_to_too_much_is_damaged() -> None:
    bomb = gzip.compress(bytes(2 << 20))
    assert objects.unpacked(bomb) == bytes(2 << 20)
    for data in (bomb, bomb[:-9], b"\x1f\x8bno gzip", gzip.compress(b"x") + b"more"):
        with pytest.raises(ToolError, match="is damaged, or unpacks to more than 1 MB"):
            objects.unpacked(data, 1 << 20)
    assert gunzipped(bomb, 2 << 20) == bytes(2 << 20)
    assert gunzipped(bomb, (2 << 20) - 1) is None
    assert gunzipped(gzip.compress(b""), 0) == b""


# ---- descriptions ----


def test_a_description_comes_back_as_it_was_written(tmp_path: Path) -> None:
    record.write_json(tmp_path / "run.json", run_info())
    assert record.read_json(tmp_path / "run.json", record.RunInfo) == run_info()
    record.write_json(tmp_path / "boot.json", boot_info("x"))
    assert record.read_json(tmp_path / "boot.json", record.BootInfo) == boot_info("x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["boot.json", "run.json"]


def test_a_description_of_a_newer_schema_is_refused_by_number(store: Store) -> None:
    run_id = keep_run(store)
    newer = run_info(run_id, schema=record.SCHEMA + 1)
    record.write_json(store.runs / run_id / "run.json", newer)
    with pytest.raises(UserError, match=r"run\.json has schema 2, newer than this bootscope reads \(1\)"):
        store.load(run_id)


DAMAGED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"7",
    b"{}",
    b'{"schema": 1}',
    b'{"schema": "1"}',
    b'{"schema": null}',
    b"\xff\xfe",
]


@pytest.mark.parametrize("data", DAMAGED, ids=repr)
def test_a_damaged_description_is_said_to_be(store: Store, data: bytes) -> None:
    run_id = keep_run(store)
    for name in ("run.json", "boots/001/boot.json"):
        path = store.runs / run_id / name
        whole = path.read_bytes()
        path.write_bytes(data)
        with pytest.raises(UserError) as caught:
            store.load(run_id)
        assert str(path) in caught.value.message
        path.write_bytes(whole)
    assert store.load(run_id).boots


def test_fields_of_the_future_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "boot.json"
    record.write_json(path, boot_info("x"))
    path.write_text(path.read_text().replace("{", '{"colour": "red",', 1))
    assert record.read_json(path, record.BootInfo) == boot_info("x")


def test_only_a_boot_that_reached_its_milestone_is_complete() -> None:
    endings = ("milestone", "panic", "hang", "limit", "timeout", "interrupted", "died", "partial")
    assert [ended for ended in endings if boot_info("x", 1, ended).complete] == ["milestone"]


def test_a_store_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match="cannot use the store") as caught:
        Store(tmp_path / "file")
    assert "BOOTSCOPE_STORE=FOLDER" in str(caught.value.hint)


def test_one_damaged_run_does_not_hide_the_others(store: Store) -> None:
    good, bad = keep_run(store, day=20), keep_run(store, day=21)
    (store.runs / bad / "run.json").write_text("{")
    assert good in [summary.run_id for summary in store.summaries()]
    assert store.find(good).info.run_id == good

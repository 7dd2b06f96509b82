# SPDX-License-Identifier: Apache-2.0
"""`trim` as a user meets it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from bootscope.changes.change_files import write_change
from bootscope.cli import trim as verb
from bootscope.trim.search import Trim

from .conftest import Command
from .test_lab_cli import refused
from .trim_scenes import trimming


@pytest.fixture
def trimmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trim:
    made, _, _ = trimming(tmp_path, monkeypatch, {"PINS": "panic"}, "IIO", quiet=True)
    made.run()
    return made


def text(trim: Trim, everything: bool = False) -> str:
    out = io.StringIO()
    verb.show(Console(file=out, width=200, highlight=False, color_system=None), trim, everything)
    return out.getvalue()


def test_the_end_says_what_went_what_stays_and_what_came_of_it(trimmed: Trim) -> None:
    said = text(trimmed)
    assert "code that never ran, or only at the start" in said
    assert "kernel/zImage: 2.1 kB -> " in said
    assert "times smaller" in said
    assert "times shorter" in said
    assert "undefined reference to `iio_init'" in said
    assert "messages on the console: quiet" in said
    runs = trimmed.base.run.info.run_id, trimmed.state.current.run.info.run_id
    assert said.rstrip().endswith(f"nothing is left to try; recordings: {runs[0]}, {runs[1]}")


def test_a_long_list_of_what_stays_is_cut(trimmed: Trim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "MOST_STAYS", 2)
    stays = trimmed.trees["kernel"].stays
    assert f"... and {len(stays) - 2} more (--all)" in text(trimmed)
    assert all(f"kernel {name}" in text(trimmed, everything=True) for name in stays)


def test_the_same_as_json(trimmed: Trim) -> None:
    found = verb.as_json(trimmed)
    assert found["base"] == trimmed.base.run.info.run_id
    assert found["attempts"] == trimmed.state.attempts > 2
    images = found["images"]
    assert isinstance(images, dict)
    assert images["kernel"]["after_bytes"] < images["kernel"]["before_bytes"] == 2100
    trees = found["trees"]
    assert isinstance(trees, dict)
    assert trees["kernel"]["unknown"] == ["LONG_GONE"]
    assert "USB" in trees["kernel"]["off"]
    assert "panic" in trees["kernel"]["stays"]["PINS"]["reason"]
    groups = found["groups"]
    assert isinstance(groups, list)
    assert [set(g) for g in groups] == [set(groups[0])] * len(groups)


def test_what_was_found_is_written_as_files(trimmed: Trim, tmp_path: Path) -> None:
    stays = verb.stays_text(trimmed)
    names = write_change(
        tmp_path / "out", trimmed.state.system(), trimmed.state.change(), {"stays.txt": stays}
    )
    assert names == ["command-line-words.txt", "command-line.txt", "kernel.config", "stays.txt"]
    fragment = (tmp_path / "out" / "kernel.config").read_text().splitlines()
    assert "# CONFIG_USB is not set" in fragment
    assert "CONFIG_PINS" not in "".join(fragment)
    assert (tmp_path / "out" / "command-line.txt").read_text().endswith(" quiet\n")
    assert any(line.startswith("kernel PINS: ") for line in stays.splitlines())


def test_the_evidence_is_a_table(trimmed: Trim) -> None:
    head, *rows = verb.evidence_text(trimmed).splitlines()
    table = {row.split(",")[1]: dict(zip(head.split(","), row.split(","), strict=True)) for row in rows}
    assert table["NET"]["start_ns"] == "10"  # 5 instructions of 2 ns
    assert (table["NET"]["programs_ns"], table["NET"]["goes_with_it"]) == ("10", "0")
    assert table["TIMERS"]["application_ns"] == "10"
    assert table["USB"]["bytes"] == "8192"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stock", "--only", "kernle"), "unknown part 'kernle'"),
        (("stock", "--budget", "soon"), "'soon' is not a duration"),
        (("no-such-system",), "unknown system 'no-such-system'"),
    ],
)
def test_what_cannot_be_is_said_at_once(main_here: Command, arguments: tuple[str, ...], message: str) -> None:
    refused(main_here("trim", *arguments), message)


def test_a_folder_that_is_there_is_not_written_to(main_here: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(main_here("trim", "stock", "-o", str(tmp_path)), f"{tmp_path} already exists")

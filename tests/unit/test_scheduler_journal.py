# SPDX-License-Identifier: Apache-2.0
"""The journal of a search: what is written is read again, and what cannot be read is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.core.errors import ToolError
from bootscope.search.journal import Journal
from bootscope.search.outcome import Outcome


def outcome(key: str, **fields: object) -> Outcome:
    return Outcome(key=key, what=("t0",), **fields)  # type: ignore[arg-type]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "stock")
    made = outcome("k", message="no", log="/x", symbols=("A",), phases={"rom": 1}, host_ms=5)
    journal.add(made)
    journal.begin({"goal": 1.0, "only": ["a"]})
    journal.end("enough")
    again = Journal(tmp_path, "stock")
    assert again.outcome("k") == (made, True)
    assert again.outcome("none") is None
    assert again.options == {"goal": 1.0, "only": ["a"]}
    assert Journal(tmp_path, "other").outcome("k") is None


@pytest.mark.parametrize("rubbish", [b"", b"{", b"null\n", b"\xff\xfe\n", b'{"kind":"outcome"}\n', b"\n\n"])
def test_what_cannot_be_read_is_passed_over(tmp_path: Path, rubbish: bytes) -> None:
    Journal(tmp_path, "stock").add(outcome("a"))
    path = tmp_path / "searches" / "stock.jsonl"
    path.write_bytes(path.read_bytes() + rubbish)
    Journal(tmp_path, "stock").add(outcome("b"))
    found = Journal(tmp_path, "stock")
    assert found.outcome("a") == (outcome("a"), True)
    assert found.outcome("b") == (outcome("b"), True)


def test_a_newer_journal_is_left_to_newer_programs(tmp_path: Path) -> None:
    Journal(tmp_path, "stock").add(outcome("a"))
    path = tmp_path / "searches" / "stock.jsonl"
    path.write_text(path.read_text().replace('"at":', '"schema":2,"at":'))
    assert Journal(tmp_path, "stock").outcome("a") is None


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "searches").write_text("")
    with pytest.raises(ToolError, match=r"cannot .*searches"):
        Journal(tmp_path, "stock").add(outcome("a"))

# SPDX-License-Identifier: Apache-2.0
"""What `make fuzz` found once must never break a reader again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bootscope.readers.registry import reader, readers

from .replay import CRASHERS, attempt

CASES = sorted(CRASHERS.glob("*/*.bin")) if CRASHERS.exists() else []


@pytest.mark.parametrize("path", CASES, ids=[f"{p.parent.name}/{p.stem}" for p in CASES])
def test_a_case_that_broke_a_reader_does_not_any_more(path: Path) -> None:
    before = time.process_time()
    attempt(reader(path.parent.name), path.read_bytes())
    assert time.process_time() - before < 10


def test_every_case_belongs_to_a_reader() -> None:
    assert {path.parent.name for path in CASES} <= {r.name for r in readers()}


@pytest.mark.parametrize("name", [r.name for r in readers()])
def test_every_reader_survives_nothing_and_noise(name: str) -> None:
    for case in (b"", b"\n", b"\0", b"\xff" * 99, bytes(range(256)), b"[" * 9_999, b"1\n" * 9_999):
        attempt(reader(name), case)

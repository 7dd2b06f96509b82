# SPDX-License-Identifier: Apache-2.0
"""The state of a file system after a power cut: what all kinds have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Verdict(StrEnum):
    """From good to bad; the last one fails a soak."""

    UNCHANGED = "unchanged"  # of a file system that is only read
    CLEAN = "clean"
    PENDING = "pending"  # done by the next mount itself, such as replaying a journal
    UNCHECKED = "unchecked"  # nothing here can check it
    MENDED = "mended"  # wrong, but repaired by a check at boot without asking
    DAMAGED = "damaged"


@dataclass(frozen=True)
class State:
    """A file system after a cut; `words` describe what was found, empty where the verdict says it all."""

    verdict: Verdict
    words: str = ""


CLEAN = State(Verdict.CLEAN)

Checker = Callable[[Path], State]
"""Checks the copy of a file system in a folder of ours; it may change the copy."""

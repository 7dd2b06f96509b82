# SPDX-License-Identifier: Apache-2.0
"""What a power cut left of a file system, in what all kinds of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Verdict(StrEnum):
    """From good to bad; the last one fails a soak."""

    UNCHANGED = "unchanged"  # one that is only read
    CLEAN = "clean"
    PENDING = "pending"  # what the next mount does by itself, as to replay a journal
    UNCHECKED = "unchecked"  # nothing here can look into it
    MENDED = "mended"  # wrong, but what a check at boot mends without asking
    DAMAGED = "damaged"


@dataclass(frozen=True)
class State:
    """A file system after a cut; `words` say what was found, empty where the verdict says it all."""

    verdict: Verdict
    words: str = ""


CLEAN = State(Verdict.CLEAN)

Checker = Callable[[Path], State]
"""Looks at the copy of a file system in a folder of ours; it may change the copy."""

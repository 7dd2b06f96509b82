# SPDX-License-Identifier: Apache-2.0
"""What several published systems have in common: a file for each such part in `parts/`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from bootscope.core.settings import load, names_in
from bootscope.system.changes import Change

PARTS = Path(__file__).parent / "parts"


class PublishedSystem(Protocol):
    """What a table or a story changes in the system that it starts from: `parts` are names of files in PARTS,
    `base` are the changes of its own, made after them."""

    @property
    def parts(self) -> tuple[str, ...]: ...
    @property
    def base(self) -> Change: ...


def bases(of: PublishedSystem) -> dict[str, Change]:
    """These changes, by their origin. Raises UserError for an invalid file."""
    shared = {f"the part {name}": load(PARTS / f"{name}.toml", Change) for name in of.parts}
    return {**shared, "the base": of.base}


def problem_of_parts(of: PublishedSystem) -> str:
    """What is wrong with its parts; empty when nothing is."""
    stray = set(of.parts) - set(names_in(PARTS))
    return f"parts: there is no {min(stray)}.toml in {PARTS.name}/" if stray else ""

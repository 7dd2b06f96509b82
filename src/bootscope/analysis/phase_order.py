# SPDX-License-Identifier: Apache-2.0
"""The phases of several boots in one order, where no boot need have all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bootscope.loaders.registry import PHASES


def in_one_order(boots: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """All names, each after the one before it in its boot. Between two phases that no boot has both, the boot
    loaders' order decides, if they have both."""
    found: list[str] = []
    for names in boots:
        at = 0
        for name in names:
            if name not in found:
                while at < len(found) and found[at] not in names and _comes_before(found[at], name):
                    at += 1
                found.insert(at, name)
            at = max(at, found.index(name) + 1)
    return tuple(found)


def _comes_before(one: str, other: str) -> bool:
    """Whether the first part of a phase comes before that of another one with every boot loader."""
    first, second = (name.partition("+")[0] for name in (one, other))
    known = first in PHASES and second in PHASES
    return known and PHASES.index(first) < PHASES.index(second)

# SPDX-License-Identifier: Apache-2.0
"""What techniques save on one milestone, whatever they do to the whole boot."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bootscope.analysis.compare import Comparison
from bootscope.techniques.model import Recipe


class Sooner(msgspec.Struct, frozen=True):
    """A milestone without and with techniques, in ns of board time; a saving below 0 is a cost."""

    milestone: str
    base_ns: int
    variant_ns: int
    saving_ns: int


def sooner(recipes: Iterable[Recipe], found: Comparison | None) -> Sooner | None:
    """The milestone that these recipes are for; None if they are for the whole boot or for different ones, or
    if a boot did not reach it."""
    wanted = {recipe.milestone for recipe in recipes}
    name = wanted.pop() if len(wanted) == 1 else ""
    base_ns, variant_ns = found.milestones.get(name, (None, None)) if found else (None, None)
    if base_ns is None or variant_ns is None:
        return None
    return Sooner(name, base_ns, variant_ns, base_ns - variant_ns)

# SPDX-License-Identifier: Apache-2.0
"""The order in which boots of several variants are made on one board.

If all boots of one variant came before all of the next, whatever changed meanwhile would count for the
second: a board that has become warm, a card that has filled. So the variants take turns in blocks, each of
which has every variant once, in a random order; every second block is the one before it reversed, so that a
steady drift affects all variants alike. The randomness is a hash of the seed: the same seed gives the same
order everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from bootscope.core.errors import UserError, printable

FEWEST = 3
"""How many boots of each variant a comparison takes at least."""
ENOUGH = f"at least {FEWEST}; 10 are a good start"


@dataclass(frozen=True, slots=True)
class Turn:
    """One boot of a variant, and the number of its block, from 1."""

    block: int
    variant: str


def interleaved(variants: Sequence[str], boots: int, seed: int = 0) -> tuple[Turn, ...]:
    """The order of `boots` boots of each variant.

    Raises UserError for no variant, one that is named twice, or no boots.
    """
    if not variants:
        raise UserError("no variants to interleave")
    twice = [name for name in variants if list(variants).count(name) > 1]
    if twice:
        raise UserError(f"the variant {printable(twice[0])} is named twice")
    if boots < 1:
        raise UserError(f"{boots} boots of each variant are too few", hint=ENOUGH)
    turns: list[Turn] = []
    order: list[str] = []
    for block in range(1, boots + 1):
        order = order[::-1] if block % 2 == 0 else _drawn(variants, seed, block)
        turns += [Turn(block, name) for name in order]
    return tuple(turns)


def _drawn(variants: Sequence[str], seed: int, block: int) -> list[str]:
    def lot(place: int) -> bytes:
        return hashlib.sha256(f"{seed} {block} {place}".encode()).digest()

    return [variants[place] for place in sorted(range(len(variants)), key=lot)]

# SPDX-License-Identifier: Apache-2.0
"""In which order the boots of several variants are made on one board.

All boots of one variant and then all of the next would give to the second whatever has changed meanwhile: a
board that has become warm, a card that has filled. So the variants take turns in blocks, each of which has
every variant once, in an order drawn by lot; and each second block is the one before it backwards, so that
what rises evenly meets all variants alike. The lot is a hash of the seed, so the same seed gives the same
order everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from bootscope.core.errors import UserError, printable


@dataclass(frozen=True, slots=True)
class Turn:
    """One boot: the block that it is in and which boot of its variant it is, both from 1."""

    block: int
    variant: str
    boot: int


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
        raise UserError(f"{boots} boots of each variant are too few", hint="at least 3; 10 are a good start")
    turns: list[Turn] = []
    order: list[str] = []
    for block in range(1, boots + 1):
        order = order[::-1] if block % 2 == 0 else _drawn(variants, seed, block)
        turns += [Turn(block, name, block) for name in order]
    return tuple(turns)


def _drawn(variants: Sequence[str], seed: int, block: int) -> list[str]:
    def lot(place: int) -> bytes:
        return hashlib.sha256(f"{seed} {block} {place}".encode()).digest()

    return [variants[place] for place in sorted(range(len(variants)), key=lot)]


def order_words(turns: Sequence[Turn], seed: int) -> str:
    """The order in words: `2 variants in 3 blocks (seed 0): A B | B A | A B`."""
    blocks: dict[int, list[str]] = {}
    for turn in turns:
        blocks.setdefault(turn.block, []).append(printable(turn.variant))
    order = " | ".join(" ".join(names) for names in blocks.values())
    return f"{len({turn.variant for turn in turns})} variants in {len(blocks)} blocks (seed {seed}): {order}"

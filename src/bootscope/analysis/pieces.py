# SPDX-License-Identifier: Apache-2.0
"""Functions of boot loader programs that are not in one place, at the addresses that the recording shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bootscope.capture.objects import Piece, Pieces
from bootscope.capture.stream import Hook
from bootscope.image.symbols import Symbols


def table(known: Pieces, told: Iterable[Hook]) -> Symbols:
    """All functions whose address is known.

    A piece is identified by the name and size that the recording shows; one of another size comes from
    another build, and gets no names.
    """
    pieces = {(piece.name, piece.size): piece for piece in known.pieces}
    placed = [found for hook in told for found in _placed(hook, pieces)]
    return Symbols.of_functions([*known.functions, *placed])


def _placed(hook: Hook, pieces: dict[tuple[str, int], Piece]) -> Iterator[tuple[int, int, str]]:
    if len(hook.registers) < 2:
        return
    place, size = hook.registers[:2]
    piece = pieces.get((hook.text.decode("utf-8", "replace"), size))
    for at, length, name in piece.functions if piece and place else ():
        yield place + at, length, name

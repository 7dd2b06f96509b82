# SPDX-License-Identifier: Apache-2.0
"""Where some texts stand in a long one: all of them found in one pass over it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

_STEP = 1 << 20
"""How much is searched at once, in bytes: what is found comes as a list."""


class Places:
    """Where each of `texts` (none empty) stands in `blob`; the search is made when the first is asked for."""

    def __init__(self, blob: bytes, texts: Sequence[bytes]) -> None:
        self._blob, self._texts = blob, tuple(dict.fromkeys(texts))

    def seeker(self, text: bytes) -> Callable[[int, int], int] | None:
        """What `bytes.find` of that text is: the first place start <= i < end at which it begins, or -1.

        None for a text that was not looked for.
        """
        offsets = self._found.get(text)
        if offsets is None:
            return None

        def seek(start: int, end: int) -> int:
            index = bisect_left(offsets, start)
            return offsets[index] if index < len(offsets) and offsets[index] < end else -1

        return seek

    @cached_property
    def _found(self) -> Mapping[bytes, array[int]]:
        # Takes as long to load as a short log to be read.
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        search = BytesAhoCorasick(self._texts, implementation=Implementation.DFA)
        found = [array("q") for _ in self._texts]
        # What begins in one part may end in the next.
        beyond = max(map(len, self._texts), default=1) - 1
        for first in range(0, len(self._blob), _STEP):
            part = self._blob[first : first + _STEP + beyond]
            for text, start, _ in search.find_matches_as_indexes(part, overlapping=True):
                if start < _STEP:
                    found[text].append(first + start)
        return dict(zip(self._texts, found, strict=True))

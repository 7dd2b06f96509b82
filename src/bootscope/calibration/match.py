# SPDX-License-Identifier: Apache-2.0
"""Which console line of one boot is which of another: by their words, in the same order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from bootscope.readers.markers import split_line
from bootscope.readers.match import increasing

_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_NUMBER = re.compile(r"\b(?:[0-9a-fA-F]{2}:){2,}[0-9a-fA-F]{2}\b|\b(?:0x)?[0-9a-fA-F]*[0-9][0-9a-fA-F]*")
_LEAST_LETTERS = 4
_LONGEST = 2_000


def key_of(text: str) -> str:
    """The words of a line: without the kernel's stamp, escapes, and what differs from boot to boot
    (numbers); empty for a line that says too little to be told from others."""
    words = split_line(_ESCAPE.sub("", text[:_LONGEST]))[1]
    key = " ".join(_NUMBER.sub("#", words).split())
    return key if sum(c.isalpha() for c in key) >= _LEAST_LETTERS else ""


def matched(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places of lines that are the same in both, given their keys, in order.

    Lines that come more than once are told apart by their number, if both have as many of them.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(b):
        if key:
            places[key].append(place)
    count, seen = Counter(a), Counter[str]()
    pairs: list[tuple[int, int]] = []
    for place, key in enumerate(a):
        if key and len(places.get(key, ())) == count[key]:
            pairs.append((place, places[key][seen[key]]))
            seen[key] += 1
    return [pairs[n] for n in increasing([other for _, other in pairs])]

# SPDX-License-Identifier: Apache-2.0
"""The rank test of two samples (Wilcoxon, 1945; Mann and Whitney, 1947), exact where that is fast.

It asks how often a random split of all values into two groups would separate them as much as they are. It
assumes nothing of the shape of the noise, so a rare boot that takes a second longer counts as one boot and no
more. Equal values share their rank, and the exact probabilities are those of the values with these ties (the
conditional permutation distribution), so stamps with a coarse resolution do no harm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from statistics import NormalDist

EXACT_UP_TO = 60
"""The largest number of values of both samples together for which probabilities are counted exactly."""
_NORMAL = NormalDist()


def rank_p(a: Sequence[int], b: Sequence[int]) -> float:
    """The two-sided p value: how likely two samples of the same population are to differ at least this much.

    Never 0. Raises ValueError for an empty sample.
    """
    return min(1.0, 2 * min(tails(a, b)))


def tails(a: Sequence[int], b: Sequence[int]) -> tuple[float, float]:
    """The probabilities that by chance the rank sum of `a` is at most, and at least, what it is here."""
    sum_a, ties = _summed(a, b)
    if len(a) + len(b) > EXACT_UP_TO:
        return _normal_tails(sum_a, len(a), ties)
    counts = _distribution(len(a), ties)
    total = sum(counts)
    below = sum(counts[: sum_a + 1])
    return below / total, (total - below + counts[sum_a]) / total


def _summed(a: Sequence[int], b: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Twice the rank sum of `a` (shared ranks may be halves), and how many values have each rank."""
    if not a or not b:
        raise ValueError("an empty sample has no ranks")
    marked = sorted([*((x, 0) for x in a), *((x, 1) for x in b)])
    sum_a, before, ties = 0, 0, []
    for _, group in groupby(marked, key=lambda item: item[0]):
        sides = [side for _, side in group]
        count = len(sides)
        sum_a += (2 * before + count + 1) * (count - sum(sides))
        before += count
        ties.append(count)
    return sum_a, tuple(ties)


@lru_cache(maxsize=4096)
def _distribution(size_a: int, ties: tuple[int, ...]) -> tuple[int, ...]:
    """Twice a rank sum of `size_a` of the values -> how many choices have it.

    The counts for one number of chosen values are the digits of one large number, so adding a value is a
    shift and an addition for all sums at once.
    """
    bits = math.comb(sum(ties), size_a).bit_length() + 1
    chosen = [1] + [0] * size_a
    before = 0
    for count in ties:
        shift = (2 * before + count + 1) * bits
        for _ in range(count):
            for k in range(size_a, 0, -1):
                chosen[k] += chosen[k - 1] << shift
        before += count
    packed, mask = chosen[size_a], (1 << bits) - 1
    largest = 2 * sum(range(before - size_a + 1, before + 1)) + sum(ties)
    raw = packed.to_bytes((bits * (largest + 2)) // 8 + 1, "little")
    return tuple(
        int.from_bytes(raw[at * bits // 8 : (at + 1) * bits // 8 + 1], "little") >> (at * bits % 8) & mask
        for at in range(largest + 1)
    )


def _normal_tails(sum_a: int, size_a: int, ties: tuple[int, ...]) -> tuple[float, float]:
    """The same for many values, by the normal distribution with corrections for ties and continuity."""
    total = sum(ties)
    size_b = total - size_a
    tied = sum(t**3 - t for t in ties) / (total * (total - 1))
    deviation = math.sqrt(size_a * size_b / 12 * (total + 1 - tied))
    if not deviation:
        return 1.0, 1.0
    off = (sum_a - size_a * (total + 1)) / 2
    return _NORMAL.cdf((off + 0.5) / deviation), _NORMAL.cdf((0.5 - off) / deviation)


def least_p(size_a: int, size_b: int) -> float:
    """The smallest two-sided p value that samples of these sizes can have."""
    # For larger samples it is far below anything that matters, and the number of choices is huge.
    return min(1.0, 2 / math.comb(min(size_a, 20) + min(size_b, 20), min(size_a, 20)))

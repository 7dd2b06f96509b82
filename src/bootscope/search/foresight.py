# SPDX-License-Identifier: Apache-2.0
"""What a search will ask for: a tree of what it tries next if a trial is accepted, and if it is refused.

It decides nothing: it says only what to work on while there is nothing better to do.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bootscope.audit.findings import Finding
from bootscope.audit.trials import rivals
from bootscope.search.experiment import Changes, title
from bootscope.system.changes import Change

_LEAST = 0.002
"""States less likely than this are not looked at."""


@dataclass(frozen=True)
class State:
    """A state that a search may reach: how likely it is, what is accepted then, and what is left to try."""

    chance: float
    accepted: dict[str, Change]
    left: Sequence[Finding]


def foreseen(
    states: Iterable[State],
    many: bool,
    after: Callable[[Iterable[Finding], Changes], tuple[Finding, ...]],
    chance: Callable[[Sequence[Finding]], float],
) -> Iterator[tuple[Changes, str]]:
    """The variants that are tried from these states on, most likely first, each with a title, each once.

    Unless there are `many` workers, only the most likely one at each step.

    `after` returns what is tried next in a state, `chance` how likely a trial is to be accepted.
    """
    # Equally likely states are looked at in the order in which they were found.
    ranked = sorted(states, key=lambda state: -state.chance)
    queue = [(-state.chance, n, state) for n, state in enumerate(ranked if many else ranked[:1])]
    heapq.heapify(queue)
    count, seen = len(queue), set[frozenset[str]]()
    while queue and (not many or -queue[0][0] > _LEAST):
        _, _, state = heapq.heappop(queue)
        trial = after(state.left, state.accepted)
        if not trial:
            continue
        out = {name for f in trial for name in rivals(f, state.accepted)}
        kept = {name: change for name, change in state.accepted.items() if name not in out}
        with_it = kept | {f.spec: f.change for f in trial}
        if frozenset(with_it) not in seen:
            seen.add(frozenset(with_it))
            yield with_it, title([f.spec for f in trial])
        left = [f for f in state.left if f not in trial]
        likely = chance(trial)
        ways = sorted(((likely, with_it), (1 - likely, state.accepted)), key=lambda way: -way[0])
        for part, accepted in ways if many else ways[:1]:
            heapq.heappush(queue, (-state.chance * part, count, State(state.chance * part, accepted, left)))
            count += 1

# SPDX-License-Identifier: Apache-2.0
"""At the end of a search: what each accepted technique is still worth, and what can be had back.

A technique that was worth something when it was accepted need not be at the end: what the application
as first process makes superfluous, for one. It is taken out again, so that nobody loses an ability for
nothing; but only where that is shown: what a few boots of a board cannot show is no reason to take out
what was proven before.
"""

from __future__ import annotations

import time

from bootscope.audit.trials import needs_kernel
from bootscope.search.experiment import V, Worth, without
from bootscope.search.search import Search
from bootscope.system.changes import word_name
from bootscope.techniques.model import techniques


def ablate(search: Search[V], everything: bool = True) -> list[Worth[V]]:
    """Takes one accepted technique away at a time; without `everything` only those that need no new kernel.

    Stops when the search's time is over. Raises as the bench does.
    """
    known, bench = techniques(), search.bench
    found: list[Worth[V]] = []
    # What takes away most first: of two that stand for each other that one should go.
    order = sorted(search.accepted, key=lambda spec: -len(known[word_name(spec)].loses))
    left = [spec for spec in order if everything or not needs_kernel(search.accepted[spec])]
    # Where boots vary, one that is left was measured alone when it was accepted.
    while left and (bench.exact or len(search.accepted) > 1):
        if time.monotonic() > search.deadline:
            if not bench.exact:
                search.tell("the time limit is reached: the others are not tested")
            break
        name, *left = left
        ahead = ((without(search.accepted, n), f"without {n}") for n in left)
        worth = bench.take_out(search.accepted, name, ahead)
        if worth is None:
            continue
        found.append(worth)
        if worth.dropped:
            search.accepted, search.now = without(search.accepted, name), worth.verdict
        if line := bench.worth_line(worth):
            search.tell(line)
    return found

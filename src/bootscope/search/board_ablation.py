# SPDX-License-Identifier: Apache-2.0
"""At the end of a search on a real board: what each accepted technique is still worth beside all the others.

Each is measured as it was when it was accepted: what is there, and the same without it, in turns. One goes
only where that is shown: the boot is faster without it, or the same. What so few boots cannot show is no
reason to take out what was proven before.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bootscope.analysis.significance import FASTER, SAME, interval
from bootscope.buildtrees.variants import Variant
from bootscope.buildtrees.workshop import BuildFailedError
from bootscope.core.errors import UserError, printable
from bootscope.core.text import span
from bootscope.search.board_bench import BaseFailedError, SameImagesError
from bootscope.search.board_verdict import BoardVerdict
from bootscope.system.changes import Change
from bootscope.techniques.model import techniques


@dataclass(frozen=True)
class BoardWorth:
    """What became of the system without a technique: `verdict` has all that was accepted as its base, and the
    same without it as the variant; None where that was not booted, and `why` says so, or what does not work
    without it. `dropped`: it was taken out."""

    technique: str
    verdict: BoardVerdict | None
    why: str = ""
    dropped: bool = False

    @property
    def ns(self) -> int | None:
        """What the boot takes more without it; None where these boots do not tell."""
        saving_ns = self.verdict.saving_ns if self.verdict else None
        return -saving_ns if saving_ns is not None and not self.why else None


class Searched(Protocol):
    """A search that came to its end."""

    accepted: dict[str, Change]
    deadline: float

    def tell(self, text: str, /) -> None:
        """Tells how it goes on."""

    def variant(self, accepted: Mapping[str, Change]) -> Variant:
        """The tree with some changes."""

    def measured(self, base: Variant, variant: Variant) -> BoardVerdict:
        """One beside the other."""


def board_ablate(search: Searched) -> list[BoardWorth]:
    """Takes one accepted technique away at a time, what takes away most abilities first; those that are worth
    nothing go out of what the search accepted. Stops when the search's time is over.

    Raises BoardError and ToolError as measuring does, and BaseFailedError.
    """
    known = techniques()
    found: list[BoardWorth] = []
    for name in sorted(search.accepted, key=lambda spec: -len(known[spec.partition("=")[0]].loses)):
        if len(search.accepted) < 2:
            break  # it was measured alone when it was accepted
        if time.monotonic() > search.deadline:
            search.tell("the time allowed is over: the others are not taken away")
            break
        worth = _without(search, name)
        found.append(worth)
        if worth.dropped:
            search.accepted = _rest(search.accepted, name)
        search.tell(told(worth))
    return found


def _without(search: Searched, name: str) -> BoardWorth:
    try:
        all_of_it, without = search.variant(search.accepted), search.variant(_rest(search.accepted, name))
        found = search.measured(all_of_it, without)
    except BaseFailedError:
        raise
    except SameImagesError:
        return BoardWorth(name, None, "the images are the same without it", dropped=True)
    except BuildFailedError as error:
        return BoardWorth(name, None, f"without it, {error.message}")
    except UserError as error:
        return BoardWorth(name, None, f"the others cannot be put together without it: {error.message}")
    word = found.comparison.goal.word if found.comparison else ""
    return BoardWorth(name, found, "; ".join(found.faults), dropped=found.works and word in (FASTER, SAME))


def _rest(accepted: Mapping[str, Change], name: str) -> dict[str, Change]:
    return {spec: change for spec, change in accepted.items() if spec != name}


def told(worth: BoardWorth) -> str:
    """It in a line."""
    name, c = worth.technique, worth.verdict.comparison if worth.verdict else None
    out = ", taken out" if worth.dropped else ""
    if worth.why or c is None or worth.ns is None:
        return f"without {name}: {printable(worth.why) or 'these boots do not tell'}{out}"
    more = f"{span(abs(worth.ns))} {'more' if worth.ns > 0 else 'less'}"
    return f"without {name}: {more} (the time changes by {interval(c.goal)}){out}"

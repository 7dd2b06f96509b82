# SPDX-License-Identifier: Apache-2.0
"""A culprit: something that takes time, where it is, how that is known, and what would help."""

from __future__ import annotations

from dataclasses import dataclass

FAILURE = "failure"
"""The kind of a culprit that takes no time: the boot fails there. It comes before all others."""


@dataclass(frozen=True, slots=True)
class Cure:
    """What would help, in words. `techniques` are ids, the best first, some of which may not apply here;
    `what_if` are changes that `bootscope what-if` takes."""

    do: str
    techniques: tuple[str, ...] = ()
    what_if: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Culprit:
    """Something that takes time. Texts may come from a board: untrusted.

    `kind` is one of those listed in docs/json.md. The boot waited `cost_ns` for it, or less if that is only
    `at_most`; no two culprits of a recorded boot count the same time. `start_ns` and `end_ns` are the stretch
    of the boot that contains it. `seen_in` are the options of `bootscope show` that show it.
    """

    kind: str
    what: str
    where: str
    cost_ns: int
    start_ns: int
    end_ns: int
    cure: Cure
    seen_in: str = ""
    at_most: bool = False

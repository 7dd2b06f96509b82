# SPDX-License-Identifier: Apache-2.0
"""A culprit: something that takes time, where it is, how that is known, and what would help."""

from __future__ import annotations

from dataclasses import dataclass

FAILURE = "failure"
"""The kind of a culprit that is no time: the boot fails there. It comes before all others."""


@dataclass(frozen=True, slots=True)
class Cure:
    """What would help, in words. `techniques` are ids, the best first, of which some may not apply here;
    `what_if` are changes that `bootscope what-if` takes."""

    do: str
    techniques: tuple[str, ...] = ()
    what_if: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Culprit:
    """Something that takes time. Texts may come from a board: untrusted.

    `kind` is what it is, as docs/json.md lists. The boot waited `cost_ns` for it, or less where that is
    only `at_most`; no two culprits of a boot hold the same time. `start_ns` and `end_ns` are the stretch of
    the boot in which it lies. `seen_in` are the options of `bootscope show` that show it.
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

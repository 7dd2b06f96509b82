# SPDX-License-Identifier: Apache-2.0
"""A soak as text and as JSON: the outcome of each power cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from bootscope.core.errors import printable
from bootscope.core.text import seconds, signed
from bootscope.report.tables import make_table
from bootscope.soak.card import Checked
from bootscope.soak.soaking import SUFFIX, Cut, Soaked, damaged
from bootscope.soak.states import Verdict

_TOLD = {"pending": "to be recovered", "mended": "mended by fsck", "damaged": "damaged"}
_NAMED = 3
"""How many lost files are named; the others are counted."""


def show(out: Console, found: Soaked) -> None:
    """Prints a soak: the outcome of each cut, and what that means."""
    plan, run = found.plan, found.run.info
    out.print(
        Text(f"soak of {run.system.name.removesuffix(SUFFIX)} on {run.board.name}, seed {plan.seed}", "bold")
    )
    out.print(Text(f"boot 1, on the card as it was built: {printable(found.first.message)}"))
    if found.cuts:
        grid = make_table(">cut", ">at", "in", "left on the card", ">next boot", ">", header_style="bold")
        for number, cut in enumerate(found.cuts, 1):
            grid.add_row(*_row(number, cut, found.reached_ns or 0))
        out.print(grid)
    for line in _losses(found):
        out.print(Text(line))
    for line in _verdict(found):
        out.print(Text(line, "" if found.good else "red"))
    out.print(Text(f"recorded as {run.run_id}"))


def _row(number: int, cut: Cut, first_ns: int) -> Sequence[str]:
    begun = (str(number), f"{seconds(cut.at_ns)} s", cut.phase, _words(cut.left))
    if cut.after is None:
        return (*begun, "", "")
    if cut.reached_ns is None:
        return (*begun, str(cut.after.ended), "")
    return (*begun, f"{seconds(cut.reached_ns)} s", signed(cut.reached_ns - first_ns))


def _words(checked: Sequence[Checked]) -> str:
    """The state of a card, in a few words; unchanged and clean regions are omitted."""
    well = (Verdict.UNCHANGED, Verdict.CLEAN)
    told = [
        f"{one.region.name} {one.region.kind or 'unknown'}: {_state_words(one)}"
        for one in checked
        if one.state.verdict not in well
    ]
    return ", ".join(told) or "clean"


def _state_words(one: Checked) -> str:
    words = one.state.words
    if one.state.verdict.value in ("pending", "unchecked"):
        return words
    return f"{one.state.verdict.value}{f' ({words})' if words else ''}"


def _losses(found: Soaked) -> Iterator[str]:
    """Files of the image that are gone or empty, each once, with the cut since which they are."""
    seen: set[tuple[str, str]] = set()
    cuts = [(f"cut {number}", (*cut.left, *cut.left_after)) for number, cut in enumerate(found.cuts, 1)]
    for what, checked in [("boot 1", found.left), *cuts]:
        for one in checked:
            new = [path for path in one.lost if (one.region.name, path) not in seen]
            seen |= {(one.region.name, path) for path in new}
            if new:
                more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
                named = ", ".join(map(printable, new[:_NAMED]))
                yield f"since {what}, gone or empty in {one.region.name}: {named}{more}"


def _verdict(found: Soaked) -> Iterator[str]:
    """The overall result, in sentences."""
    until, cuts = found.run.info.until, found.cuts
    if found.reached_ns is None:
        yield f"the card as built does not reach {until}: nothing to soak"
        return
    over = [(cut.reached_ns - found.reached_ns, n) for n, cut in enumerate(cuts, 1) if cut.reached_ns]
    tally = Counter(one.state.verdict.value for cut in cuts for one in cut.left)
    yield f"{len(cuts)} of {found.plan.cuts} cuts: the next boot reached {until} after {len(over)} of them"
    told = ", ".join(f"{tally[state]} {words}" for state, words in _TOLD.items())
    yield f"file systems after a cut: {told}"
    if over and max(over)[0] > 0:
        worst, number = max(over)
        yield f"the slowest next boot came after cut {number}: {signed(worst)} against boot 1"
    if all(one.state.verdict.value == "unchanged" for cut in cuts for one in cut.left):
        yield "nothing was written to any partition"
    for number, cut in enumerate(cuts, 1):
        for what, checked in (("cut", cut.left), ("the boot after cut", cut.left_after)):
            if damaged(checked):
                yield f"after {what} {number}: {_words(checked)}"
        if cut.boot.ended != "limit":
            yield f"cut {number} found no boot to cut: {printable(cut.boot.message)}"
        if cut.after and cut.reached_ns is None:
            yield f"after cut {number}: {printable(cut.after.message)}"


def document(found: Soaked) -> dict[str, object]:
    """A soak for --json."""
    return {
        "run_id": found.run.info.run_id,
        "until": found.run.info.until,
        "good": found.good,
        "seed": found.plan.seed,
        "from": found.plan.since or None,
        "after_ns": found.plan.after_ns,
        "reached_ns": found.reached_ns,
        "message": found.first.message,
        "left": _states(found.left),
        "cuts": [_cut(number, cut) for number, cut in enumerate(found.cuts, 1)],
    }


def _cut(number: int, cut: Cut) -> dict[str, object]:
    after = cut.after
    return {
        "number": number,
        "boot": cut.boot.number,
        "message": cut.boot.message,
        "at_ns": cut.at_ns,
        "phase": cut.phase,
        "left": _states(cut.left),
        "next_boot": after.number if after else None,
        "next_message": after.message if after else None,
        "next_reached_ns": cut.reached_ns,
        "next_left": _states(cut.left_after),
    }


def _states(checked: Sequence[Checked]) -> list[dict[str, object]]:
    return [
        {
            "where": one.region.name,
            "kind": one.region.kind or None,
            "state": one.state.verdict.value,
            "words": one.state.words,
            "lost": list(one.lost),
        }
        for one in checked
    ]

# SPDX-License-Identifier: Apache-2.0
"""The result of an audit as text for a terminal: techniques, alternatives in one row, and pitfalls."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bootscope.analysis.uncertainty import words
from bootscope.audit.counted import CountedCosts
from bootscope.audit.findings import Audit, Finding, Group
from bootscope.audit.pitfalls.find import FoundPitfalls, Warned
from bootscope.changes.on_image import BY_BUILD, ON_IMAGE
from bootscope.core.errors import printable
from bootscope.core.text import cut, span
from bootscope.report.tables import make_table

_LONGEST = 300
"""Characters of evidence on a terminal; lines of scripts may have any length."""
_NAMED = 2
"""How many alternatives of a group are named."""


_MADE_ON = {ON_IMAGE: "the image", BY_BUILD: "your build", "": ""}


def techniques(out: Console, found: Sequence[Group], top: int | None, losses: bool) -> None:
    """The first `top` groups of alternatives (None: all), the best of each first; with `losses` also what it
    takes away. For an image each row says whether `try` can make it on the image, or only the build can."""
    # What the user types again must be whole, also on a narrow terminal.
    made = any(f.made for group in found for f in group)
    where = ["=made on"] if made else []
    heads = (">predicted", "=technique", *where, "evidence in the boot", *(["removes"] if losses else []))
    table = make_table(*heads, header_style="bold")
    for group in found[:top]:
        first = group[0]
        saving = Text("try it", "dim") if first.saving_ns is None else Text(span(first.saving_ns), "green")
        taken = [Text(", ".join(first.technique.loses), "dim")] if losses else []
        place = [Text(_MADE_ON[first.made], "green" if first.made == ON_IMAGE else "dim")] if made else []
        table.add_row(saving, first.spec, *place, _shows(group, top is None), *taken)
    out.print(table)
    rest = len(found) - len(found[:top])
    if rest:
        told = sum(group[0].saving_ns is not None for group in found[-rest:])
        out.print(f"{rest} more, {told} of them with a prediction (--top N, --all)", style="dim")


def ordered(found: Sequence[Group]) -> list[Group]:
    """Groups predicted to save nothing, or to cost time, come after those that only a try can judge."""
    return sorted(found, key=lambda group: group[0].saving_ns is not None and group[0].saving_ns <= 0)


def _shows(group: Group, everything: bool) -> Text:
    first, *others = group
    text = Text(_shown(first.evidence) or first.technique.title)
    named = others if everything else others[:_NAMED]
    if others:
        more = f" and {len(others) - len(named)} more" if len(others) > len(named) else ""
        text.append(f"; or {', '.join(_name(f, everything) for f in named)}{more}", "dim")
    return text


def _name(finding: Finding, everything: bool) -> str:
    told = everything and finding.saving_ns is not None
    return f"{finding.spec} ({span(finding.saving_ns or 0)})" if told else finding.spec


def others(out: Console, found: Audit, everything: bool) -> None:
    """Techniques that do not apply, and those that are undecided."""
    if everything:
        undecided = ((name, f"undecided, needs: {missing}") for name, missing in found.unknown.items())
        for name, reason in (*found.not_for_us.items(), *undecided):
            out.print(Text(f"  {name}: {printable(reason)}", "dim"))
        return
    words = [f"{len(found.not_for_us)} others do not apply"] if found.not_for_us else []
    words += [f"{len(found.unknown)} undecided: input is missing"] if found.unknown else []
    if words:
        out.print(f"{'; '.join(words)} (--all says why)", style="dim")


def counted(out: Console, found: CountedCosts | None, run: str) -> None:
    """What caches, memory and clock cost, if that was counted; `run` is the boot's name for `what-if`."""
    if not found or not found.costs:
        return
    out.print()
    table = make_table(f"on core {found.core}", ">costs", ">would save", "=what-if", header_style="bold")
    for cost in found.costs:
        saves = Text("count it", "dim") if cost.what_if else Text("at most that", "dim")
        if cost.saving_ns is not None:
            saves = Text(span(cost.saving_ns), "green")
        most = "-" if cost.most_ns is None else span(cost.most_ns)
        table.add_row(Text(f"{cost.what} ({cost.technique})"), most, saves, cost.what_if)
    out.print(table)
    for line in words(found.uncertainty):
        out.print(f"  {line}", style="dim", markup=False)
    if any(cost.saving_ns is None and cost.what_if for cost in found.costs):
        out.print(
            f"count it: bootscope what-if {run or 'RUN'} CHANGE boots it once more", style="dim", markup=False
        )


def pitfalls(out: Console, seen: FoundPitfalls, everything: bool) -> None:
    """Pitfalls that the system is in; with `everything` also the evidence, and those for a person to
    judge."""
    # What the table above says already is not repeated.
    shown = [w for w in seen.warnings if everything or not w.technique]
    if shown:
        out.print()
    if shown and not everything:
        names = Text(", ").join(Text(w.ident, "yellow") for w in shown)
        out.print(Text.assemble(("pitfalls: ", "bold"), names))
    if everything:
        _pitfalls(out, seen, shown)
    if shown:
        more = "" if everything else "; --pitfalls shows the evidence"
        out.print(f"bootscope pitfalls ID explains one{more}", style="dim")


def _pitfalls(out: Console, seen: FoundPitfalls, shown: list[Warned]) -> None:
    if shown:
        _warnings(out, "pitfall", shown, "yellow")
    if seen.advice:
        out.print()
        _warnings(out, "needs manual review", list(seen.advice), "cyan")
    for name, missing in seen.undecided.items():
        out.print(Text(f"  {name}: not checked, it needs: {missing}", "dim"))


def _warnings(out: Console, head: str, warned: list[Warned], colour: str) -> None:
    table = make_table(f"={head}", "evidence", header_style="bold")
    for w in warned:
        told = Text.assemble(w.pitfall.title, (": ", "dim"), (_shown(w.evidence), "dim"))
        table.add_row(Text(w.ident, colour), told)
    out.print(table)


def _shown(evidence: str) -> str:
    return printable(cut(evidence, _LONGEST))

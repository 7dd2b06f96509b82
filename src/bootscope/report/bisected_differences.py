# SPDX-License-Identifier: Apache-2.0
"""The result of a bisection over differences: for the terminal, as JSON, and as a text to paste. Names and
texts of the differences are untrusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from bootscope.core.text import signed, span, visible
from bootscope.export.markdown import escaped
from bootscope.regression.differences import Culprit, DifferenceSession
from bootscope.regression.units import Unit
from bootscope.report import rows
from bootscope.report.bisected import TOP, Difference, tables_markdown, tried_document, verdict, work_of

_MOST = 12
_WIDE = 160


@dataclass(frozen=True)
class Shown:
    """A culprit with the differences of the boots without and with it, and what else the tree's tools
    changed."""

    culprit: Culprit
    differs: Difference | None
    moved: tuple[str, ...] = ()


def bisected(out: Console, session: DifferenceSession, found: Sequence[Shown]) -> None:
    """The differences that were found, each with its effect on the boot."""
    for one in found:
        out.print()
        out.print(Text(headline(session, one), "bold"), soft_wrap=True)
        for line in _details(session, one):
            out.print(Text(f"  {line}"), soft_wrap=True)
        for table in one.differs.tables if one.differs else ():
            rows.show(out, table, TOP)
        before, after = one.culprit.tried_before.run_id, one.culprit.tried.run_id
        if before and after:
            out.print(Text(f"more: bootscope compare {before} {after}", "dim"), soft_wrap=True)
    if not found:
        out.print("no single difference costs or saves that much")
    out.print()
    out.print(Text(work(session), "dim"), soft_wrap=True)


def headline(session: DifferenceSession, one: Shown) -> str:
    """The effect of a difference on the boot, in one line."""
    culprit = one.culprit
    name = visible(culprit.units[0].words, _WIDE)
    if len(culprit.units) > 1:
        name = f"one of {len(culprit.units)} {session.inputs.noun[1]} (such as {name})"
    return verdict(name, session.question.quantity, culprit.tried_before, culprit.tried)


def _details(session: DifferenceSession, one: Shown) -> Iterator[str]:
    culprit, whole = one.culprit, session.whole_ns
    if culprit.ns is not None and whole is not None and whole != culprit.ns:
        yield f"of {signed(whole)} between good and bad"
    by_ns = session.question.by_ns
    if culprit.ns is not None and by_ns and not session.question.every and culprit.ns < by_ns:
        yield f"less than {span(by_ns)}: several cost the rest (--all with a smaller --by finds them)"
    if len(culprit.units) > 1:
        yield "it may be one or several of these: combinations of them do not build or boot"
        yield from _list(culprit.units)
    else:
        yield from (f"together with {visible(words, _WIDE)}" for words in culprit.units[0].more[:_MOST])
        yield from _more(len(culprit.units[0].more))
    if one.moved:
        yield "and what follows from it:"
        yield from (f"  {visible(words, _WIDE)}" for words in one.moved[:_MOST])
        yield from _more(len(one.moved))
    if culprit.company:
        yield "only together with:"
        yield from _list(culprit.company)
    if culprit.needs:
        yield "needed for it, in both boots:"
        yield from _list(culprit.needs)
    if not culprit.sure:
        yield "measured together with other differences: alone it costs less, or does not boot"


def _list(units: Sequence[Unit]) -> Iterator[str]:
    yield from (f"  {visible(unit.words, _WIDE)}" for unit in units[:_MOST])
    yield from _more(len(units))


def _more(count: int) -> Iterator[str]:
    if count > _MOST:
        yield f"  and {count - _MOST} more"


def work(session: DifferenceSession) -> str:
    """How much was built and booted, and how long it took."""
    tried = list(session.tried.values())
    vain = len(session.new - session.asked)
    ahead = f"; {vain} of them started early and not needed" if vain else ""
    return f"{session.inputs.words}: {work_of(tried)}{ahead}"


def markdown(session: DifferenceSession, found: Sequence[Shown], command: str) -> str:
    """The same, as a text for a bug report."""
    system, lines = session.question.loaded.system, list[str]()
    for one in found:
        lines += [f"### {escaped(headline(session, one), 300)}", ""]
        lines += [f"- {escaped(line.strip(), 300)}" for line in _details(session, one)]
        lines += ["", *tables_markdown(one.differs)]
    lines += [f"Good: {escaped(session.inputs.good, 300)}. Bad: {escaped(session.inputs.bad, 300)}.", ""]
    about = f"{system.name} on {system.board}"
    lines += [f"Measured with bootscope on {escaped(about)}, an emulated board whose boots are exact.", ""]
    lines += [f"{escaped(work(session), 300)}.", "", f"    {command}", ""]
    return "\n".join(lines)


def document(session: DifferenceSession, found: Sequence[Shown]) -> dict[str, object]:
    """The result as JSON (docs/json.md)."""
    inputs = session.inputs
    return {
        "about": str(session.question.quantity),
        "differences": inputs.count,
        "units": len(inputs.units),
        "whole_ns": session.whole_ns,
        "found": [_found(one) for one in found],
        "tried": [
            {"combination": each.pop("commit"), **each}
            for each in map(tried_document, session.tried.values())
        ],
        "journal": str(session.journal.path),
    }


def _found(one: Shown) -> dict[str, object]:
    culprit = one.culprit
    return {
        "differences": [_unit(unit) for unit in culprit.units],
        "only_beside": [_unit(unit) for unit in culprit.company],
        "needs": [_unit(unit) for unit in culprit.needs],
        "follows": list(one.moved),
        "alone": culprit.sure,
        "change_ns": culprit.ns,
        "before_ns": culprit.tried_before.ns,
        "after_ns": culprit.tried.ns,
        "why": culprit.tried.why,
        "run_before": culprit.tried_before.run_id,
        "run_after": culprit.tried.run_id,
        "tables": rows.document(one.differs.tables, TOP) if one.differs else [],
    }


def _unit(unit: Unit) -> dict[str, object]:
    return {"name": unit.name, "told": unit.told, "with": list(unit.more)}

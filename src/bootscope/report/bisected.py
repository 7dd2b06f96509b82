# SPDX-License-Identifier: Apache-2.0
"""The result of a bisection: for the terminal, as JSON, and as text to paste. Commits' texts are
untrusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from bootscope.analysis.changes import changes
from bootscope.analysis.rows import Rows
from bootscope.analysis.samples import Quantity
from bootscope.analysis.views import View
from bootscope.core.text import duration, seconds, signed, visible
from bootscope.export.markdown import code, escaped, table
from bootscope.regression.journal import MEASURED, Tried
from bootscope.regression.session import Found, Session
from bootscope.regression.tree import Commit
from bootscope.report import rows

VIEWS = ("functions", "initcalls", "console")
TOP = 8
_MOST_SUSPECTS = 10


@dataclass(frozen=True)
class Difference:
    """What differs between the boots before and after a commit: a table for each view with differences."""

    tables: tuple[Rows, ...]


def difference(before: View, after: View, views: Sequence[str] = VIEWS) -> Difference:
    """What a commit, or a difference, changed in the boot: function by function, and in the given `views`."""
    return Difference(tuple(t for name in views if (t := changes(name, before, after)).rows))


def bisected(out: Console, session: Session, found: Sequence[tuple[Found, Difference | None]]) -> None:
    """The commits that were found, each with its effect on the boot."""
    for one, differs in found:
        out.print()
        out.print(Text(headline(session, one), "bold"), soft_wrap=True)
        out.print(Text(f"  {one.commit.sha}", "dim"))
        out.print(Text(f"  {visible(one.commit.subject, 120)}"), soft_wrap=True)
        out.print(Text(f"  {visible(one.commit.author, 60)}, {one.commit.day}", "dim"))
        for line in _suspects(one.suspects):
            out.print(Text(line, "yellow"), soft_wrap=True)
        for shown in differs.tables if differs else ():
            rows.show(out, shown, TOP)
        if one.tried.run_id and one.tried_before.run_id:
            words = f"more: bootscope compare {one.tried_before.run_id} {one.tried.run_id}"
            out.print(Text(words, "dim"), soft_wrap=True)
    out.print()
    out.print(Text(work(session), "dim"), soft_wrap=True)


def headline(session: Session, one: Found) -> str:
    """The effect of a commit on the boot, in one line."""
    return verdict(one.commit.short, session.question.quantity, one.tried_before, one.tried)


def verdict(name: str, about: Quantity, before: Tried, after: Tried) -> str:
    """The effect of something called `name` on a boot, by the results without and with it."""
    if before.ns is None or after.ns is None:
        return f"{name} breaks the boot: {visible(after.why, 160)}"
    change = signed(after.ns - before.ns)
    return (
        f"{name} costs {change} at {about}: {seconds(before.ns, 6)} s before, {seconds(after.ns, 6)} s after"
    )


def work(session: Session) -> str:
    """How much was built and booted, and how long it took."""
    tried = [session.tried[c.sha] for c in session.commits if c.sha in session.tried]
    return f"{len(session.commits) - 1} commits: {work_of(tried)}"


def work_of(tried: Sequence[Tried]) -> str:
    """How much of what was tried was built and booted, and how long that took."""
    built, booted = sum(t.build_s for t in tried), sum(t.boot_s for t in tried)
    boots = sum(bool(t.run_id) and not t.same_as for t in tried)
    skipped = sum(t.state == "not built" for t in tried)
    skip = f", {skipped} of them did not build" if skipped else ""
    return f"{len(tried)} built in {duration(built)}{skip}; {boots} booted in {duration(booted)}"


def _suspects(suspects: Sequence[Commit]) -> list[str]:
    if not suspects:
        return []
    more = len(suspects) - _MOST_SUSPECTS
    lines = [f"  or one of the {len(suspects)} before it, which do not build:"]
    lines += [f"    {c.short} {visible(c.subject, 100)}" for c in suspects[:_MOST_SUSPECTS]]
    return [*lines, *([f"    and {more} more"] if more > 0 else [])]


def markdown(session: Session, found: Sequence[tuple[Found, Difference | None]], command: str) -> str:
    """The same, as a text for a bug report."""
    system = session.question.loaded.system
    lines = []
    for one, differs in found:
        lines += [f"### {escaped(headline(session, one), 300)}", ""]
        lines += [f"{code(one.commit.sha)} {escaped(one.commit.subject, 200)}", ""]
        lines += [f"{escaped(one.commit.author)}, {one.commit.day}", ""]
        for suspect in one.suspects:
            lines.append(f"- or {code(suspect.short)} {escaped(suspect.subject)}, which does not build")
        lines += [""] if one.suspects else []
        lines += tables_markdown(differs)
    about = f"{system.name} on {system.board}"
    lines += [f"Measured with bootscope on {escaped(about)}, an emulated board whose boots are exact.", ""]
    lines += [f"{escaped(work(session), 300)}.", "", f"    {command}", ""]
    return "\n".join(lines)


def tables_markdown(differs: Difference | None) -> list[str]:
    """What differs between the boots, as tables of Markdown."""
    lines = []
    for shown in differs.tables if differs else ():
        lines += [f"{escaped(shown.title)}, in ms:", ""]
        lines += table(("what", "before", "after", "change"), (_cells(row) for row in shown.rows[:TOP]))
    return lines


def _cells(row: object) -> tuple[str, ...]:
    assert isinstance(row, dict)
    times = tuple(f"{int(row[key] or 0) / 1e6:.3f}" for key in ("a_ns", "b_ns"))
    return code(str(row["what"])), *times, f"{int(row['change_ns'] or 0) / 1e6:+.3f}"


def document(session: Session, found: Sequence[tuple[Found, Difference | None]]) -> dict[str, object]:
    """The result as JSON (docs/json.md)."""
    return {
        "about": str(session.question.quantity),
        "commits": len(session.commits) - 1,
        "found": [
            {
                "commit": one.commit.sha, "subject": one.commit.subject, "before": one.before.sha,
                "change_ns": one.ns, "before_ns": one.tried_before.ns, "after_ns": one.tried.ns,
                "why": one.tried.why, "suspects": [c.sha for c in one.suspects],
                "run_before": one.tried_before.run_id, "run_after": one.tried.run_id,
                "tables": rows.document(differs.tables, TOP) if differs else [],
            }
            for one, differs in found
        ],
        "tried": [tried_document(session.tried[c.sha]) for c in session.commits if c.sha in session.tried],
        "journal": str(session.journal.path),
    }  # fmt: skip


def tried_document(tried: Tried) -> dict[str, object]:
    """The result of a trial as JSON (docs/json.md)."""
    return {
        "commit": tried.key,
        "state": tried.state,
        "ns": tried.ns if tried.state == MEASURED else None,
        "run_id": tried.run_id,
        "why": tried.why,
        "same_as": tried.same_as,
        "build_ms": int(tried.build_s * 1000),
        "boot_ms": int(tried.boot_s * 1000),
    }

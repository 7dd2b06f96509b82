# SPDX-License-Identifier: Apache-2.0
"""A summary for a pull request or a wiki, in GitHub's Markdown.

Texts from the boot are in `<code>`, with each character that is special in Markdown written as a numeric
character reference: a boot cannot produce markup, links, or mentions of people or issues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bootscope.core.text import seconds, span
from bootscope.export import sums
from bootscope.export.base import Subject
from bootscope.export.collapsed import call_paths
from bootscope.export.text import plain
from bootscope.timeline.trace import Trace

TOP = 10
_MEANT = frozenset("\\`*_{}[]<>()#+!|~$@&\"'^=")
_LISTED = {"initcall": "Initcalls", "process": "Processes", "storage": "Storage", "wait": "Waiting"}


def escaped(text: str, limit: int = 120) -> str:
    """Text that has no effect as markup anywhere in Markdown."""
    meant = _MEANT | {".", ":"} if "www" in text.lower() or "://" in text else _MEANT
    return "".join(f"&#{ord(c)};" if c in meant else c for c in plain(text, limit))


def code(text: str) -> str:
    """The same, shown as code, where mentions have no effect."""
    return f"<code>{escaped(text)}</code>"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], aligned: tuple[str, ...] = ()) -> list[str]:
    """The lines of a table; its texts must be escaped already. All columns but the first are figures, unless
    `aligned` gives their alignment."""
    marks = aligned or ("---", *["---:"] * (len(head) - 1))
    lines = [f"| {' | '.join(cells)} |" for cells in (head, marks, *rows)]
    return [*lines, ""]


def _share(ns: int, whole: int) -> str:
    return f"{100 * ns / whole:.1f} %" if whole > 0 else "-"


def _phases(trace: Trace) -> list[str]:
    found = sums.phases(trace)
    if not found:
        return []
    known = sums.known_phases(trace)
    rows = [
        (code(n), f"{seconds(ns)} s", _share(ns, trace.total_ns))
        if n in known
        else (code(n), "not known", "")
        for n, ns in found.items()
    ]
    rows.append(("**total**", f"**{trace.took(seconds)}**", ""))
    return ["### Phases", "", *table(("phase", "length", "share"), rows)]


def _milestones(trace: Trace) -> list[str]:
    later = trace.earliest()
    rows = [
        (code(name), f"{seconds(ns, 6)} s{' or later' if name in later else ''}")
        for name, ns in trace.milestones().items()
    ]
    return ["### Milestones", "", *table(("milestone", "reached at"), rows)] if rows else []


def _consumers(trace: Trace) -> list[str]:
    """The call paths that took the most time, by their innermost frame."""
    if not trace.stacks:
        return []
    ranked = sorted(call_paths(trace).items(), key=lambda item: (-item[1], item[0]))[:TOP]
    rows = [
        (code(path[-1] if path else "?"), span(ns), _share(ns, trace.total_ns), code(" > ".join(path[:-1])))
        for path, ns in ranked
    ]
    return ["### Biggest consumers", "", *table(("what", "self time", "share", "in"), rows)]


def _longest(trace: Trace) -> list[str]:
    lines: list[str] = []
    for kind, title in _LISTED.items():
        found = sums.longest(trace, kind, TOP)
        if found:
            rows = [(code(name), span(ns)) for name, ns in found]
            lines += ["<details>", f"<summary>{title}: the longest {len(rows)}</summary>", ""]
            lines += [*table(("name", "time"), rows), "</details>", ""]
    return lines


def make(subject: Subject) -> bytes:
    """The bytes of a .md file."""
    trace = subject.trace
    ended = f"**{trace.took(seconds)}**"
    if subject.failure:
        ended = f"**not complete** after {trace.took(seconds)}: {code(subject.failure)}"
    lines = [f"## Boot of {escaped(trace.title)}", "", ended, "", *body(trace, subject.facts)]
    return ("\n".join(lines) + "\n").encode()


def body(trace: Trace, facts: Mapping[str, str]) -> list[str]:
    """The lines below the heading: what the boot's time went into, then `facts` and notes in small print."""
    lines = [*_milestones(trace), *_phases(trace), *_consumers(trace), *_longest(trace)]
    told = [f"{escaped(k)}: {code(v)}" for k, v in facts.items()]
    notes = [escaped(trace.clock), *told, *(escaped(note) for note in trace.notes)]
    return [*lines, small(notes)]


def small(notes: Iterable[str]) -> str:
    """Notes in small print, one per line; their texts must be escaped already."""
    return f"<sub>{'<br>'.join(notes)}</sub>"

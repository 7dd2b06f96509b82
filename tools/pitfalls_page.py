# SPDX-License-Identifier: Apache-2.0
"""Writes docs/pitfalls.md from the records.

    python tools/pitfalls_page.py

A unit test compares the page with the records, so it cannot become outdated.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.audit.pitfalls.model import KINDS, How, Pitfall, pitfalls
from bootscope.techniques.model import DOCUMENTS

PAGE = ROOT / "docs" / "pitfalls.md"
_TITLES = {
    "order": "Order of work",
    "falcon": "Falcon mode",
    "filesystem": "File systems",
    "licence": "Licences",
}


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    found = pitfalls()
    checked = sum(p.how == How.CHECKED for p in found.values())
    yield "# Pitfalls"
    yield ""
    yield "<!-- made by tools/pitfalls_page.py from src/bootscope/audit/pitfalls/records; change it there -->"
    yield ""
    yield f"The {len(found)} known ways to be misled, or to break something, while you shorten a boot."
    yield "`bootscope audit` reports those that affect a system, `bootscope pitfalls ID` explains one."
    yield ""
    yield f"- **checked** ({checked}): the audit looks for it. *Seen by* says where, and what it cannot see."
    yield f"- **advice** ({len(found) - checked}): only a person, or the board itself, can tell."
    yield "  `audit --pitfalls` lists those that concern the system."
    for kind in KINDS:
        chosen = {name: p for name, p in found.items() if p.kind == kind}
        if chosen:
            yield from ("", f"## {_TITLES.get(kind, kind.capitalize())}")
            for name, p in chosen.items():
                yield from _entry(name, p)
    yield from ("", "## Documents", "")
    yield from (f"- {key}: {title}" for key, title in DOCUMENTS.items())


def _entry(name: str, p: Pitfall) -> Iterator[str]:
    yield from ("", f"### {name}", "")
    yield f"**{p.title}.** {_text(p.what)}"
    yield ""
    yield f"- What to do: {_text(p.do)}"
    yield f"- {'Seen by' if p.how == How.CHECKED else 'Advice only'}: {_text(p.by)}"
    if p.covered_by:
        links = ", ".join(f"[{t}](techniques.md#{t})" for t in p.covered_by)
        yield f"- See also: {links}"
    if p.refs:
        yield f"- Described in: {_text('; '.join(p.refs))}"


def _text(text: str) -> str:
    """Text of a record on one line; escapes what Markdown would take for HTML."""
    return " ".join(text.split()).replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)}: {len(pitfalls())} pitfalls")

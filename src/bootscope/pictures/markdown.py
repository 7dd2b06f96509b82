# SPDX-License-Identifier: Apache-2.0
"""A text for a pull request, an issue or a wiki: a picture, what to do first, the figures.

The picture is a file beside the text, in light colours and in dark ones; GitHub shows the one that suits the
reader. Texts from a boot are escaped as in :mod:`bootscope.export.markdown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from bootscope.core.text import signed
from bootscope.export.markdown import body, code, escaped, small, table
from bootscope.pictures import compared, dots
from bootscope.pictures.subject import Boot, Subject
from bootscope.report.answer import Answer
from bootscope.report.runs_html import of_boots


def text(subject: Subject, title: str, picture: str, dark: str, first: Sequence[Answer]) -> bytes:
    """The bytes of a .md file that shows the files `picture` and `dark`, named relative to it. `first` are
    the findings of a single boot (:mod:`bootscope.report.answer`)."""
    lines = [f"## {escaped(title, 200)}", "", *_picture(title, picture, dark), ""]
    boots = subject.boots
    if len(boots) == 1:
        lines += [*_findings(first), *body(boots[0].trace, _facts(boots[0]))]
    else:
        lines += _compared(subject)
    return ("\n".join(lines) + "\n").encode()


def _picture(title: str, picture: str, dark: str) -> Iterator[str]:
    yield "<picture>"
    yield f'<source media="(prefers-color-scheme: dark)" srcset="{_address(dark)}">'
    yield f'<img alt="{escaped(title, 200)}" src="{_address(picture)}">'
    yield "</picture>"


def _address(name: str) -> str:
    """A file's name, escaped as an address."""
    return escaped(quote(name), 1000)


def _facts(boot: Boot) -> Mapping[str, str]:
    facts = {"boot": boot.boot_id, **({"until": boot.until} if boot.until else {})}
    if boot.boots:
        facts["tables"] = f"of this boot, one of {len(boot.boots.boots)}"
    return facts


def _findings(first: Sequence[Answer]) -> list[str]:
    """What to do first, with the commands to type."""
    if not first:
        return []
    rows = []
    for row in first:
        cost = f"{'up to ' if row['at_most'] else ''}{row['cost']}"
        typed = row["commands"]
        commands = [code(str(c)) for c in typed] if isinstance(typed, list) else []
        what = "<br>".join(
            part for part in (escaped(str(row["what"]), 300), escaped(str(row["where"]), 300)) if part
        )
        cure = "<br>".join([escaped(str(row["do"]), 300), *commands])
        rows.append((cost, what, cure))
    return ["### What to do first", "", *table(("costs", "what", "remedy"), rows, ("---:", "---", "---"))]


def _compared(subject: Subject) -> list[str]:
    """A table of what changed: with intervals if boots vary, otherwise boot by boot."""
    found = dots.comparison(subject)
    if found and not found.refused:
        told = of_boots(found)
        return [*_table(told), small([escaped(f"A: {told['a']}"), escaped(f"B: {told['b']}")])]
    rows = []
    for at, boot in enumerate(subject.boots):
        change = compared.change(subject.boots[at - 1], boot) if at else ""
        rows.append((code(boot.name), boot.took, escaped(change)))
    lines = table(("boot", "took", "change"), rows)
    steps = compared.steps(subject)
    if len(subject.boots) == 2 and steps:
        lines += ["### Phase by phase", ""]
        lines += table(("phase", "change"), [(code(name), escaped(signed(ns))) for name, ns in steps])
    return lines


def _table(told: Mapping[str, object]) -> list[str]:
    columns, rows = told["columns"], told["rows"]
    if not (isinstance(columns, tuple) and isinstance(rows, list)):
        return []
    heads = tuple(escaped(str(name)) for name in columns)
    cells = [(code(str(row[0])), *(escaped(str(cell)) for cell in row[1:])) for row in rows]
    return table(heads, cells)

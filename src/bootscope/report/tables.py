# SPDX-License-Identifier: Apache-2.0
"""Tables for terminals of any width: a figure is shown whole, or its column is left out and named.

Texts are wrapped between words, headings too; those of a cut column stay on one line and end in `…`. If the
rest still does not fit, whole columns are dropped: first those in `spare`, in that order, then from the
right. The first column stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

_GAP = 2
_LEAST_TEXT, _MOST_WORD, _MOST_NAME, _LEAST_CUT = 16, 24, 34, 38
"""Widths in cells: the least of a text; up to how much it grows for a long word, and in the first column; the
least of a cut text, unless three fifths of the terminal are more."""
_WIDEST = 10_000


class FittedTable(Table):
    """A table without lines that fits its terminal. `spare` are headings of columns to drop, in order."""

    def __init__(self, spare: Sequence[str], header_style: str, *, show_header: bool = True) -> None:
        super().__init__(box=None, pad_edge=False, header_style=header_style, show_header=show_header)
        self._spare = tuple(spare)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The columns that fit, and a line that names those that do not."""
        kept = list(range(len(self.columns)))
        needs = [self._needed(console, options, at) for at in range(len(self.columns))]
        gone: list[str] = []
        for at in self._goes_first():
            if _sum([needs[k].minimum for k in kept]) <= options.max_width:
                break
            kept.remove(at)
            gone.append(_plain(self.columns[at].header))
        widths = _shared([needs[k] for k in kept], options.max_width)
        yield from self._narrowed(kept, widths).__rich_console__(console, options)
        cut = [
            f"the rest of {_plain(self.columns[k].header)}"
            for k, width in zip(kept, widths, strict=True)
            if _is_cut(self.columns[k]) and needs[k].maximum > width
        ]
        if named := [name for name in (*gone, *cut) if name]:
            text = f"not shown: {', '.join(named)}; a wider terminal or --json has them"
            yield Text(text, "dim")

    def _needed(self, console: Console, options: ConsoleOptions, at: int) -> Measurement:
        # The first column has the name of the row's subject.
        word = _MOST_WORD if at else _MOST_NAME
        return _needed(console, options, self.columns[at], self.show_header, word)

    def _goes_first(self) -> list[int]:
        """The columns in the order in which they are dropped; without the first, which stays."""
        names = [_plain(column.header) for column in self.columns]
        named = [names.index(name) for name in self._spare if name in names]
        return [*named, *(at for at in range(len(names) - 1, 0, -1) if at not in named)]

    def _narrowed(self, kept: Sequence[int], widths: Sequence[int]) -> Table:
        made = Table(box=None, pad_edge=False, header_style=self.header_style, show_header=self.show_header)
        for at, width in zip(kept, widths, strict=True):
            column = self.columns[at]
            # If not even the first column fits, it is wrapped.
            made.add_column(
                column.header,
                justify=column.justify,
                style=column.style,
                width=width,
                overflow="fold",
            )
        cells = [
            [_cut(cell, width) if _is_cut(self.columns[at]) else cell for cell in self.columns[at].cells]
            for at, width in zip(kept, widths, strict=True)
        ]
        for number, row in enumerate(self.rows):
            made.add_row(*(column[number] for column in cells), style=row.style, end_section=row.end_section)
        return made


def _is_cut(column: Column) -> bool:
    return column.overflow == "ellipsis"


def _cut(cell: RenderableType, width: int) -> RenderableType:
    """A text of at most `width` cells; a figure is dropped rather than cut."""
    if not isinstance(cell, Text) or cell.cell_len <= width:
        return cell
    kept = cell.plain[: width - 1]
    last = re.split(r"\s", kept)[-1]
    whole = kept.removesuffix(last) if re.search(r"\d", last) else kept
    return Text(f"{whole}…", cell.style)


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _plain(header: RenderableType) -> str:
    return header.plain if isinstance(header, Text) else str(header)


def _needed(
    console: Console, options: ConsoleOptions, column: Column, show_header: bool, most_word: int
) -> Measurement:
    """A column's widths: the least that keeps it readable, and the most it can use, where nothing wraps."""
    wide = options.update(max_width=_WIDEST)
    cells = [Measurement.get(console, wide, cell) for cell in column.cells]
    longest, word = max((m.maximum for m in cells), default=0), max((m.minimum for m in cells), default=0)
    head = Measurement.get(console, wide, column.header) if show_header else Measurement(0, 0)
    # no_wrap columns must not be wrapped; right-aligned columns hold figures.
    if _is_cut(column):
        # A message readable as far as possible is worth more than the other columns.
        least = min(longest, max(_LEAST_CUT, options.max_width * 3 // 5))
    elif column.no_wrap or column.justify == "right":
        least = longest
    else:
        least = max(min(longest, _LEAST_TEXT), min(word, most_word))
    return Measurement(max(least, head.minimum), max(longest, head.maximum))


def _shared(needs: Sequence[Measurement], width: int) -> list[int]:
    """The widths of columns: each its minimum, and an equal share of the rest up to its maximum."""
    found = [need.minimum for need in needs]
    left = max(0, width - _sum(found))
    wanting = sorted(range(len(needs)), key=lambda at: needs[at].span)
    for place, at in enumerate(wanting):
        more = min(needs[at].span, left // (len(wanting) - place))
        found[at] += more
        left -= more
    return [min(cells, width) for cells in found]


def make_table(
    *columns: str, spare: Sequence[str] = (), header_style: str = "dim", show_header: bool = True
) -> FittedTable:
    """A table without lines. Columns that begin with '>' are right-aligned and never wrapped, with '=' not
    wrapped, with '<' cut at their end; the others hold texts. `spare` are the headings of those to drop first
    when there is no room."""
    table = FittedTable(spare, header_style, show_header=show_header)
    for column in columns:
        right, whole = column.startswith(">"), column.startswith((">", "="))
        table.add_column(
            column.lstrip(">=<"),
            justify="right" if right else "left",
            no_wrap=whole,
            overflow="ellipsis" if column.startswith("<") else "fold",
        )
    return table

# SPDX-License-Identifier: Apache-2.0
"""Published tables for the emulated board: what to build, and which figures to compare with."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

import msgspec

from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.settings import Setting, Sourced, load, names_in
from bootscope.loaders.registry import PHASES
from bootscope.published.shared_parts import problem_of_parts
from bootscope.system.changes import Change
from bootscope.techniques.model import figures

SCHEMA = 1
TABLES = Path(__file__).parent / "tables"
KERNEL_FILES = Path(__file__).parent / "tables" / "kernel"
_FILES = "kernel.files"


class Compared(StrEnum):
    """How comparisons with published figures are counted: only times show how accurate times are."""

    TIME = "times"
    COPY = "copies"
    SIZE = "sizes"


END = "end"
"""The `until` of a measure that ends at the last milestone."""


class Measure(Setting, frozen=True):
    """What is measured in a boot or its images; exactly one of the first six fields after `title` is set.

    `until`: time from power-on to the start of that phase, or to the end. `phases`: the total time of these.
    `reading`: the card's time for reading the thing of that name. `function`: CPU time of a function and the
    functions that it calls, named as in `show --view functions`. `lines`: time from the first console line
    with the one text to the next with the other. `parts`: total bytes of images; of names with `|` between
    them, the first that exists.
    `without`: functions, named as in `show`, whose CPU time is not counted in `until` or `phases`, because
    their work is counted in another way.
    `why`: why a difference is expected, where the reason is not the table's.
    `less_ns`: a part of its published times that is subtracted from each of them; its source says where the
    document states that. `noise_ns`: by how much its published times vary from boot to boot where nothing was
    changed; its source says where the document shows that.
    """

    title: str
    until: str = ""
    phases: tuple[str, ...] = ()
    reading: str = ""
    function: str = ""
    lines: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    why: str = ""
    less_ns: Sourced | None = None
    noise_ns: Sourced | None = None

    @property
    def kind(self) -> str:
        """The name of the field that is set; empty for none or several."""
        kinds = ("until", "phases", "reading", "function", "lines", "parts")
        used = [kind for kind in kinds if getattr(self, kind)]
        return used[0] if len(used) == 1 else ""

    @property
    def unit(self) -> str:
        """The unit of its values: `ns` or `bytes`."""
        return "bytes" if self.parts else "ns"

    @property
    def compared(self) -> Compared:
        """How its figures are counted. A card's time for reading something only shows the size again, as its
        rate was taken from published figures."""
        return Compared.SIZE if self.parts else Compared.COPY if self.reading else Compared.TIME


class Row(Setting, frozen=True):
    """A row: the base of the table, with the own bases of the techniques that `base_of` names, then with
    techniques (`ID`, `ID=RECIPE`) and a change. `on`: a row above, whose system replaces the base.

    `against`: the row that it is compared with; empty: the table's reference.
    `published`: measure -> ids of the figures to compare with. `less_ns`: by the id of such a figure, a part
    of that figure alone that is subtracted; its source says where the document states that.
    """

    on: str = ""
    base_of: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    change: Change = Change()
    against: str = ""
    published: dict[str, tuple[str, ...]] = {}
    less_ns: dict[str, Sourced] = {}


class OtherBoard(Setting, frozen=True):
    """What a table changes in the board: a card, a CPU of another speed, or the core profile of the published
    board, whose caches and memory are modelled; its `core_changes` are written as for `what-if`."""

    title: str
    core: str = ""
    core_changes: tuple[str, ...] = ()
    bandwidth_bytes_per_s: Sourced | None = None
    command_latency_ns: Sourced | None = None
    icount_shift: Sourced | None = None


class Table(Setting, frozen=True):
    """A table. `base` is the change to the system that all rows have; `parts` are names of changes in parts/
    that several tables share, made before it; `techniques` are applied before both, such as one that makes
    the kernel as small as the published one. `reference` is the row that the others are compared with.
    `until`: the last milestone to boot to; empty: the system's last.
    `kernel_files`: sources that replace the kernel's or are added to them, by path: names in KERNEL_FILES.
    `differs`: what is different from the published system; `why`: the effect of that on the figures.
    `left_out`: what of the published table cannot be run here, and why.
    """

    schema: int
    id: str
    title: str
    reference: str
    differs: str
    why: str
    measures: dict[str, Measure]
    rows: dict[str, Row]
    system: str = "stock"
    techniques: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    base: Change = Change()
    kernel_files: dict[str, str] = {}
    board: OtherBoard | None = None
    until: str = ""
    left_out: tuple[str, ...] = ()

    def against(self, row: str) -> str:
        """The row that a row is compared with; for the reference, itself."""
        return self.rows[row].against or self.reference

    def figure_ids(self) -> list[str]:
        """The published figures, row by row."""
        return [name for row in self.rows.values() for ids in row.published.values() for name in ids]


def table_ids() -> list[str]:
    """The names of all tables."""
    return names_in(TABLES)


def table(name: str) -> Table:
    """The table of that name. Raises UserError when there is none, or its file contradicts itself."""
    if name not in table_ids():
        raise unknown("table", name, table_ids())
    path = TABLES / f"{name}.toml"
    found = load(path, Table)
    problem = _problem(found, name)
    if problem:
        raise UserError(printable(f"{path}: {problem}"))
    return _with_kernel_files(found)


def _with_kernel_files(t: Table) -> Table:
    """The table with the texts of its kernel files among the settings of its base."""
    if not t.kernel_files:
        return t
    texts = {path: (KERNEL_FILES / name).read_text() for path, name in t.kernel_files.items()}
    base = msgspec.structs.replace(t.base, settings={**t.base.settings, _FILES: texts})
    return msgspec.structs.replace(t, base=base)


def _problem(t: Table, name: str) -> str:
    """What is wrong with a table; empty when nothing is."""
    if (t.schema, t.id) != (SCHEMA, name):
        return f"expected schema {SCHEMA} and id '{name}'"
    if t.reference not in t.rows or t.rows[t.reference].techniques:
        # It runs first, when no boot exists yet that could provide values for a technique.
        return f"reference: expected a row without techniques, got '{t.reference}'"
    for key, m in t.measures.items():
        if problem := _problem_of_measure(m):
            return f"measures.{key}{problem}"
    if problem := problem_of_parts(t):
        return problem
    if stray := set(t.kernel_files.values()) - {path.name for path in KERNEL_FILES.iterdir()}:
        return f"kernel_files: there is no {min(stray)} in {KERNEL_FILES.name}/"
    above = [""]
    for key in t.rows:
        if problem := _problem_of_row(t, key, above):
            return f"rows.{key}{problem}"
        above.append(key)
    return ""


def _problem_of_row(t: Table, key: str, above: Collection[str]) -> str:
    """What is wrong with a row, after its key; `above`: the names of the rows above it."""
    row = t.rows[key]
    if row.on not in above:
        return f".on: expected a row above, got '{row.on}'"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", key) or t.against(key) not in t.rows:
        return ": expected a plain name, and a row to be compared with"
    for measure, ids in row.published.items():
        if measure not in t.measures or not set(ids) <= figures().keys():
            return f".published.{measure}: expected a measure, and figures that there are"
    if stray := row.less_ns.keys() - {name for ids in row.published.values() for name in ids}:
        return f".less_ns: {min(stray)} is no figure of this row"
    return ""


def _problem_of_measure(m: Measure) -> str:
    """What is wrong with a measure, to follow its name; empty when nothing is."""
    phases = {*m.phases, *([m.until] if m.until and m.until != END else [])}
    if not m.kind or phases - set(PHASES) or (m.lines and len(m.lines) != 2):
        return f": expected one way to measure, with phases of {', '.join(PHASES)}"
    if m.noise_ns and m.parts:
        return ".noise_ns: sizes do not vary from boot to boot"
    if m.without and not phases and not m.until:
        return ".without: only time up to or of phases has functions that are not counted"
    return ""

# SPDX-License-Identifier: Apache-2.0
"""A technique: a known way to save boot time, with its description, its changes and its sources."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import msgspec

from bootscope.core.errors import UserError, unknown
from bootscope.core.settings import Setting, load, names_in
from bootscope.system.changes import Change

SCHEMA = 1
HERE = Path(__file__).parent
CATALOGUE = HERE / "catalogue"
MEASURED = HERE / "measured.json"
"""What techniques saved on the reference system; written by tools/measure_techniques.py, like the files
beside it, `measured-*.json`, for techniques that this system cannot verify."""

PHASES = (
    "hardware", "rom", "spl", "bootloader", "load", "decompress", "kernel", "filesystem", "init",
    "application", "toolchain", "measuring",
)  # fmt: skip
ABILITIES = (
    "measuring", "debugging", "console", "updating", "login", "network", "modules", "usb", "recovery",
    "security", "integrity", "flexibility",
)  # fmt: skip
"""What a technique can take from a system."""


class Status(StrEnum):
    """What can be done with a technique here."""

    RUNS = "runs-here"
    HARDWARE = "needs-hardware"
    OBSOLETE = "obsolete"


class Applies(Setting, frozen=True):
    """When a technique's recipe is worth trying, if it would change anything; all conditions must hold.

    `kernel`, `uboot`, `busybox`: symbols with the value they must have in the configuration as built.
    `command_line`: words that must be there; `command_line_lacks`: names of words that must not.
    `filesystem`: of the root. `settings`: settings with the value they must have. `files`: patterns of paths;
    each must match a path of the root file system. `compiler_options`: options that the application must
    have; `compiler_options_lack`: options that it must not have.
    `shows`: something that a recorded boot must show (`INDICATORS` in inventory/indicators.py).
    """

    kernel: dict[str, str | bool] = {}
    uboot: dict[str, str | bool] = {}
    busybox: dict[str, str | bool] = {}
    command_line: tuple[str, ...] = ()
    command_line_lacks: tuple[str, ...] = ()
    filesystem: tuple[str, ...] = ()
    settings: dict[str, str | int | bool] = {}
    files: tuple[str, ...] = ()
    compiler_options: tuple[str, ...] = ()
    compiler_options_lack: tuple[str, ...] = ()
    shows: str = ""


class Recipe(Setting, frozen=True):
    """How to carry a technique out: its change, and how its saving is predicted.

    `predict` are changes that `bootscope what-if` knows, "left-out" (only what the change removes from the
    kernel counts) and "driver-parameters" (the effect of those; see audit/forecast.py). `base` makes a system
    in which there is something to save, for a technique that the reference system already uses:
    `try --own-base` starts from it.
    `milestone`: the milestone that it makes earlier, where that is not the recording's last, which may be
    later.
    """

    change: Change
    base: Change = Change()
    title: str = ""
    applies: Applies = Applies()
    predict: tuple[str, ...] = ()
    milestone: str = ""


class Scope(Setting, frozen=True):
    """The systems that a technique is for, in addition to the conditions of its recipes; empty or 0: any.

    `architectures`: names of arch/told.py. `inits`: init systems. `roots`: where the root file system is.
    `least_cpus`, `most_cpus`: the number of processors. For `inits` and `roots` see inventory/machine.py.
    """

    architectures: tuple[str, ...] = ()
    inits: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    least_cpus: int = 0
    most_cpus: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All names in it, such as `systemd` or `arm64`."""
        return (*self.architectures, *self.inits, *self.roots)


class Source(Setting, frozen=True):
    """A public document that describes a technique, in addition to DOCUMENTS: `by` is its author or
    publisher, `year` is 0 where unknown. `figure`: the saving that it states, with the machine; empty where
    it states none."""

    title: str
    by: str
    year: int = 0
    url: str = ""
    figure: str = ""

    @property
    def words(self) -> str:
        """The citation."""
        return f"{self.by}, {self.title}" + (f", {self.year}" if self.year else "")


class Technique(Setting, frozen=True):
    """A technique. `recipes` is empty when bootscope does not carry it out by itself; `carried_out_by` then
    names what does: other techniques, or the verb `trim`. `conflicts` may be given by one of the two
    techniques; :func:`techniques` has them on both. `default`: the recipe of several that the id alone means;
    empty for none. `refs` and `figures` refer to DOCUMENTS, `sources` are others."""

    schema: int
    id: str
    phase: str
    status: Status
    title: str
    what: str
    detect: str
    apply: str
    risk: str = ""
    loses: tuple[str, ...] = ()
    licence: str = ""
    status_why: str = ""
    replaced_by: tuple[str, ...] = ()
    carried_out_by: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    applies_to: Scope = Scope()
    refs: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    default: str = ""
    recipes: dict[str, Recipe] = {}


class Figure(msgspec.Struct, frozen=True):
    """A published figure: what was measured, on which board, with which value; all as printed."""

    id: str
    seed: str
    slide_section: str
    board: str
    cpu_mhz: str
    kernel_version: str
    metric: str
    variant: str
    value: str
    unit: str
    baseline_value: str
    delta: str
    note: str


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Two boots of a system, without and with a change: when each reached the milestone, in ns of board time,
    and the two recordings. `error` says why there are no boots."""

    date: str
    works: bool = False
    faults: tuple[str, ...] = ()
    base: str = ""
    variant: str = ""
    base_ns: int | None = None
    variant_ns: int | None = None
    saving_ns: int | None = None
    error: str = ""


class Measured(Trial, frozen=True, kw_only=True):
    """A recipe of a technique, alone, on the reference system or another `system`. `milestone`: the recipe's
    own, if it has one; then `later_ns` is how much later the recording's last milestone came."""

    technique: str
    predicted_ns: int | None = None
    milestone: str = ""
    later_ns: int | None = None
    system: str = ""


class Together(Trial, frozen=True, kw_only=True):
    """Recipes of several techniques in one build. `in_place` are those that an audit proposes for the boot
    without them but not for the boot with them."""

    techniques: tuple[str, ...]
    in_place: tuple[str, ...] = ()


class Table(msgspec.Struct, frozen=True):
    """What tools/measure_techniques.py writes: techniques alone, and several in one build."""

    command: str = ""
    system: str = ""
    rows: tuple[Measured, ...] = ()
    together: tuple[Together, ...] = ()


DOCUMENTS = {
    "000": "Bootlin, Embedded Linux boot time optimization training, May 2024",
    "001": "M. Opdenacker, A. Belloni, Update on boot time reduction techniques, ELC 2014",
    "002": "A. Puschmann, Quantitative analysis of system initialization in embedded Linux systems, 2009",
    "003": "G. Clement, S. Polette, Boot time optimisation, about 2009",
    "004": "N. Mc Guire, Kernel boot-time optimization, 2006 or earlier",
}
"""The document for the first part of a figure's or a reference's id."""


@functools.cache
def figures() -> dict[str, Figure]:
    """All published figures by id (document:line)."""
    with (HERE / "figures.csv").open(newline="") as f:
        return {row["id"]: Figure(**row) for row in csv.DictReader(f)}


@functools.cache
def measured(folder: Path = HERE) -> dict[str, Measured]:
    """Our own measurements, by technique or `technique=recipe`: on the reference system or, where that cannot
    verify it, on another one. `folder` has a table for each system."""
    found: dict[str, Measured] = {}
    for row in measured_anywhere(folder):
        found.setdefault(row.technique, row)
    return found


@functools.cache
def measured_anywhere(folder: Path = HERE) -> tuple[Measured, ...]:
    """Our own measurements, on all systems: the reference system first."""
    return tuple(
        msgspec.structs.replace(row, system=table.system) for table in tables(folder) for row in table.rows
    )


@functools.cache
def tables(folder: Path = HERE) -> tuple[Table, ...]:
    """Our own measurements, one table for each system: the reference system first."""
    paths = (folder / MEASURED.name, *sorted(folder.glob(f"{MEASURED.stem}-*.json")))
    return tuple(msgspec.json.decode(path.read_bytes(), type=Table) for path in paths if path.exists())


def measured_of(found: Technique) -> list[Measured]:
    """The measurements of a technique's recipes, in their order: for each, the reference system first."""
    names = [found.id, *(f"{found.id}={recipe}" for recipe in found.recipes)]
    return [row for name in names for row in measured_anywhere() if row.technique == name]


def technique_ids() -> list[str]:
    """The ids of all techniques, in alphabetical order."""
    return names_in(CATALOGUE)


def technique(name: str) -> Technique:
    """The technique of that id. Raises UserError when there is none."""
    if name not in technique_ids():
        raise unknown("technique", name, technique_ids(), "bootscope techniques")
    return techniques()[name]


@functools.cache
def techniques(folder: Path = CATALOGUE) -> dict[str, Technique]:
    """All techniques of a folder by id, in the order of the phases they belong to, then by id.

    Raises UserError for an invalid file, and for one that conflicts with a technique that does not exist.
    """
    found = [_read(folder, name) for name in names_in(folder)]
    pairs = {pair for t in found for other in t.conflicts for pair in ((t.id, other), (other, t.id))}
    if missing := sorted({one for one, _ in pairs} - {t.id for t in found}):
        raise UserError(f"{folder}: techniques conflict with {', '.join(missing)}, which is not there")
    whole = (
        msgspec.structs.replace(t, conflicts=tuple(sorted(two for one, two in pairs if one == t.id)))
        for t in found
    )
    return {t.id: t for t in sorted(whole, key=lambda t: (PHASES.index(t.phase), t.id))}


def _read(folder: Path, name: str) -> Technique:
    path = folder / f"{name}.toml"
    found = load(path, Technique, old_names={"ways": "recipes"})
    if found.id != name or found.phase not in PHASES:
        raise UserError(f"{path}: expected id '{name}' and a phase of {', '.join(PHASES)}")
    return found


def in_order(specs: Iterable[str]) -> list[str]:
    """Recipes of techniques (ID or ID=RECIPE) in a fixed order, so that the same techniques make the same
    system."""
    order = {name: number for number, name in enumerate(techniques())}
    return sorted(specs, key=lambda spec: (order.get(spec.partition("=")[0], len(order)), spec))


def by_phase(techniques: Iterable[Technique]) -> list[tuple[str, list[Technique]]]:
    """Techniques grouped by phase, in the order of the boot; phases without any are left out."""
    found: dict[str, list[Technique]] = {phase: [] for phase in PHASES}
    for each in techniques:
        found[each.phase].append(each)
    return [(phase, group) for phase, group in found.items() if group]

# SPDX-License-Identifier: Apache-2.0
"""The differences between two configurations of a system's kernel: symbols that a user can set. All others
follow from these, and Kconfig decides on each combination."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import msgspec

from bootscope.analysis.views import view
from bootscope.boards.profile import load_board
from bootscope.builder.ids import id_of
from bootscope.capture.objects import KERNEL_CONFIG
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.core.errors import UserError, printable
from bootscope.core.text import listed
from bootscope.kbuild import kconfig
from bootscope.kbuild import symbols as tree_symbols
from bootscope.regression.inputs import Inputs
from bootscope.regression.related import related
from bootscope.regression.units import Chosen, Unit
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem, load_system, system_names
from bootscope.system.model import Symbols, builds_kernel

_WHOLE = "Automatically generated file; DO NOT EDIT"
"""What Kconfig writes at the top of each full configuration."""
Config = Mapping[str, str]
"""Symbol -> value as written; a symbol that is missing is not visible."""


@dataclass(frozen=True)
class Configs(Inputs):
    """Two configurations, as Kconfig resolves what the user gives as `good` and `bad`; `own` is that of the
    system; `tree` are the symbols of its kernel; `asked`: what the user gave. `set_too`: symbols to set
    although they seem to follow from others."""

    option: ClassVar[str] = "--config"
    noun: ClassVar[tuple[str, str]] = ("symbol", "symbols")
    views: ClassVar[tuple[str, ...]] = ("initcalls", "functions", "console")
    sides: tuple[Config, Config]
    own: Config
    tree: tree_symbols.Symbols
    store: Store
    asked: tuple[Config, Config]
    set_too: frozenset[str] = frozenset()

    @cached_property
    def differing(self) -> dict[str, str]:
        """All symbols with different values -> the change, in words."""
        return changed(*self.sides)

    @property
    def notes(self) -> tuple[str, ...]:
        """Symbols that can be set, and did not get the given values."""
        found = []
        for name, asked, made in zip((self.good, self.bad), self.asked, self.sides, strict=True):
            wrong = [
                symbol
                for symbol, value in asked.items()
                if made.get(symbol, "n") != value and (symbol not in self.tree or self.tree[symbol].prompts)
            ]
            if wrong:
                found.append(f"{name}: Kconfig has other values for {len(wrong)} symbols: {listed(wrong)}")
        return tuple(found)

    @cached_property
    def key(self) -> str:
        """Of both contents and of the system's own configuration."""
        return id_of([dict(self.sides[0]), dict(self.sides[1]), dict(self.own)])

    def needs(self) -> Mapping[str, set[str]]:
        """Only of symbols that can be set."""
        return related(self.tree, *self.sides, list(self.differing), self.set_too)

    def moved(self, units: Sequence[Unit], before: StoredRun, after: StoredRun) -> tuple[str, ...]:
        """The symbols that differ between the configurations of two boots, without those of the units."""
        own = {words.partition(":")[0] for unit in units for words in (unit.words, *unit.more)}
        found = changed(*(_of_run(self.store, run) for run in (before, after)))
        return tuple(f"{name}: {told}" for name, told in found.items() if name not in own)

    @contextlib.contextmanager
    def system(self, chosen: Chosen) -> Iterator[LoadedSystem]:
        """The system with the symbols of a combination; it is built with what Kconfig makes of them."""
        old, new = self.sides
        from_bad = self.names(chosen)
        # Symbols that follow from others are left to Kconfig.
        wanted = {name: value for name, value in old.items() if name not in self.differing}
        if chosen:  # a symbol that is visible in the bad one only, and off there, might switch itself on
            wanted |= {name: "n" for name in new.keys() - old.keys() if new[name] == "n"}
        for name in self.names(self.units.all):
            value = (new if name in from_bad else old).get(name, "n" if chosen else None)
            wanted |= {} if value is None else {name: value}
        yield with_config(self.loaded, self.own, wanted)


def changed(old: Config, new: Config) -> dict[str, str]:
    """Symbols with different values -> both values, in words; a missing symbol is off."""
    names = sorted(name for name in {*old, *new} if old.get(name, "n") != new.get(name, "n"))
    return {n: f"{printable(old.get(n, 'n'))} -> {printable(new.get(n, 'n'))}" for n in names}


def with_config(loaded: LoadedSystem, own: Config, wanted: Config) -> LoadedSystem:
    """The system with another configuration of its kernel, as wishes over `own`, its present one: what the
    system's file sets and `wanted` has otherwise is no longer set."""
    kernel = loaded.system.kernel
    asked = {n: v for n, v in kernel.config.items() if wanted.get(n, "n") == kconfig.written(v)}
    wishes: Symbols = {n: value_of(v) for n, v in sorted(wanted.items()) if own.get(n) != v}
    changed_kernel = msgspec.structs.replace(kernel, config=asked, wishes={**kernel.wishes, **wishes})
    return replace(loaded, system=msgspec.structs.replace(loaded.system, kernel=changed_kernel))


def value_of(written: str) -> str | int:
    """A value as in a system file, from a value as written in a configuration."""
    if written.startswith('"') and written.endswith('"') and len(written) > 1:
        return written[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    try:
        return int(written)
    except ValueError:
        return written


def configs(loaded: LoadedSystem, given: tuple[str, str], bench: Bench) -> Configs:
    """The inputs that a user gives, resolved by the Kconfig of the system's kernel.

    Raises UserError for what is no configuration, a prebuilt kernel, and two equal configurations; ToolError
    if Kconfig cannot be run.
    """
    if not builds_kernel(loaded.system):
        raise UserError(
            f"{loaded.system.name} takes its kernel prebuilt, so that nothing of it is configured",
            hint="a system that builds it (bootscope help systems)",
        )
    asked = [_read(name, bench) for name in given]
    own = bench.configured(loaded, "kernel")
    whole = ({**({} if one.whole else own), **one.config} for one in asked)
    old, new = (bench.configured(with_config(loaded, own, one), "kernel") for one in whole)
    tree = tree_symbols.read(bench.source(loaded, "kernel"), load_board(loaded.system.board).arch)
    both = (asked[0].config, asked[1].config)
    found = Configs(loaded, given[0], given[1], (old, new), own, tree, bench.store, both)
    with found.system(found.units.all) as bad:
        wrong = changed(new, bench.configured(bad, "kernel")).keys() & found.differing.keys()
    found = replace(found, set_too=frozenset(wrong))
    if not len(found.units):
        raise UserError(
            f"{printable(given[0])} and {printable(given[1])} are the same configuration to the Kconfig of "
            f"{loaded.system.name}",
            hint="another pair" if asked[0] == asked[1] else "are they of another version of the kernel?",
        )
    return found


@dataclass(frozen=True)
class _Asked:
    """A configuration as given: a `whole` one, or some symbols to put over the system's."""

    config: Config
    whole: bool = True


def _read(given: str, bench: Bench) -> _Asked:
    """A configuration from a file, a system, or a run."""
    path = Path(given).expanduser()
    if path.suffix == ".toml" or (not path.exists() and given in system_names()):
        other = load_system(given)
        if not builds_kernel(other.system):
            raise UserError(f"{printable(given)} takes its kernel prebuilt", hint="a .config file, or a run")
        return _Asked(bench.configured(other, "kernel"))
    if path.is_dir():
        path /= ".config"
    if not path.exists():
        try:
            run = bench.store.find(given)
        except UserError as error:
            told = f"{printable(given)} is neither a file, a system nor a run: {error.message}"
            raise UserError(told, hint="the .config of a build; bootscope list shows runs") from error
        return _Asked(_of_run(bench.store, run))
    try:
        text = path.read_text()
    except (OSError, UnicodeError) as error:
        raise UserError(f"{printable(given)} is no kernel configuration: it cannot be read") from error
    found = kconfig.parse(text)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    strange = next((line for line in lines if not kconfig.parse(line)), "")
    if strange or not found:
        told = f"the line '{printable(strange[:60])}' sets no symbol" if strange else "it sets no symbol"
        raise UserError(
            f"{printable(given)} is no kernel configuration: {told}",
            hint="lines like CONFIG_X=y: the .config of a build, a fragment; or a run, or a system",
        )
    return _Asked(found, _WHOLE in text)


def _of_run(store: Store, run: StoredRun) -> Config:
    """The configuration of the kernel that a run booted. Raises UserError if it was not kept."""
    text = view(store, run).evidence.load(KERNEL_CONFIG).decode("utf-8", "replace")
    found = kconfig.parse(text)
    if not found:
        raise UserError(f"{run.info.run_id} was recorded without the configuration of its kernel")
    return found

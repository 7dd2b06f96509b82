# SPDX-License-Identifier: Apache-2.0
"""The board's own firmware for images: built once, with a boot loader that looks for what is on the card."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.boards.profile import Board
from bootscope.builder.sources import Wanted, fetch_all
from bootscope.builder.step import Runner, Step
from bootscope.builder.steps import firmware, uboot, unpack
from bootscope.capture.record import SourceFact
from bootscope.core.errors import UserError
from bootscope.image.code import Code
from bootscope.loaders.model import FIRMWARE
from bootscope.loaders.model import Firmware as FirmwareKind
from bootscope.system.load import LoadedSystem, load_system
from bootscope.system.model import Firmware, System

_TABLE = Path(__file__).with_name("firmware.toml")


@dataclass(frozen=True)
class Built:
    """Firmware: `flash` is the image of the memory that the board begins in, `content` its id, `code` its
    programs by name, `kept` files by the names in capture.objects, `steps` what of the cache is in use."""

    flash: Path
    content: str
    code: Mapping[str, Code]
    kept: Mapping[str, Path]
    sources: Mapping[str, SourceFact]
    steps: tuple[str, ...]


def boards() -> list[str]:
    """The boards that have firmware for images."""
    return list(_described())


def _described() -> dict[str, dict[str, object]]:
    return tomllib.loads(_TABLE.read_text())


def built(board: Board, runner: Runner) -> Built:
    """The firmware of a board, built where the cache does not have it.

    Raises UserError for a board without, ToolError when it cannot be built.
    """
    described = _described().get(board.name)
    if described is None:
        raise UserError(
            f"the board {board.name} has no firmware for images",
            hint=f"--through kernel; boards with firmware: {', '.join(_described())}",
        )
    loaded = load_system(str(described["system"]))
    system = _configured(loaded.system, described["config"])
    assert isinstance(system.firmware, Firmware)
    results, facts = _run(loaded, system, system.firmware, board, runner)
    loader = board.boot_loader
    flash = results[FIRMWARE] / _known(board).image
    files = {p.name: results[loader.tree_of(p)] / p.code_file for p in loader.programs}
    kept = {p.code: files[p.name] for p in loader.programs}
    kept |= {p.symbols: results[loader.tree_of(p)] / p.symbols_file for p in loader.programs}
    return Built(
        flash=flash,
        content=results[FIRMWARE].name,
        code={name: Code(path.read_bytes()) for name, path in files.items()},
        kept={**kept, loader.config: results[loader.tree] / "config"},
        sources=facts,
        steps=tuple(path.name for path in results.values()),
    )


def _known(board: Board) -> FirmwareKind:
    """What is known of the program below its boot loader."""
    known = board.boot_loader.firmware
    assert known
    return known


def _configured(system: System, config: object) -> System:
    symbols = msgspec.convert(config, type=dict[str, str | int | bool])
    boot = msgspec.structs.replace(system.uboot, config={**system.uboot.config, **symbols})
    return msgspec.structs.replace(system, uboot=boot)


def _run(
    loaded: LoadedSystem, system: System, below: Firmware, board: Board, runner: Runner
) -> tuple[dict[str, Path], dict[str, SourceFact]]:
    """Results of all steps by name, and where the sources are from."""
    names = (system.uboot.source, below.source)
    wanted = [Wanted(name, system.sources[name], loaded.path.parent) for name in names]
    found = fetch_all(wanted, runner.cache, runner.progress)
    steps: list[Step] = [unpack.step(name, source) for name, source in found.items()]
    steps += [uboot.step(system, board.arch, board.boot_loader)]
    steps += [firmware.step(system, below, board)]
    ids: dict[str, str] = {}
    results: dict[str, Path] = {}
    for step in steps:
        ids[step.name] = step.step_id(ids)
        results[step.name] = runner.run(step, ids[step.name], {name: results[name] for name in step.needs})
    facts = {n: SourceFact(version=s.version, origin=s.origin, sha256=s.sha256) for n, s in found.items()}
    return results, facts

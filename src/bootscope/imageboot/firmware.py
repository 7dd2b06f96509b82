# SPDX-License-Identifier: Apache-2.0
"""The board's own firmware for images: built once, with a boot loader that searches the card."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.boards.changed import parted
from bootscope.boards.profile import Board
from bootscope.builder.sources import Resolved, Wanted, fetch_all
from bootscope.builder.step import Runner, Step
from bootscope.builder.steps import firmware, prebuilt, uboot, unpack
from bootscope.capture.record import SourceFact
from bootscope.core.errors import UserError
from bootscope.image.code import Code
from bootscope.loaders.model import FIRMWARE
from bootscope.loaders.model import Firmware as FirmwareKind
from bootscope.system.load import LoadedSystem, load_system
from bootscope.system.model import Firmware, Prebuilt, System

_TABLE = Path(__file__).with_name("firmware.toml")
_CARD, _BELOW, _CONFIG = "card", "kernel", "config"


@dataclass(frozen=True)
class Built:
    """Firmware: `flash` is the image of the memory that the board starts from, `content` its id, `code` its
    programs by name, `kept` files by the names in capture.objects, `steps` its entries in the cache."""

    flash: Path
    content: str
    code: Mapping[str, Code]
    kept: Mapping[str, Path]
    sources: Mapping[str, SourceFact]
    steps: tuple[str, ...]


def boards() -> list[str]:
    """The boards with firmware that boots a card."""
    return list(_described(_CARD))


def _described(what: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = tomllib.loads(_TABLE.read_text())[what]
    return found


def below(board: Board, runner: Runner) -> Built | None:
    """What a board needs before a kernel that the emulator starts: OpenSBI, a BIOS; None for nothing.

    Raises ToolError when it cannot be built.
    """
    described = _described(_BELOW).get(parted(board.name)[0])
    return _alone(described, board, runner) if described else None


def _alone(described: Mapping[str, object], board: Board, runner: Runner) -> Built:
    """Firmware without a boot loader of ours."""
    loaded = load_system(str(described["system"]))
    system, source = loaded.system, FIRMWARE
    found, facts = _sources(loaded, (source,), runner)
    if isinstance(system.firmware, Firmware):
        options = msgspec.convert(described["options"], type=tuple[str, ...])
        made = msgspec.structs.replace(system.firmware, options=options)
        steps = [unpack.step(source, found[source]), firmware.step(system, made, board)]
        image = _known(board).image
    else:
        assert isinstance(system.prebuilt, Prebuilt)
        steps, image = [prebuilt.firmware_step(system.prebuilt, found[source])], prebuilt.BIOS_IMAGE
    results = _results(steps, runner)
    return _built(results, image, facts, board)


def built(board: Board, runner: Runner) -> Built:
    """The firmware of a board, built unless it is in the cache.

    Raises UserError for a board without firmware, ToolError when it cannot be built.
    """
    described = _described(_CARD).get(parted(board.name)[0])
    if described is None:
        raise UserError(
            f"the board {board.name} has no firmware for images",
            hint=f"--through kernel; boards with firmware: {', '.join(boards())}",
        )
    if _CONFIG not in described:
        return _alone(described, board, runner)
    loaded = load_system(str(described["system"]))
    system = _configured(loaded.system, described[_CONFIG])
    assert isinstance(system.firmware, Firmware)
    names = (system.uboot.source, system.firmware.source)
    found, facts = _sources(loaded, names, runner)
    steps: list[Step] = [unpack.step(name, source) for name, source in found.items()]
    steps += [uboot.step(system, board.arch, board.boot_loader)]
    steps += [firmware.step(system, system.firmware, board)]
    results = _results(steps, runner)
    return _built(results, _known(board).image, facts, board)


def _built(results: Mapping[str, Path], image: str, facts: Mapping[str, SourceFact], board: Board) -> Built:
    """The results of the steps as firmware; programs without symbols have no known code."""
    loader = board.boot_loader
    made = {p: results[loader.tree_of(p)] for p in loader.programs if loader.tree_of(p) in results}
    kept = {p.code: folder / p.code_file for p, folder in made.items()}
    kept |= {p.symbols: folder / p.symbols_file for p, folder in made.items()}
    if loader.tree in results:
        kept[loader.config] = results[loader.tree] / "config"
    kept = {name: path for name, path in kept.items() if path.exists()}
    empty = Code.empty(board.arch)
    return Built(
        flash=results[FIRMWARE] / image,
        content=results[FIRMWARE].name,
        code={p.name: Code(kept[p.code].read_bytes()) if p.code in kept else empty for p in loader.programs},
        kept=kept,
        sources=facts,
        steps=tuple(path.name for path in results.values()),
    )


def _known(board: Board) -> FirmwareKind:
    """The facts about the program below its boot loader."""
    known = board.boot_loader.firmware
    assert known
    return known


def _configured(system: System, config: object) -> System:
    symbols = msgspec.convert(config, type=dict[str, str | int | bool])
    boot = msgspec.structs.replace(system.uboot, config={**system.uboot.config, **symbols})
    return msgspec.structs.replace(system, uboot=boot)


def _sources(
    loaded: LoadedSystem, names: Iterable[str], runner: Runner
) -> tuple[dict[str, Resolved], dict[str, SourceFact]]:
    """Sources of a system by name, and their origins."""
    wanted = [Wanted(name, loaded.system.sources[name], loaded.path.parent) for name in names]
    found = fetch_all(wanted, runner.cache, runner.progress)
    facts = {n: SourceFact(version=s.version, origin=s.origin, sha256=s.sha256) for n, s in found.items()}
    return found, facts


def _results(steps: Iterable[Step], runner: Runner) -> dict[str, Path]:
    """The result of each step, by the step's name."""
    ids: dict[str, str] = {}
    results: dict[str, Path] = {}
    for step in steps:
        ids[step.name] = step.step_id(ids)
        results[step.name] = runner.run(step, ids[step.name], {name: results[name] for name in step.needs})
    return results

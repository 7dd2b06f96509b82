# SPDX-License-Identifier: Apache-2.0
"""The profile that a calibration makes: as a board, and as a file in the form that a user would write."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bootscope.boards.profile import Board
from bootscope.calibration import result
from bootscope.calibration.on_core import INSTRUCTION, scaled_memory, with_figures
from bootscope.calibration.result import Calibration, Figure
from bootscope.core.settings import Sourced, as_toml
from bootscope.cores.profile import Core
from bootscope.devices.model import CardClass, Console

CARD = "calibrated"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ADDRESSES = re.compile(
    r"addresses\..*|devices\.[^.]+\.(base|size)|qemu\.(user_code|loader_code)|qemu\.(idle|calls)\.(mask|value)"
)
_FOLD = textwrap.TextWrapper(100, break_long_words=False, break_on_hyphens=False)


def calibrated_board(found: Calibration, name: str) -> Board:
    """The profile with the fitted figures, under another name. Figures that the boots did not determine
    stay."""
    board = found.board
    line = found.figure(result.LINE_RATE)
    devices = dict(board.devices)
    port = devices[board.console]
    if isinstance(port, Console) and line.how != result.KEPT and line.value != line.before:
        devices[board.console] = port.with_rates(lambda number: _scaled(number, line, found))
    classes, card = dict(board.card_classes), board.card_class
    bandwidth, latency = found.figure(result.BANDWIDTH), found.figure(result.LATENCY)
    if result.KEPT not in (bandwidth.how, latency.how) or bandwidth.how != latency.how:
        card = CARD
        classes[card] = CardClass(
            title=_once(board.card.title, "fitted to boots of the board"),
            bandwidth_bytes_per_s=_sourced(bandwidth, board.card.bandwidth_bytes_per_s, found),
            command_latency_ns=_sourced(latency, board.card.command_latency_ns, found),
        )
    return msgspec.structs.replace(
        board,
        name=name,
        title=_once(board.title, "calibrated"),
        power_on_ns=_sourced(found.figure(result.POWER_ON), board.power_on_ns, found),
        cpu_scale_ppm=board.cpu_scale_ppm
        if found.core
        else _sourced(found.figure(result.CPU_SCALE), board.cpu_scale_ppm, found),
        card_class=card,
        card_classes=classes,
        devices=devices,
    )


def _once(title: str, words: str) -> str:
    """A title with words at its end, not repeated when a profile is calibrated again."""
    return title if title.endswith(words) else f"{title}, {words}"


def _scaled(number: Sourced, line: Figure, found: Calibration) -> Sourced:
    """A number that, with the rate that programs set in the port, gives the rate of the real line."""
    value = max(1, round(number.value * line.value / line.before))
    return Sourced(value=value, source=_source(line, found))


def _sourced(figure: Figure, before: Sourced, found: Calibration) -> Sourced:
    """A fitted figure with its source; a kept one unchanged."""
    return before if figure.how == result.KEPT else Sourced(value=figure.value, source=_source(figure, found))


def _source(figure: Figure, found: Calibration) -> str:
    count = len(found.boots)
    boots = f"{count} {'boot' if count == 1 else 'boots'} of {found.boots[0].rpartition('/')[0]}"
    how = figure.why if figure.how == result.TOLD else "fitted"
    return f"bootscope calibrate: {how}; {boots}"


def interval(figure: Figure) -> str:
    """The interval of a figure in its own unit, in words."""
    if figure.high is None:
        return f"at least {figure.low:_}"
    return f"{figure.low:_} to {figure.high:_}"


def text(found: Calibration, board: Board) -> str:
    """`board`, which is the :func:`calibrated_board` of `found`, as TOML."""
    card, console = f"card_classes.{board.card_class}", f"devices.{board.console}"
    line = found.figure(result.LINE_RATE)
    notes = {
        "power_on_ns": _note(found.figure(result.POWER_ON)),
        **({} if found.core else {"cpu_scale_ppm": _note(found.figure(result.CPU_SCALE))}),
        f"{card}.bandwidth_bytes_per_s": _note(found.figure(result.BANDWIDTH)),
        f"{card}.command_latency_ns": _note(found.figure(result.LATENCY)),
        f"{console}.{board.console_called(board.console).rate_key}": f"line rate in baud: {_note(line)}",
    }
    head = [
        f"# {found.board.name} as it is: fitted by bootscope calibrate to boots of the real board.",
        f"# Boots: {', '.join(found.boots[:10])}{' ...' if len(found.boots) > 10 else ''}",
        f"# Emulated boot of the same system: {found.like}",
        "# Comments give each former figure and its 95 % interval.",
        "",
    ]
    table: dict[str, Any] = msgspec.to_builtins(board)
    return "\n".join([*head, *_table("", table, notes)]) + "\n"


def calibrated_core(found: Calibration, core: Core, name: str) -> Core:
    """The core with the fitted figures, under another name: memory's costs in the same proportions."""
    instruction, latency = found.figure(result.INSTRUCTION), found.figure(result.MEMORY_LATENCY)
    made = core
    if instruction.how != result.KEPT:
        made = with_figures(made, {INSTRUCTION: instruction.value}, _source(instruction, found))
    if latency.how != result.KEPT:
        memory = scaled_memory(core.costs, latency.value)
        made = with_figures(made, memory, _source(latency, found))
    return msgspec.structs.replace(made, name=name, title=_once(core.title, "calibrated"))


def core_text(found: Calibration, core: Core) -> str:
    """`core`, which is the :func:`calibrated_core` of `found`, as TOML."""
    figures = {f"costs.{name}": found.figure(name) for name in (result.INSTRUCTION, result.MEMORY_LATENCY)}
    head = [
        "# A core as it is: two figures fitted by bootscope calibrate to boots of the real board.",
        f"# Boots: {', '.join(found.boots[:10])}{' ...' if len(found.boots) > 10 else ''}",
        f"# Emulated boot of the same system: {found.like}",
        "# Comments give each former figure and its 95 % interval; memory's other costs are in proportion.",
        "",
    ]
    table: dict[str, Any] = msgspec.to_builtins(core)
    notes = {name: _note(figure) for name, figure in figures.items()}
    return "\n".join([*head, *_table("", table, notes)]) + "\n"


def _note(figure: Figure) -> str:
    if figure.how == result.KEPT:
        return f"as before: {figure.why}"
    return f"before {figure.before:_}; 95 %: {interval(figure)}"


def _table(path: str, table: Mapping[str, Any], notes: Mapping[str, str]) -> Iterator[str]:
    """The lines of a table: its values, then its subtables. A number with its source is one line."""
    inner = {key: value for key, value in table.items() if isinstance(value, dict) and "source" not in value}
    for key, value in table.items():
        if key not in inner:
            here = f"{path}.{key}" if path else key
            if here in notes:
                yield from (f"# {line}" for line in _FOLD.wrap(notes[here]))
            yield f"{_key(key)} = {_value(here, value)}"
    for key, value in inner.items():
        here = f"{path}.{key}" if path else key
        if any(not isinstance(v, dict) or "source" in v for v in value.values()):
            yield ""
            yield f"[{'.'.join(_key(part) for part in here.split('.'))}]"
        yield from _table(here, value, notes)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else as_toml(key)


def _value(path: str, value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(f'{path}.{k}', v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(path, item) for item in value) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:#x}" if _ADDRESSES.fullmatch(path) else f"{value:_}"
    return as_toml(value)

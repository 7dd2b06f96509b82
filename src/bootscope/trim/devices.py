# SPDX-License-Identifier: Apache-2.0
"""Which drivers a system needs: those of the devices that it boots from and shows its output on, and of
everything that these need according to the device tree (clocks, pins, supplies, interrupts)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.readers.fdt import Node, parse

_CELLS = (
    (re.compile(r"^(assigned-)?clocks$"), "#clock-cells"),
    (re.compile(r"^resets$"), "#reset-cells"),
    (re.compile(r"^(.*-)?gpios?$"), "#gpio-cells"),
    (re.compile(r"^power-domains$"), "#power-domain-cells"),
    (re.compile(r"^dmas$"), "#dma-cells"),
    (re.compile(r"^phys$"), "#phy-cells"),
    (re.compile(r"^interrupts-extended$"), "#interrupt-cells"),
    (re.compile(r"^(.*-supply|pinctrl-\d+|interrupt-parent|mmc-pwrseq)$"), ""),
)
"""Properties that refer to other nodes by phandle, and that node's property for the number of cells after
each."""
_FRAMEBUFFER = b"simple-framebuffer"


@dataclass(frozen=True)
class _Place:
    node: Node
    parents: tuple[Node, ...]


def devices(blob: bytes, addresses: Collection[int]) -> dict[str, str]:
    """`compatible` texts -> their node, for the devices at these addresses, an enabled simple frame buffer,
    and everything that they need. Raises readers.fdt.BadTree."""
    places = list(_places(parse(blob), ()))
    by_handle = {p.node.number("phandle"): p for p in places if "phandle" in p.node.properties}
    queue = [p for p in places if _address(p) in addresses or _is_framebuffer(p.node)]
    seen: dict[int, _Place] = {}
    while queue:
        place = queue.pop()
        if id(place.node) in seen:
            continue
        seen[id(place.node)] = place
        queue += [by_handle[h] for h in _handles(place, by_handle) if h in by_handle]
        queue += [_Place(node, place.parents[:depth]) for depth, node in enumerate(place.parents)]
    found: dict[str, str] = {}
    for place in seen.values():
        for text in place.node.properties.get("compatible", b"").split(b"\0"):
            if text and place.parents:
                found.setdefault(text.decode("ascii", "replace"), place.node.name)
    return found


def _places(node: Node, parents: tuple[Node, ...]) -> Iterator[_Place]:
    yield _Place(node, parents)
    for child in node.children:
        yield from _places(child, (*parents, node))


def _address(place: _Place) -> int | None:
    raw = place.node.properties.get("reg", b"")
    cells = (place.parents[-1].number("#address-cells") if place.parents else None) or 1
    return int.from_bytes(raw[: 4 * cells], "big") if len(raw) >= 4 * cells else None


def _is_framebuffer(node: Node) -> bool:
    there = _FRAMEBUFFER in node.properties.get("compatible", b"").split(b"\0")
    return there and node.text("status") in (None, "okay")


def _handles(place: _Place, by_handle: Mapping[int | None, _Place]) -> Iterator[int]:
    """The phandles in a node; its interrupt controller may be given in a parent."""
    for name, raw in place.node.properties.items():
        cells = next((cells for pattern, cells in _CELLS if pattern.match(name)), None)
        if cells is not None:
            yield from _listed(raw, cells, by_handle)
    if "interrupts" in place.node.properties:
        for node in reversed((*place.parents, place.node)):
            parent = node.number("interrupt-parent")
            if parent is not None:
                yield parent
                return


def _listed(raw: bytes, cells: str, by_handle: Mapping[int | None, _Place]) -> Iterator[int]:
    words = [int.from_bytes(raw[at : at + 4], "big") for at in range(0, len(raw) - 3, 4)]
    at = 0
    while at < len(words):
        yield words[at]
        place = by_handle.get(words[at])
        # After an unknown phandle the rest cannot be decoded.
        skip = (place.node.number(cells) or 0) if cells and place else 0 if place else len(words)
        at += 1 + skip


def drivers(tree: Path, names: Iterable[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Object files whose source contains one of the `compatible` texts -> the node that has it."""
    quoted = {f'"{text}"': node for text, node in wanted.items()}
    if not quoted:
        return {}
    pattern = re.compile("|".join(re.escape(text) for text in quoted))
    found: dict[str, str] = {}
    for name in names:
        source = (tree / name).with_suffix(".c")
        if source.is_file():
            match = pattern.search(source.read_text(errors="replace"))
            if match:
                found[name] = quoted[match[0]]
    return found

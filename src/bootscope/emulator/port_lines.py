# SPDX-License-Identifier: Apache-2.0
"""Lines of the watch file about instructions that access I/O ports (native/plugin/watch_port.h)."""

from __future__ import annotations

from bootscope.arch.model import Ports


def outputs(ports: Ports) -> list[str]:
    """Lines for the plugin: the encodings of instructions that write to I/O ports."""
    lines = [f"ports {ports.mask:#x}", *(f"prefix {first:#x} {last:#x}" for first, last in ports.prefixes)]
    for out in ports.outputs:
        repeat = f" {out.repeat[0]} {out.repeat[1]:#x}" if out.repeat else ""
        narrow = f" {out.narrow[0]:#x} {out.narrow[1]}" if out.narrow else ""
        what = f"{out.opcode:#x} {out.size} {out.port or 'next'} {out.value}{repeat}{narrow}"
        lines.append(f"{'outputs' if out.repeat else 'output'} {what}")
    return lines


def inputs(ports: Ports) -> list[str]:
    """Lines for the plugin, besides those of :func:`outputs`: the encodings of instructions that read
    from I/O ports."""
    lines = []
    for i in ports.inputs:
        repeat = f" {i.repeat[0]} {i.repeat[1]:#x}" if i.repeat else ""
        lines.append(f"{'inputs' if i.repeat else 'input'} {i.opcode:#x} {i.port or 'next'}{repeat}")
    return lines

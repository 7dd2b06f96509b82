# SPDX-License-Identifier: Apache-2.0
"""All formats a trace can be written in, and which of them a file name means."""

from __future__ import annotations

from bootscope.core.errors import UserError, printable, unknown
from bootscope.export import (
    boots,
    chrome,
    collapsed,
    csv,
    grabserial,
    junit,
    markdown,
    openmetrics,
    perfetto,
    speedscope,
    svg,
)
from bootscope.export.base import Exporter

_MODULES = (
    *(perfetto, chrome, speedscope, collapsed, svg),
    *(boots, csv, grabserial, markdown, openmetrics, junit),
)
EXPORTERS: tuple[Exporter, ...] = tuple(module.EXPORTER for module in _MODULES)


def named(name: str) -> Exporter:
    """The format of that name. Raises UserError when there is none, naming those there are."""
    for exporter in EXPORTERS:
        if exporter.name == name:
            return exporter
    raise unknown("format", name, [exporter.name for exporter in EXPORTERS])


def for_file(file_name: str) -> Exporter:
    """The format that the end of a file's name means. Raises UserError when it means none or several."""
    lower = file_name.lower()
    for exporter in EXPORTERS:
        if lower.endswith(exporter.suffixes or ("\0",)):
            return exporter
    hint = f"--format F, one of: {', '.join(exporter.name for exporter in EXPORTERS)}"
    if lower.endswith(".json"):
        hint = "--format chrome or --format speedscope: both are JSON"
    raise UserError(f"the name {printable(file_name)} does not determine the format", hint=hint)

# SPDX-License-Identifier: Apache-2.0
"""Lets drivers of a kernel defer their probe (`kernel.probe_later`).

A file of ours is built into the driver core, and asked before each probe. Words of the command line say which
drivers wait, and how long; see linux/probe_later.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from bootscope.builder.ids import file_sha256
from bootscope.builder.steps.edits import Edit, edited

SETTING = "kernel.probe_later"
SOURCE = Path(__file__).with_name("linux") / "probe_later.c"
_FOLDER = "drivers/base"
_PROBE = "static int really_probe(struct device *dev, const struct device_driver *drv)\n{\n"
_FIRST = "\tif (defer_all_probes) {\n\t\t/*\n"
_TRIGGER = "void driver_deferred_probe_trigger(void);\n"
_MAKE = "component.o core.o bus.o dd.o syscore.o \\\n"
_EDITS = (
    Edit(
        f"{_FOLDER}/dd.c", _PROBE, f"bool probe_is_put_off(const struct device_driver *driver);\n\n{_PROBE}"
    ),
    Edit(f"{_FOLDER}/dd.c", _FIRST, f"\tif (probe_is_put_off(drv))\n\t\treturn -EPROBE_DEFER;\n\n{_FIRST}"),
    # Our file calls it, so it must not be static to one file.
    Edit(f"{_FOLDER}/base.h", _TRIGGER, _TRIGGER),
    Edit(f"{_FOLDER}/Makefile", _MAKE, f"{SOURCE.stem}.o {_MAKE}"),
)


def inputs() -> dict[str, object]:
    """What the edited sources depend on."""
    return {"edits": msgspec.to_builtins(_EDITS), "source": file_sha256(SOURCE)}


def files(tree: Path, there: Mapping[str, str]) -> dict[str, str]:
    """The changed sources; see :func:`bootscope.builder.steps.edits.edited`."""
    return {**edited(tree, there, _EDITS, SETTING), f"{_FOLDER}/{SOURCE.name}": SOURCE.read_text()}

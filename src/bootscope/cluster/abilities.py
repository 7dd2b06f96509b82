# SPDX-License-Identifier: Apache-2.0
"""What a worker can do, as Dask knows it: an abstract resource for each tool in its version.

A task names the tools that go into its content id. Who lacks one, has another version, or another bootscope,
does not have the resource and gets no such task.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable, Mapping

from bootscope.builder.ids import tree_id
from bootscope.core.paths import package_dir, plugin_source_dir
from bootscope.core.tools import OPTIONAL_TOOLS, TOOLS, look_up

PREFIX = "bootscope:"
PLENTY, SOME = 1e6, 1.0
"""A resource says what there is, and limits nothing: a worker has a million of it, a task takes one."""


@functools.cache
def code_id() -> str:
    """The id of this very program: others build, record and read in their own way."""
    return (tree_id(package_dir()) + tree_id(plugin_source_dir()))[::8]


def program() -> str:
    """The resource of all who run this program on a machine like this one."""
    return f"{PREFIX}{code_id()}-{platform.machine()}"


def tool(name: str, version: str) -> str:
    """The resource of all who have a tool in that version."""
    return f"{PREFIX}{name}={version}"


def offered() -> dict[str, float]:
    """What this computer has."""
    found = {name: look_up(name) for name in (*TOOLS, *OPTIONAL_TOOLS)}
    there = (tool(name, one.version) for name, one in found.items() if one.version and one.good)
    return dict.fromkeys([program(), *there], PLENTY)


def asked(tools: Iterable[str]) -> dict[str, float]:
    """What a task needs that names these tools: in the versions of this computer, which its id is made of."""
    versions = ((name, look_up(name).version) for name in tools)
    return dict.fromkeys([program(), *(tool(n, v) for n, v in versions if v)], SOME)


def lacking(offers: Mapping[str, float], wanted: Iterable[str]) -> list[str]:
    """What a worker that offers these lacks of what is wanted, in words."""
    there = {name.partition("=")[0]: name.partition("=")[2] for name in offers if name.startswith(PREFIX)}
    if not there:
        return ["bootscope"]
    found = []
    for name in wanted:
        if name in offers:
            continue
        what, _, version = name.partition("=")
        if not version:
            found.append("this version of bootscope, or this kind of machine")
        else:
            has = f"has {there[what]}" if what in there else "has none"
            found.append(f"{what.removeprefix(PREFIX)} {version} ({has})")
    return found

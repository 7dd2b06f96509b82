# SPDX-License-Identifier: Apache-2.0
"""The abilities of a worker, in Dask's terms: an abstract resource for each tool in its version.

A task names the tools that go into its content id. A worker that lacks one, or has another version or another
build of it, another bootscope or another Dask, lacks that resource and gets no such task.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from bootscope.builder.ids import file_sha256, tree_id
from bootscope.core.paths import package_dir, plugin_source_dir
from bootscope.core.process import run, search_path
from bootscope.core.tools import OPTIONAL_TOOLS, TOOLS, look_up

PREFIX = "bootscope:"
_DASK = "distributed"
PLENTY, SOME = 1e6, 1.0
"""Resources here limit nothing: a worker has a million of each, and a task takes one."""


@functools.cache
def code_id() -> str:
    """The id of this program's code: other versions build, record and read in their own way."""
    return (tree_id(package_dir()) + tree_id(plugin_source_dir()))[::8]


def program() -> str:
    """The resource of workers that run this program on a machine like this one."""
    return f"{PREFIX}{code_id()}-{platform.machine()}"


def dask() -> str:
    """The resource of workers with this version of Dask."""
    return tool(_DASK, importlib.metadata.version(_DASK), "")


def tool(name: str, version: str, made: str) -> str:
    """The resource of workers that have a tool in that version, made of the same files: `made` is their
    hash."""
    return f"{PREFIX}{name}={version} {made}"


@functools.cache
def made(name: str) -> str:
    """The hash of the files that do a tool's work, which differ between distributions; empty where the tool
    is missing."""
    program = shutil.which(name, path=search_path())
    if not program:
        return ""
    is_compiler = name == "cc" or name.endswith("-gcc")
    paths = _of_compiler(name) if is_compiler else [Path(program).resolve()]
    return hashlib.sha256("".join(file_sha256(path) for path in paths).encode()).hexdigest()[:12]


def _of_compiler(name: str) -> list[Path]:
    """The compiler itself and the libraries that it links: the program of that name may be ccache."""
    asked = ("-print-prog-name=cc1", "-print-file-name=libc.a", "-print-file-name=libgcc.a")
    told = (Path(run([name, words], timeout_s=60).output.strip()) for words in asked)
    return [path for path in told if path.is_file()]


def _tool(name: str) -> str:
    """The resource of a tool on this computer; empty where the tool is missing or too old."""
    found = look_up(name)
    return tool(name, found.version, made(name)) if found.version and found.good else ""


def offered() -> dict[str, float]:
    """The resources that this computer has."""
    there = (_tool(name) for name in (*TOOLS, *OPTIONAL_TOOLS))
    return dict.fromkeys([program(), dask(), *filter(None, there)], PLENTY)


def asked(tools: Iterable[str]) -> dict[str, float]:
    """The resources for a task that names these tools, as they are here, since its id depends on their
    versions."""
    return dict.fromkeys([program(), dask(), *filter(None, map(_tool, tools))], SOME)


def lacking(offers: Mapping[str, float], wanted: Iterable[str]) -> list[str]:
    """The wanted resources that a worker with these lacks, in words."""
    there = {name.partition("=")[0]: name.partition("=")[2] for name in offers if name.startswith(PREFIX)}
    if not there:
        return ["bootscope"]
    return [_words(name, there) for name in wanted if name not in offers]


def _words(name: str, there: Mapping[str, str]) -> str:
    """A missing resource in words, with what the worker has instead."""
    what, equals, version = name.partition("=")
    if what.startswith((f"{PREFIX}place ", f"{PREFIX}farm")):
        return f"labgrid's {what.removeprefix(PREFIX)}"
    if not equals:
        return "this version of bootscope, or this kind of machine"
    wanted, has = version.partition(" ")[0], there.get(what, "").partition(" ")[0]
    told = "has another build of it" if has == wanted else f"has {has}" if has else "has none"
    return f"{what.removeprefix(PREFIX)} {wanted} ({told})"

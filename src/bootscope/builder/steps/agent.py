# SPDX-License-Identifier: Apache-2.0
"""The on-target collector (native/agent), compiled statically with musl for the board."""

from __future__ import annotations

from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.boards.profile import load_board
from bootscope.builder import sources
from bootscope.builder.ids import sources_id
from bootscope.builder.outlook import Outlook
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Wanted
from bootscope.builder.step import Context, Runner, Step
from bootscope.builder.steps import unpack, userland
from bootscope.core.paths import agent_source_dir
from bootscope.system.load import LoadedSystem

AGENT = "bootscope-agent"
# Only what is used, in as few pages as possible: the target reads the program from its storage.
_FLAGS = "-Os -fno-unwind-tables -fno-asynchronous-unwind-tables"
_LINK = "-Wl,-T,agent.ld -Wl,--build-id=none"


def step(arch: Architecture) -> Step:
    """The step `agent`, which needs the step `libc`. Raises ToolError when the sources are not there."""
    folder = agent_source_dir()
    gcc, ld, strip = (arch.tools.tool(name) for name in ("gcc", "ld", "strip"))

    def work(context: Context) -> None:
        before, after = userland.with_musl(context, arch)
        # The headers are for compiling; the options from -nostdlib on are for linking.
        link = before.index("-nostdlib")
        include, start = before[1:link], before[link:]
        context.run(
            [
                *("make", "-C", folder, f"OUT={context.scratch}", f"CC={gcc}"),
                f"CFLAGS={_FLAGS} -ffile-prefix-map={folder}=. {' '.join(include)}",
                f"LDFLAGS=-static -nostdlib {_LINK}",
                f"LIBS={' '.join([*start[1:], *after])}",
            ]
        )
        context.run([strip, "--strip-all", "-o", context.out / AGENT, context.scratch / AGENT])

    inputs = {"sources": sources_id(folder, "main.c", "collector")}
    return Step("agent", "building the collector", 1, work, inputs, ("libc",), (gcc, ld, strip, "make"))


def build_agent(loaded: LoadedSystem, runner: Runner, progress: Progress) -> Path:
    """The program, built with the musl that a system names among its sources.

    Raises ToolError when a source or a step fails.
    """
    name, arch = loaded.system.application.libc_source, load_board(loaded.system.board).arch
    found = sources.fetch(
        Wanted(name, loaded.system.sources[name], loaded.path.parent), runner.cache, progress
    )
    steps = [unpack.step(name, found), userland.libc_step(name, arch), step(arch)]
    return Outlook.of(steps, {name: found}, runner.cache).run(runner)["agent"] / AGENT
